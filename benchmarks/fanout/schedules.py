"""Strategies that look at a job without regard to what is left of the limits."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

from benchmarks.fanout.batch import Batch, Watched

# The oracle looks this many seconds after the end, so that no rounding lets it look before.
_AFTER = 0.001


class Schedule:
    """Look after a number of seconds.

    Args:
        wait: Returns the seconds until the next look at a job.
    """

    def __init__(self, wait: Callable[[Watched], float]) -> None:
        self._wait = wait

    async def admit(self) -> None:
        """Launch at once."""

    async def until_look(self, job: Watched) -> None:
        """Wait until a job should be looked at."""
        await asyncio.sleep(self._wait(job))


def naive(batch: Batch, seed: int) -> Schedule:
    """Look every 5 to 10 s, as the service advises (specification 8, rule 5)."""
    rng = random.Random(seed)
    return Schedule(lambda job: rng.uniform(5.0, 10.0))


def exponential(batch: Batch, seed: int) -> Schedule:
    """Look after 1, 2, 4, 8, 16 and then every 20 s."""
    return Schedule(lambda job: min(20.0, 2.0**job.looks))


def steady(batch: Batch, seed: int) -> Schedule:
    """Look every 30 s."""
    return Schedule(lambda job: 30.0)


def oracle(batch: Batch, seed: int) -> Schedule:
    """Know how long each job takes, and look at it once, at its end."""
    loop, durations = asyncio.get_running_loop(), batch.service.durations
    return Schedule(lambda job: job.launched_at + durations[job.number] + _AFTER - loop.time())
