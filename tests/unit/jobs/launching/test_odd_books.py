"""Services whose books are odd in ways that the specification allows: no launch is paid twice without a word."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

import cmsapi
from cmsapi.sandbox import Behaviour, Books
from tests.support.books.launches import KINDS, launcher
from tests.support.books.run import run
from tests.support.books.sandbox import Service, run_sandbox
from tests.support.odd_books import AT_THE_END, Habits, OddService

pytestmark = pytest.mark.looptime

NAMES = {f"tgt_{number}": f"word {number}" for number in range(9)}


async def paid_twice_untold(habits: Habits, kind: str, script: list[str | None], *, before: int = 1) -> list[str]:
    """Launch some, then as many at once as the script has fates; name what was paid twice and not told."""
    service = OddService(habits, names=NAMES)
    service.script = [*([None] * before), *script]
    service.loses_from = float("inf")
    targets = list(NAMES.values() if kind == "search" else NAMES)
    ends: dict[str, Any] = {}
    async with service.client() as client:
        launch = launcher(client, kind)
        for target in targets[:before]:
            await launch(target)
        await asyncio.sleep(500.0)
        chosen = targets[before : before + len(script)]
        ends = dict(zip(chosen, await asyncio.gather(*map(launch, chosen), return_exceptions=True), strict=True))
    await asyncio.sleep(1000.0)
    await service.aclose()
    cost = Counter[str]()
    for taken in service.taken:
        cost[taken.target] += taken.cost
    return [
        target
        for target, paid in cost.items()
        if paid > 1 and not isinstance(ends.get(target), cmsapi.LaunchUnknownError)
    ]


@pytest.mark.parametrize("writing", ["id", "words", "null", "same", "mixed"])
@pytest.mark.parametrize("kind", ["search", "keyword"])
async def test_usages_in_other_words(kind: str, writing: str) -> None:
    """Of two lost launches one took effect, and its usage names neither: it is not explained by the other one."""
    habits = Habits(writing=writing, shown_after=200.0)
    for script in (["after", "before"], ["before", "after"]):
        assert not await paid_twice_untold(habits, kind, [*script])


@pytest.mark.parametrize("writing", ["id", "null", "exact"])
async def test_a_launch_that_costs_nothing(writing: str) -> None:
    """A search from a cache is taken without a charge; the charge beside it is that of the lost one."""
    for seed in range(8):
        service = OddService(Habits(writing=writing, free=0.5), seed, names=NAMES)
        service.script, service.loses_from = [None, None, "after"], float("inf")
        async with service.client() as client:
            search = launcher(client, "search")
            await search("word 0")
            ended = await asyncio.gather(search("word 1"), search("word 2"), return_exceptions=True)
        lost = [taken for taken in service.taken if taken.target == "word 2"]
        await service.aclose()
        told = any(isinstance(end, cmsapi.LaunchUnknownError) for end in ended)
        assert told or sum(taken.cost for taken in lost) <= 1


@pytest.mark.parametrize("identity", ["api", "member", "null", "mixed"])
@pytest.mark.parametrize("kind", KINDS)
async def test_usages_under_another_identity(kind: str, identity: str) -> None:
    """A usage under the identity of the interface may be ours."""
    assert not await paid_twice_untold(Habits(identity=identity, shown_after=200.0), kind, ["after", None])


@pytest.mark.parametrize("after", [61.0, 70.0, 120.0, 300.0, AT_THE_END])
@pytest.mark.parametrize("kind", KINDS)
async def test_launches_that_are_billed_late(kind: str, after: float) -> None:
    """An unchanged balance proves nothing where launches are billed later than was waited for."""
    habits = Habits(billed_after=after, shown_after=200.0, seconds=(100.0, 400.0))
    assert not await paid_twice_untold(habits, kind, ["after", None])


@pytest.mark.parametrize("status", [403, 404, 500])
@pytest.mark.parametrize("shown_after", [80.0, 1e9])
async def test_usages_that_are_refused(shown_after: float, status: int) -> None:
    """Without usages, a generation that is shown late or no more is not found absent."""
    habits = Habits(refused=status, shown_after=shown_after)
    assert not await paid_twice_untold(habits, "article", ["after"])


# In 6012 a credit that came back after a repeat hid what the repeat was charged.
@pytest.mark.parametrize("seed", [6012, *(f"unit {number}" for number in range(24))])
def test_any_service(seed: object) -> None:
    """Of services with habits at random none is paid twice untold."""
    assert run(seed).twice == ()


@pytest.mark.parametrize(
    "books",
    [
        Books(booked_after=5.0),
        Books(booked_after=300.0),
        Books(booked_after="end"),
        Books(free=0.5),
        Books(refunded=0.8, refunded_after=10.0, refund="balance"),
        Books(refunded=0.8, refunded_after=10.0, refund="row"),
        Books(refunded=0.8, refunded_after=10.0, refund="deleted"),
        Books(user="api"),
        Books(user="null"),
        Books(keyword="decorated"),
        Books(keyword="upper"),
        Books(keyword="other"),
        Books(keyword="null"),
        Books(keyword="absent"),
        Books(refused=True),
        Books(page_size=3, pages=1),
        Books(page_size=1, oldest_first=True),
    ],
    ids=repr,
)
def test_each_setting_of_the_sandbox(books: Books) -> None:
    """With one odd setting after the other, no search that loses its answer is paid twice untold."""
    service = Service(books=books, lost=0.5, behaviour=Behaviour(replica_lag=80.0))
    assert run_sandbox(1, service, kind="search").twice == ()


@pytest.mark.parametrize("seed", range(10))
def test_any_sandbox(seed: int) -> None:
    """The same of sandboxes whose settings are drawn, with a colleague and other ways to lose an answer."""
    assert run_sandbox(f"unit {seed}").twice == ()
