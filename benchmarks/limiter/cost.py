"""What a turn costs in time, and a limiter in memory.

Real time, on an ordinary loop, without contention: a thousand turns of a limiter that admits as many at once.
Ours starts with a full hour that is over, so that it pays for forgetting it. All take their rounds alternately, and the
best round counts.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from typing import Literal

from benchmarks.limiter.contestants import CONTESTANTS, ONE_AIOLIMITER, OURS, Acquire, Contestant
from cmsapi.ratelimit.limiter import RateLimiter
from cmsapi.ratelimit.permits import Permit, Quota
from cmsapi.ratelimit.sliding_windows import SlidingWindows

_TURNS = 1000
# One of the libraries refuses an hour that admits no more than the second.
_AN_HOUR = _TURNS + 1
_A_MINUTE_OVER_AN_HOUR = 3660.0
AGAIN = "aiolimiter, one window, again (A/A)"
WITH_HEADERS = "cmsapi, departure and headers noted"


@contextlib.contextmanager
def _aged(per_second: int, per_hour: int) -> Iterator[Acquire]:
    windows = SlidingWindows(per_second, per_hour, first_alone=False)
    then = time.monotonic() - _A_MINUTE_OVER_AN_HOUR
    for number in range(per_hour):
        permit, at = Permit(), then + number / per_second
        assert windows.take(permit, at)
        windows.answered(permit, at)
    yield RateLimiter(windows)


async def _turns(acquire: Acquire) -> float:
    if isinstance(acquire, RateLimiter):
        return await _turns_with_permits(acquire)
    begin = time.perf_counter()
    for _ in range(_TURNS):
        await acquire()
    return time.perf_counter() - begin


async def _turns_with_permits(limiter: RateLimiter) -> float:
    begin = time.perf_counter()
    for _ in range(_TURNS):
        permit = await limiter.acquire()
        limiter.end(permit, "answered")
    return time.perf_counter() - begin


async def _turns_with_headers(limiter: Acquire) -> float:
    assert isinstance(limiter, RateLimiter)
    begin = time.perf_counter()
    for number in range(_TURNS):
        permit = await limiter.acquire()
        permit.stage = "departed"
        limiter.end(permit, "answered", Quota(_AN_HOUR, _AN_HOUR - number - 1, 3600.0))
    return time.perf_counter() - begin


async def _measure(contestant: Contestant, way: Literal["plain", "headers"] = "plain") -> float:
    opened = _aged if contestant in OURS else contestant.open
    with opened(_TURNS, _AN_HOUR) as acquire:
        gc.collect()
        gc.disable()
        try:
            return await (_turns(acquire) if way == "plain" else _turns_with_headers(acquire))
        finally:
            gc.enable()


async def _rounds(rounds: int) -> dict[str, float]:
    ours = OURS[0]
    best: dict[str, float] = {}

    def note(name: str, seconds: float) -> None:
        best[name] = min(seconds, best.get(name, seconds))

    peers: Sequence[Contestant] = [each for each in CONTESTANTS if each.installed and each not in OURS]
    for _ in range(rounds):
        if ONE_AIOLIMITER.installed:
            note(ONE_AIOLIMITER.name, await _measure(ONE_AIOLIMITER))
        for peer in peers:
            note(peer.name, await _measure(peer))
        note(ours.name, await _measure(ours))
        note(WITH_HEADERS, await _measure(ours, "headers"))
        if ONE_AIOLIMITER.installed:
            note(AGAIN, await _measure(ONE_AIOLIMITER))
    return best


def microseconds(rounds: int = 50) -> dict[str, float]:
    """Return the microseconds of one turn, acknowledgement included, by name.

    Args:
        rounds: How often each is measured.
    """
    return {name: seconds / _TURNS * 1e6 for name, seconds in asyncio.run(_rounds(rounds)).items()}


async def _used_up() -> RateLimiter:
    limiter = RateLimiter(SlidingWindows(1000, 1000, first_alone=False))
    for _ in range(1000):
        permit = await limiter.acquire()
        permit.stage = "departed"
        limiter.end(permit, "answered")
    return limiter


def memory() -> int:
    """Return the bytes that our limiter holds after an hour's thousand requests."""
    asyncio.run(_used_up())

    async def measured() -> int:
        gc.collect()
        tracemalloc.start()
        try:
            before, _ = tracemalloc.get_traced_memory()
            limiter = await _used_up()
            gc.collect()
            after, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        del limiter
        return after - before

    return asyncio.run(measured())
