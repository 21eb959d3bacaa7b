"""Other limiters, in the configuration that their own documentation shows, with both windows.

None of them is installed where the types are checked and the tests run, so they are imported by name. Those that chain
two limiters ask the hour first: the other way round a token of the second grows stale during the wait for the hour.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import importlib.metadata
import importlib.util
import time
from collections.abc import Awaitable, Callable, Iterator
from types import SimpleNamespace
from unittest import mock

# Longer than any run: a turn is waited for, however long that takes.
_PATIENCE = 1e6
# Seconds that a rejected caller waits at least; one that slept exactly until the reset is rejected once more.
_PAUSE = 0.001
# A moment of 2026, because wall clocks do not start at 0.
_EPOCH = 1_767_225_600.0
_CLOCKS = ("limits.aio.storage.memory", "limits.aio.strategies", "throttled.utils")


def version(package: str) -> str | None:
    """Return the version of an installed distribution, or None."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


@contextlib.contextmanager
def clocks(now: Callable[[], float]) -> Iterator[None]:
    """Let the libraries that read `time` themselves read another clock, within their own modules only.

    Args:
        now: Reads the clock, in seconds; may be called from any thread.
    """
    virtual = SimpleNamespace(
        **{**vars(time), "time": lambda: _EPOCH + now(), "monotonic": now, "monotonic_ns": lambda: round(now() * 1e9)}
    )
    with contextlib.ExitStack() as patches:
        for module in _CLOCKS:
            if importlib.util.find_spec(module.partition(".")[0]) is not None:
                patches.enter_context(mock.patch.object(importlib.import_module(module), "time", virtual))
        if importlib.util.find_spec("pyrate_limiter") is not None:
            for module, name in (("pyrate_limiter.clocks", "monotonic_ns"), ("pyrate_limiter.limiter", "monotonic")):
                patched = mock.patch.object(importlib.import_module(module), name, getattr(virtual, name))
                patches.enter_context(patched)
        yield


@contextlib.contextmanager
def aiolimiter(per_second: int, per_hour: int) -> Iterator[Callable[[], Awaitable[None]]]:
    """Chain two leaky buckets."""
    limiter = importlib.import_module("aiolimiter").AsyncLimiter
    hour, second = limiter(per_hour, 3600), limiter(per_second, 1)

    async def acquire() -> None:
        await hour.acquire()
        await second.acquire()

    yield acquire


@contextlib.contextmanager
def aiolimiter_of_one_window(per_second: int, per_hour: int) -> Iterator[Callable[[], Awaitable[None]]]:
    """Hold one leaky bucket, whose one acquire is the measure of cost."""
    yield importlib.import_module("aiolimiter").AsyncLimiter(per_second, 1).acquire


@contextlib.contextmanager
def pyrate_limiter(per_second: int, per_hour: int) -> Iterator[Callable[[], Awaitable[None]]]:
    """Hold one limiter with two rates: a log in memory, 50 ms of buffer."""
    pyrate = importlib.import_module("pyrate_limiter")
    rates = [pyrate.Rate(per_second, pyrate.Duration.SECOND), pyrate.Rate(per_hour, pyrate.Duration.HOUR)]
    with pyrate.Limiter(rates) as limiter:

        async def acquire() -> None:
            await limiter.try_acquire_async("account")

        yield acquire


@contextlib.contextmanager
def limits_moving_window(per_second: int, per_hour: int) -> Iterator[Callable[[], Awaitable[None]]]:
    """Hit two moving windows; it does not wait, so the caller sleeps until the reset that it states."""
    limits = importlib.import_module("limits")
    aio = importlib.import_module("limits.aio")
    strategies = importlib.import_module("limits.aio.strategies")
    window = aio.strategies.MovingWindowRateLimiter(aio.storage.MemoryStorage())
    items = limits.RateLimitItemPerHour(per_hour), limits.RateLimitItemPerSecond(per_second)

    async def acquire() -> None:
        for item in items:
            while not await window.hit(item, "account"):
                stats = await window.get_window_stats(item, "account")
                await asyncio.sleep(max(_PAUSE, stats.reset_time - strategies.time.time()))

    yield acquire


@contextlib.contextmanager
def throttled_gcra(per_second: int, per_hour: int) -> Iterator[Callable[[], Awaitable[None]]]:
    """Chain two GCRA limiters whose burst is the whole limit, as is the default."""
    package = importlib.import_module("throttled.asyncio")
    store = package.MemoryStore()
    hour, second = (
        package.Throttled(key=name, timeout=_PATIENCE, using="gcra", quota=quota, store=store)
        for name, quota in (("hour", package.per_hour(per_hour)), ("second", package.per_sec(per_second)))
    )

    async def acquire() -> None:
        for throttled in (hour, second):
            while (await throttled.limit()).limited:
                pass

    yield acquire
