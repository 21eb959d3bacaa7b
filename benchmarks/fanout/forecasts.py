"""Compare what the SDK says of a fan-out, before it and while it runs, with what happens."""

from __future__ import annotations

import asyncio
import contextlib
import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence

import attrs

from benchmarks.fanout.durations import Distribution, finished
from cmsapi import Forecast, Progress

#: What is compared before the fan-out.
REQUESTS, SECONDS = "requests, before", "seconds, before"
#: What is compared while it runs begins with this.
LEFT = "seconds left,"
#: A forecast is near when it deviates by no more than this share.
NEAR = 0.2
# Estimates are compared when this part of the results is in hand, and when this part of the time is over.
_PARTS = 0.25, 0.5, 0.75, 0.9
# The first estimate is read after so many seconds, and each next one when the run is longer by this factor.
_FIRST, _GROWTH = 5.0, 1.05
# Ages at which the chance that all jobs are over is computed, from the first one up.
_AGES = [1.03**step for step in range(350)]


@attrs.frozen
class Compared:
    """Compare a forecast with what happened.

    Args:
        what: What was forecast, and when.
        forecast: The forecast.
        range: The least and the most that was expected, or None if that was not told.
        actual: What happened.
        whole: What the whole fan-out took.
    """

    what: str
    forecast: float
    range: tuple[float, float] | None
    actual: float
    whole: float

    @property
    def is_near(self) -> bool:
        """Whether it deviates by no more than a fifth of what happened."""
        return abs(self.forecast - self.actual) <= NEAR * self.actual

    @property
    def is_near_by_the_whole(self) -> bool:
        """Whether it deviates by no more than a fifth of what the whole fan-out took."""
        return abs(self.forecast - self.actual) <= NEAR * self.whole

    @property
    def holds(self) -> bool:
        """Whether what happened is within the range."""
        low, high = self.range or (math.inf, math.inf)
        return low <= self.actual <= high


class Estimates:
    """Note what a fan-out says of its end while it runs; the fan-out begins now.

    Args:
        progress: Tells how far it is.
        total: How many results it will have.
    """

    def __init__(self, progress: Callable[[], Progress], total: int) -> None:
        self._progress, self._loop = progress, asyncio.get_running_loop()
        self._begun, self._in_hand = self._loop.time(), 0
        self._parts = {max(1, round(part * total)): part for part in _PARTS}
        self._by_results: list[tuple[float, float, Progress]] = []
        self._by_time: list[tuple[float, Progress]] = []

    def in_hand(self) -> None:
        """Note that a result has come."""
        self._in_hand += 1
        if (part := self._parts.get(self._in_hand)) is not None:
            self._by_results.append((part, self._loop.time() - self._begun, self._progress()))

    async def read_now_and_then(self) -> None:
        """Read the progress until the task is cancelled."""
        wait = _FIRST
        while True:
            await asyncio.sleep(wait)
            elapsed = self._loop.time() - self._begun
            self._by_time.append((elapsed, self._progress()))
            wait = elapsed * (_GROWTH - 1.0)

    def compared(self, plan: Forecast, seconds: float, requests: float) -> list[Compared]:
        """Compare the plan and the estimates with what the fan-out took."""
        compared = [
            Compared(REQUESTS, plan.requests, plan.requests_range, requests, requests),
            Compared(SECONDS, plan.seconds, plan.seconds_range, seconds, seconds),
        ]
        for part, elapsed, progress in self._by_results:
            after = f"after {part:.0%} of the results"
            compared += _left(after, elapsed, progress, seconds)
            if progress.requests_planned is not None:
                compared.append(Compared(f"requests, {after}", progress.requests_planned, None, requests, requests))
        moments = [elapsed for elapsed, _ in self._by_time]
        for part in _PARTS:
            if read := bisect_right(moments, part * seconds):
                compared += _left(f"after {part:.0%} of the time", *self._by_time[read - 1], seconds)
        return compared


def _left(after: str, elapsed: float, progress: Progress, seconds: float) -> list[Compared]:
    told, left = progress.seconds_left, seconds - elapsed
    if told is None or left <= 0.0:
        return []
    return [Compared(f"{LEFT} {after}", told, progress.seconds_left_range, left, seconds)]


#: What is compared, with the part of the results that is in hand then, where that tells how old the jobs are.
COMPARED: Mapping[str, float | None] = {
    REQUESTS: None,
    **{f"requests, after {part:.0%} of the results": None for part in _PARTS},
    SECONDS: 0.0,
    **{f"{LEFT} after {part:.0%} of the results": part for part in _PARTS},
    **{f"{LEFT} after {part:.0%} of the time": None for part in _PARTS},
}


@contextlib.asynccontextmanager
async def estimated(progress: Callable[[], Progress], total: int) -> AsyncIterator[Estimates]:
    """Note estimates while the block runs."""
    estimates = Estimates(progress, total)
    task = asyncio.create_task(estimates.read_now_and_then())
    try:
        yield estimates
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def foreseeable(jobs: Sequence[Distribution], part: float) -> float:
    """Return the chance that the best forecast of the last end is near, for who knows how long the jobs take.

    The time that is left is foretold when a part of the jobs is over. All of them are launched at once.
    """
    kinds = Counter(jobs)
    over = [{each: finished(each, age) for each in kinds} for age in _AGES]
    began = 0.0
    if part:
        shares = [sum(count * at[each] for each, count in kinds.items()) / len(jobs) for at in over]
        began = _AGES[bisect_left(shares, part)]
    chances = [math.prod(at[each] ** count for each, count in kinds.items()) for at in over]

    def chance(age: float) -> float:
        return chances[min(bisect_left(_AGES, age), len(_AGES) - 1)]

    lefts = [age - began for age in _AGES if age > began]
    return max(chance(began + left / (1.0 - NEAR)) - chance(began + left / (1.0 + NEAR)) for left in lefts)
