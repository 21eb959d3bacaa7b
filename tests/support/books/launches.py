"""What the runs against both services have in common: how things are launched, and what is reported of it."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import attrs

import cmsapi

KINDS = ("keyword", "prompt", "search", "article")
#: How many are launched in a run, and how many of them at a time.
LAUNCHES, AT_ONCE = 12, 10
#: Seconds after which each charge and each refund has come.
LATEST = 1000.0

T = TypeVar("T")
End = BaseException | cmsapi.Job[Any]


@attrs.frozen
class Report:
    """Say what one run was like.

    Args:
        seed: Its seed.
        service: What the service was like.
        twice: What was paid twice, and no caller was told.
        ends: How launches ended, by kind.
        charged: Launches that ended unknown and whose credit was charged.
    """

    seed: object
    service: object
    twice: tuple[object, ...]
    ends: Counter[tuple[str, str]]
    charged: int


def report(
    seed: object, service: object, kinds: Mapping[T, str], ends: Mapping[T, End], cost: Mapping[T, int]
) -> Report:
    """Report a run.

    Args:
        seed: Its seed.
        service: What the service was like.
        kinds: The kind of each target.
        ends: How the launch of each target ended.
        cost: What each target has cost in the end.
    """
    told = {target for target, end in ends.items() if isinstance(end, cmsapi.LaunchUnknownError)}
    return Report(
        seed,
        service,
        tuple(target for target, paid in cost.items() if paid > 1 and target not in told),
        Counter(
            (kinds[target], "job" if isinstance(end, cmsapi.Job) else type(end).__name__)
            for target, end in ends.items()
        ),
        sum(cost.get(target, 0) > 0 for target in told),
    )


async def launch_all(
    rng: random.Random, client: cmsapi.Client, launch: Callable[[T], Awaitable[Any]], targets: Sequence[T]
) -> dict[T, End]:
    """Launch many, in a fan-out or by calls that go at once or one after the other; return how each one ended."""
    if rng.random() < 0.5:
        async with client.jobs.map(launch, targets, in_flight=AT_ONCE, timeout=900.0) as outcomes:
            return {each.item: _error(each) if each.job is None else each.job async for each in outcomes}
    ended = await asyncio.gather(*(_later(rng, launch, target) for target in targets), return_exceptions=True)
    return dict(zip(targets, ended, strict=True))


def launcher(client: cmsapi.Client, kind: str, workspace_id: str = "ws_1") -> Callable[[str], Awaitable[Any]]:
    """Return what launches work of a kind for a target."""
    return {
        "keyword": client.keywords.analyze,
        "prompt": client.prompts.analyze,
        "search": lambda keyword: client.content_ideas.search(workspace_id, keyword),
        "article": client.contents.generate,
    }[kind]


def _error(outcome: cmsapi.Outcome[Any, Any]) -> BaseException:
    assert outcome.error is not None
    return outcome.error


async def _later(rng: random.Random, launch: Callable[[T], Awaitable[Any]], target: T) -> Any:
    await asyncio.sleep(rng.choice((0.0, rng.uniform(0.0, 100.0))))
    return await launch(target)
