"""Fan-outs in worlds that do not stand still: no result comes an hour late that could have come in time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

import cmsapi
from cmsapi.message import Request
from cmsapi.sandbox import Faults, Limits, Lognormal, Sandbox
from tests.support.examples import examples

pytestmark = pytest.mark.looptime

HOUR = 3600.0
MINUTE = Lognormal(60, 0.5)
# Two requests for each of 60 analyses, and a third of the hour besides.
SMALL = Limits(per_hour=200)
REST = 2 * HOUR + 100.0
SEEDS = range(examples(1))


def sandbox(
    seed: int, *, durations: Callable[[random.Random], float] = MINUTE, limits: Limits = SMALL, keywords: int = 120
) -> Sandbox:
    """Make a service that is a twentieth of a second away."""
    return Sandbox(
        seed=seed, keywords=keywords, limits=limits, durations=durations, faults=Faults(latency=(0.05, 0.05))
    )


@asynccontextmanager
async def connected(box: Sandbox) -> AsyncIterator[cmsapi.Client]:
    """Give a client of the service that draws the same lots each time."""
    async with cmsapi.Client(box.api_key, base_url=box.base_url, transport=box.transport) as client:
        client._runtime.rng.seed(0)
        yield client


async def last_result(client: cmsapi.Client, launch: Callable[[str], Any], items: Any) -> float:
    """Do a fan-out, and return how many seconds after its begin the last result was in hand."""
    begun = asyncio.get_running_loop().time()
    async for outcome in client.jobs.map(launch, items):
        outcome.result()
    return asyncio.get_running_loop().time() - begun


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
async def test_a_service_that_pauses_for_ten_minutes(seed: int, warm: bool) -> None:
    """Polls in vain do not use up what the results need."""
    box = sandbox(seed)
    async with connected(box) as client:
        if warm:
            await last_result(client, client.keywords.analyze, box.keyword_ids[:50])
            await asyncio.sleep(REST)
        asyncio.get_running_loop().call_later(30.0, box.pause, 600.0)
        assert await last_result(client, client.keywords.analyze, box.keyword_ids[-50:]) < HOUR / 2
    assert box.statistics.rate_limited == 0


@pytest.mark.parametrize("since", [0.0, 600.0, 2400.0, 5000.0])
@pytest.mark.parametrize("seed", SEEDS)
async def test_a_stranger_uses_a_third_of_the_hour(seed: int, since: float) -> None:
    """What another client will use of the hour meanwhile is not planned with."""
    box = sandbox(seed, durations=Lognormal(200, 0.6))
    request = Request("GET", f"{box.base_url}/v1/workspaces", {"Authorization": f"Bearer {box.api_key}"}, None)

    async def call_on() -> None:
        while True:
            await asyncio.gather(box.transport.send(request), asyncio.sleep(3 * HOUR / 200))

    stranger = asyncio.create_task(call_on())
    await asyncio.sleep(since)
    async with connected(box) as client:
        assert await last_result(client, client.keywords.analyze, box.keyword_ids[:55]) < HOUR / 2
    stranger.cancel()
    await asyncio.wait([stranger])
    assert box.statistics.rate_limited == 0


@pytest.mark.parametrize("factor", [0.25, 4.0])
@pytest.mark.parametrize("seed", SEEDS)
async def test_another_hour_of_the_day(seed: int, factor: float) -> None:
    """Jobs take much shorter or longer than the client has learned."""
    now = 1.0
    box = sandbox(seed, durations=lambda rng: now * MINUTE(rng))
    async with connected(box) as client:
        await last_result(client, client.keywords.analyze, box.keyword_ids[:60])
        await asyncio.sleep(REST)
        now = factor
        assert await last_result(client, client.keywords.analyze, box.keyword_ids[-60:]) < HOUR / 2


@pytest.mark.parametrize("factor", [1 / 6, 6.0])
@pytest.mark.parametrize("seed", SEEDS)
async def test_durations_that_jump_in_the_middle(seed: int, factor: float) -> None:
    """The second half of the jobs takes much shorter or longer than the first."""
    factors: Iterator[float] = iter([1.0] * 30 + [factor] * 30)
    box = sandbox(seed, durations=lambda rng: next(factors) * MINUTE(rng))
    async with connected(box) as client:
        assert await last_result(client, client.keywords.analyze, box.keyword_ids[:60]) < HOUR / 2


@pytest.mark.parametrize("seed", SEEDS)
async def test_two_kinds_at_once(seed: int) -> None:
    """A fan-out that begins while another one runs takes what that leaves, and both end in time."""
    box = sandbox(seed)
    async with connected(box) as client:
        first = asyncio.create_task(last_result(client, client.keywords.analyze, box.keyword_ids[:40]))
        await asyncio.sleep(60.0)
        topics = [f"topic {number}" for number in range(25)]
        assert await last_result(client, lambda topic: client.content_ideas.search(box.workspace_id, topic), topics) < (
            HOUR / 2
        )
        assert await first < HOUR / 2


@pytest.mark.parametrize("seed", SEEDS)
async def test_requests_that_come_back_launch_jobs_of_another_kind(seed: int) -> None:
    """A fan-out that finds the hour spent by another kind launches as soon as its requests come back."""
    box = sandbox(seed, keywords=95)
    async with connected(box) as client:
        begun = asyncio.get_running_loop().time()
        assert await last_result(client, client.keywords.analyze, box.keyword_ids) < HOUR / 2
        topics = [f"topic {number}" for number in range(40)]
        await last_result(client, lambda topic: client.content_ideas.search(box.workspace_id, topic), topics)
    searches = [job for job in box.jobs if job.kind == "idea_search"]
    # Requests come back after 3,602 s, and no faster than they were used.
    assert searches[-1].launched_at - begun < HOUR + 11.0
    assert max(job.ends_at for job in searches) - begun < HOUR + 300.0
    assert box.statistics.rate_limited == 0
