"""What a user feels beside a fan-out: calls of his own while it runs, and many tasks that await one job."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import attrs

from benchmarks.fanout.poll_times import SHORTEST_GAP
from benchmarks.fanout.product import client_of, fan_out, rested
from benchmarks.fanout.work import ONE_WAY, Kind, Service, Work
from cmsapi import Client
from cmsapi.sandbox import Lognormal

CALLS, _WITHIN = 200, 300.0
AWAITERS = 10
# The clock of the loop moves by a nanosecond whenever it is read.
_ROUNDING = 1e-3
_MINUTE = Lognormal(60, 0.6)
_BATCH = Work(name="calls", kind=Kind.ANALYSIS, jobs=(_MINUTE,) * 300)
_JOB = Work(name="awaiters", kind=Kind.ANALYSIS, jobs=(_MINUTE,))


@attrs.frozen
class Calls:
    """Hold how calls fared during a fan-out.

    Args:
        longest_wait: Seconds that the slowest call took beyond a round trip.
        refused: Requests that were answered with 429.
    """

    longest_wait: float
    refused: int


@attrs.frozen
class Awaiters:
    """Hold how often one job was polled.

    Args:
        polls: Polls of the job that many awaited.
        polls_of_one: Polls of the same job when one task awaited it.
        hasty: Polls that came sooner after the one before than a single stream of polls may.
        refused: Requests that were answered with 429.
    """

    polls: int
    polls_of_one: int
    hasty: int
    refused: int


async def calls(seed: int, warm: bool) -> Calls:
    """Call 200 times within the five minutes in which 300 analyses run, with that many requests in reserve."""
    loop = asyncio.get_running_loop()
    service = await Service.open(_BATCH, seed, earlier=warm)
    rng = random.Random(seed)
    moments = [rng.uniform(0.0, _WITHIN) for _ in range(CALLS)]
    waits: list[float] = []

    async def call(client: Client, moment: float) -> None:
        await asyncio.sleep(moment)
        began = loop.time()
        await client.me()
        waits.append(loop.time() - began - 2 * ONE_WAY)

    async with client_of(service, reserve=CALLS) as client:
        if warm:
            await rested(client, service)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(fan_out(client, service, service.items))
            for moment in moments:
                tasks.create_task(call(client, moment))
    return Calls(max(waits), service.sandbox.ledger.count(status=429))


async def awaiters(seed: int, warm: bool) -> Awaiters:
    """Let ten tasks await one job, and one task the same job in another run."""
    many, refused = await _looks(seed, warm, AWAITERS)
    one, refused_of_one = await _looks(seed, warm, 1)
    hasty = sum(later - earlier < SHORTEST_GAP - _ROUNDING for earlier, later in itertools.pairwise(many))
    return Awaiters(len(many), len(one), hasty, refused + refused_of_one)


async def _looks(seed: int, warm: bool, count: int) -> tuple[list[float], int]:
    service = await Service.open(_JOB, seed, earlier=warm)
    ledger = service.sandbox.ledger
    async with client_of(service) as client:
        if warm:
            await rested(client, service)
        begun = len(ledger)
        job = await client.keywords.analyze(service.items[0])
        await asyncio.gather(*(job.wait() for _ in range(count)))
    return [entry.at for entry in ledger[begun:] if entry.method == "GET"], ledger.count(status=429)


@attrs.frozen
class Trial:
    """Name a trial.

    Args:
        title: As the table shows it.
        run: Makes it, with a seed, cold or warm.
    """

    title: str
    run: Callable[[int, bool], Coroutine[Any, Any, Calls | Awaiters]]


TRIALS: Mapping[str, Trial] = {
    "calls": Trial("200 calls, with a reserve for them, during 300 analyses", calls),
    "awaiters": Trial("10 awaiters of one job", awaiters),
}
