"""One run against a service of its own with odd books: a dozen launches of which some lose their answers.

A launch is *paid twice untold* when its target has cost more than one credit in the end and no caller was told.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter

from benchmarks.virtual import in_virtual_time
from tests.support.books.launches import KINDS, LATEST, LAUNCHES, End, Report, launch_all, launcher, report
from tests.support.odd_books import OddService, draw_habits

TYPES = {"keyword": "analysis", "prompt": "analysis", "search": "content_idea_search", "article": "ai_writing"}
_WORDS = ("tents", "Tents", "tents for rain", "boots", "rain boots")


def run(seed: object) -> Report:
    """Make one run in virtual time."""
    return in_virtual_time(_run(seed))


async def _run(seed: object) -> Report:
    rng = random.Random(f"{seed}:run")
    habits = draw_habits(rng)
    kind = rng.choice(KINDS)
    texts = [f"{rng.choice(_WORDS)}{rng.choice(('', ' '))}{number}" for number in range(LAUNCHES + 3)]
    names = {f"tgt_{number}": text for number, text in enumerate(texts)}
    targets = texts if kind == "search" else [*names]
    service = OddService(habits, seed, names=names)
    # Some launches that go well, so that there is something to rely on.
    known = rng.choice((0, 1, 3))
    service.loses_from = float("inf") if known else 0.0
    ends: dict[str, End] = {}
    async with service.client() as client:
        client._runtime.rng.seed(f"{seed}:jitter")
        launch = launcher(client, kind)
        spending = asyncio.create_task(service.spend(TYPES[kind]))
        for target in targets[:known]:
            ends[target] = await launch(target)
        await asyncio.sleep(rng.choice((0.0, 20.0, 400.0)))
        service.loses_from = 0.0
        ends |= await launch_all(rng, client, launch, targets[known : known + LAUNCHES])
        spending.cancel()
    await asyncio.sleep(LATEST)
    await service.aclose()
    cost = Counter[str]()
    for taken in service.taken:
        cost[taken.target] += taken.cost
    return report(seed, habits, dict.fromkeys(targets, kind), ends, cost)
