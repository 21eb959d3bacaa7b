"""Outcomes in the order of the items: bounded behind a slow item, and none is lost where one does not come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import count

import pytest

import cmsapi
from cmsapi.jobs import Fanout
from cmsapi.sandbox import Credits, Lognormal, Sandbox
from tests.support.jobs import box, client_of

pytestmark = pytest.mark.looptime

STUCK = 1e9


async def test_outcomes_come_in_the_order_of_the_items() -> None:
    """Whichever job ends first, and also where items are equal or come from an async iterable."""
    sandbox = Sandbox(keywords=30, durations=Lognormal(60.0, 1.5))
    items = [*sandbox.keyword_ids, *sandbox.keyword_ids[:3]]

    async def source() -> AsyncIterator[str]:
        for item in items:
            yield item

    async with client_of(sandbox) as client:
        outcomes = [outcome async for outcome in client.jobs.map(client.keywords.analyze, source(), ordered=True)]
    assert [outcome.item for outcome in outcomes] == items
    assert all(outcome.ok for outcome in outcomes)


async def test_a_slow_first_item_holds_launches_back() -> None:
    """At most twice `in_flight` items are launched while the first outcome is not there."""
    sandbox = box(STUCK, keywords=40)
    first = sandbox.keyword_ids[0]

    async with client_of(sandbox) as client:

        async def launch(number: int) -> cmsapi.Job[cmsapi.Keyword]:
            job = await client.keywords.analyze(sandbox.keyword_ids[number])
            if number:
                sandbox.finish(job.target)
            return job

        async with client.jobs.map(launch, count(), in_flight=4, ordered=True) as fan_out:
            taking = asyncio.create_task(anext(fan_out))
            await asyncio.sleep(2000)
            assert not taking.done()
            assert len(sandbox.ledger.launches()) == 8
            assert (fan_out.progress.finished, fan_out.progress.running) == (7, 1)
            sandbox.finish(first)
            assert (await taking).item == 0
            assert [(await anext(fan_out)).item for _ in range(7)] == [1, 2, 3, 4, 5, 6, 7]


async def test_the_refused_item_is_the_last() -> None:
    """Where credits stop the launches, the outcomes before come first."""
    sandbox = box(60.0, credits=Credits(analysis=100))
    async with client_of(sandbox) as client:
        fan_out = client.jobs.map(client.keywords.analyze, sandbox.keyword_ids, max_credits=3, ordered=True)
        outcomes = [outcome async for outcome in fan_out]
    assert [outcome.item for outcome in outcomes] == list(sandbox.keyword_ids[:4])
    assert [outcome.ok for outcome in outcomes] == [True, True, True, False]
    assert isinstance(outcomes[-1].error, cmsapi.OutOfCreditsError)


async def test_outcomes_behind_one_that_does_not_come_are_given() -> None:
    """When the fan-out is left, what ended behind a slow item is not lost."""
    sandbox = box(STUCK)
    slow, *others = sandbox.keyword_ids[:4]
    async with client_of(sandbox) as client:
        fan_out: Fanout[str, cmsapi.Keyword] = client.jobs.map(client.keywords.analyze, [slow, *others], ordered=True)
        taking = asyncio.create_task(anext(fan_out))
        await asyncio.sleep(30)
        for item in others:
            sandbox.finish(item)
        await asyncio.sleep(60)
        await fan_out.aclose()
        assert [(await taking).item, *[outcome.item async for outcome in fan_out]] == others
        assert [job.target for job in fan_out.launched] == [slow]


async def test_an_item_out_of_time_keeps_its_place() -> None:
    """A slow item delays those behind it no longer than its `timeout`."""
    sandbox = box(STUCK)
    slow, *others = sandbox.keyword_ids[:3]
    async with client_of(sandbox) as client:

        async def launch(item: str) -> cmsapi.Job[cmsapi.Keyword]:
            job = await client.keywords.analyze(item)
            if item != slow:
                sandbox.finish(item)
            return job

        outcomes = [each async for each in client.jobs.map(launch, [slow, *others], timeout=120, ordered=True)]
        assert asyncio.get_running_loop().time() == pytest.approx(120, abs=2)
    assert [(outcome.item, outcome.ok) for outcome in outcomes] == [(slow, False), *((item, True) for item in others)]


async def test_a_batch_in_order_launches_no_further_ahead() -> None:
    """The outcomes of earlier runs stand at their places, and launches do not run ahead without bound."""
    sandbox = box(STUCK, keywords=40)
    items = sandbox.keyword_ids
    async with client_of(sandbox) as client:

        async def launch(item: str) -> cmsapi.Job[cmsapi.Keyword]:
            job = await client.keywords.analyze(item)
            if item != items[2]:
                sandbox.finish(item)
            return job

        async with client.jobs.batch("nightly") as batch:
            earlier = [items[1], items[30]]
            assert [outcome.ok async for outcome in batch.map(launch, earlier)] == [True, True]
        async with client.jobs.batch("nightly") as batch:
            outcomes = batch.map(launch, items, in_flight=3, ordered=True)
            assert [(await anext(outcomes)).item for _ in range(2)] == list(items[:2])
            taking = asyncio.create_task(anext(outcomes))
            await asyncio.sleep(300)
            # Room is given back with each outcome that is taken.
            assert len(sandbox.ledger.launches()) == 2 + 1 + 6
            sandbox.finish(items[2])
            rest = [await taking, *[outcome async for outcome in outcomes]]
    assert [outcome.item for outcome in rest] == list(items[2:])
    assert [outcome.item for outcome in rest if outcome.earlier] == [items[30]]
    assert len(sandbox.ledger.launches()) == 40
