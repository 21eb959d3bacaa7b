"""Strategies that poll a job without regard to what is left of the limits."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

from benchmarks.fanout.batch import Batch, Watched
from benchmarks.fanout.work import ONE_WAY

# The oracle polls this many seconds after the end, so that no rounding lets it poll before.
_AFTER = 0.001


class Schedule:
    """Launch everything at once, and poll after a number of seconds.

    Args:
        wait: Returns the seconds until the next poll of a job.
    """

    def __init__(self, wait: Callable[[Watched], float]) -> None:
        self._wait = wait

    async def admit(self) -> None:
        """Launch at once."""

    async def until_due(self, job: Watched) -> None:
        """Wait until a job should be polled."""
        await asyncio.sleep(self._wait(job))


def naive(batch: Batch, seed: int) -> Schedule:
    """Poll every 5 to 10 s, as the service advises (specification 8, rule 5)."""
    rng = random.Random(seed)
    return Schedule(lambda job: rng.uniform(5.0, 10.0))


def exponential(batch: Batch, seed: int) -> Schedule:
    """Poll after 1, 2, 4, 8, 16 and then every 20 s."""
    return Schedule(lambda job: min(20.0, 2.0**job.polls))


def steady(batch: Batch, seed: int) -> Schedule:
    """Poll every 30 s."""
    return Schedule(lambda job: 30.0)


class Oracle:
    """Know how long each job takes, poll it once, at its end, and launch no more than can be read.

    Args:
        batch: What runs.
        seed: Nothing is left to chance.
    """

    def __init__(self, batch: Batch, seed: int) -> None:
        self._batch = batch
        self._each = 2 + batch.service.work.results
        self._admitted = 0

    async def admit(self) -> None:
        """Wait until the hour holds a launch, a poll and a result more."""
        batch = self._batch
        while True:
            launched = len(batch.service.items) - batch.to_launch
            owed = self._each * (self._admitted - launched) + (self._each - 1) * len(batch.running) + batch.ready
            if batch.caller.remaining - owed >= self._each:
                break
            await asyncio.sleep(1.0)
        self._admitted += 1

    async def until_due(self, job: Watched) -> None:
        """Wait until a job ends."""
        loop = asyncio.get_running_loop()
        truth = next(each for each in self._batch.service.sandbox.jobs if each.target_id == job.target)
        end = 0.0
        while truth.ends_at > end:
            # It may end later than that, because the service may pause meanwhile.
            end = truth.ends_at
            await asyncio.sleep(end - ONE_WAY + _AFTER - loop.time())
