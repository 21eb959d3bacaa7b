"""One run: a service with odd books, a dozen launches of which some lose their answers, and their costs.

A launch is *paid twice untold* when its target has cost more than one credit in the end and no caller was told.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import attrs

import cmsapi
from benchmarks.virtual import in_virtual_time
from tests.support.odd_books import Habits, OddService, draw_habits

KINDS = ("keyword", "prompt", "search", "article")
TYPES = {"keyword": "analysis", "prompt": "analysis", "search": "content_idea_search", "article": "ai_writing"}
_WORDS = ("tents", "Tents", "tents for rain", "boots", "rain boots")
# Seconds after which each charge and each refund has come.
_LATEST = 1000.0


@attrs.frozen
class Report:
    """Say what one run was like.

    Args:
        seed: Its seed.
        habits: What the service was like.
        kind: What was launched.
        twice: The targets that were paid twice, and no caller was told.
        ends: How launches ended.
        charged: Launches that ended unknown and whose credit was charged.
    """

    seed: object
    habits: Habits
    kind: str
    twice: tuple[str, ...]
    ends: Counter[str]
    charged: int


def run(seed: object, habits: Habits | None = None, *, kind: str | None = None, launches: int = 12) -> Report:
    """Make one run in virtual time."""
    return in_virtual_time(_run(seed, habits, kind, launches))


async def _run(seed: object, habits: Habits | None, kind: str | None, launches: int) -> Report:
    rng = random.Random(f"{seed}:run")
    habits = habits or draw_habits(rng)
    kind = kind or rng.choice(KINDS)
    texts = [f"{rng.choice(_WORDS)}{rng.choice(('', ' '))}{number}" for number in range(launches + 3)]
    names = {f"tgt_{number}": text for number, text in enumerate(texts)}
    targets = texts if kind == "search" else [*names]
    service = OddService(habits, seed, names=names)
    # Some launches that go well, so that there is something to rely on.
    known = rng.choice((0, 1, 3))
    service.loses_from = float("inf") if known else 0.0
    outcomes: dict[str, BaseException | cmsapi.Job[Any]] = {}
    async with service.client() as client:
        client._runtime.rng.seed(f"{seed}:jitter")
        launch = launcher(client, kind)
        spending = asyncio.create_task(service.spend(TYPES[kind]))
        for target in targets[:known]:
            outcomes[target] = await launch(target)
        await asyncio.sleep(rng.choice((0.0, 20.0, 400.0)))
        service.loses_from = 0.0
        rest = targets[known : known + launches]
        if rng.random() < 0.5:
            async with client.jobs.map(launch, rest, in_flight=10, timeout=900.0) as outcomes_:
                async for each in outcomes_:
                    outcomes[each.item] = each.job if each.job is not None else _error(each)
        else:
            ended = await asyncio.gather(*(_later(rng, launch, target) for target in rest), return_exceptions=True)
            outcomes.update(zip(rest, ended, strict=True))
        spending.cancel()
    await asyncio.sleep(_LATEST)
    await service.aclose()
    cost = Counter[str]()
    for taken in service.taken:
        cost[taken.target] += taken.cost
    told = {target for target, end in outcomes.items() if isinstance(end, cmsapi.LaunchUnknownError)}
    return Report(
        seed,
        habits,
        kind,
        tuple(target for target, paid in cost.items() if paid > 1 and target not in told),
        Counter("job" if isinstance(end, cmsapi.Job) else type(end).__name__ for end in outcomes.values()),
        sum(cost[target] > 0 for target in told),
    )


def launcher(client: cmsapi.Client, kind: str) -> Callable[[str], Awaitable[Any]]:
    """Return what launches work of a kind for a target."""
    return {
        "keyword": client.keywords.analyze,
        "prompt": client.prompts.analyze,
        "search": lambda keyword: client.content_ideas.search("ws_1", keyword),
        "article": client.contents.generate,
    }[kind]


def _error(outcome: cmsapi.Outcome[str, Any]) -> BaseException:
    assert outcome.error is not None
    return outcome.error


async def _later(rng: random.Random, launch: Callable[[str], Awaitable[Any]], target: str) -> Any:
    await asyncio.sleep(rng.choice((0.0, rng.uniform(0.0, 100.0))))
    return await launch(target)
