"""What is compared: our limiter, a token bucket of twenty lines, and the libraries of `peers`."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager
from typing import TypeAlias

import attrs

from benchmarks.limiter import peers
from cmsapi.ratelimit.limiter import RateLimiter
from cmsapi.ratelimit.sliding_windows import SlidingWindows

# Ours, whose permits have to be ended; of another one, what waits for a turn.
Acquire: TypeAlias = RateLimiter | Callable[[], Awaitable[None]]
# Makes a limiter of so many requests a second and an hour, for the running loop.
Opener: TypeAlias = Callable[[int, int], AbstractContextManager[Acquire]]


@attrs.frozen
class Contestant:
    """Name a limiter and say how to make one.

    Args:
        name: As the table shows it.
        open: Makes it.
        package: Distribution that it comes from, None for what is in this repository.
    """

    name: str
    open: Opener
    package: str | None = None

    @property
    def title(self) -> str:
        """Name and version."""
        version = peers.version(self.package) if self.package else None
        return f"{self.name} {version}" if version else self.name

    @property
    def installed(self) -> bool:
        """Whether it can run here."""
        return self.package is None or peers.version(self.package) is not None


def _ours(*, first_alone: bool) -> Opener:
    @contextlib.contextmanager
    def opened(per_second: int, per_hour: int) -> Iterator[Acquire]:
        yield RateLimiter(SlidingWindows(per_second, per_hour, first_alone=first_alone))

    return opened


class TokenBucket:
    """Let `capacity` calls through at once and `rate` a second in the long run, first come, first served.

    Args:
        capacity: Tokens when full, as it is at first.
        rate: Tokens that come back in a second.
    """

    def __init__(self, capacity: float, rate: float) -> None:
        self._capacity = self._tokens = capacity
        self._rate = rate
        self._filled_at: float | None = None
        self._lock = asyncio.Lock()

    async def take(self) -> None:
        """Wait for a token and take it."""
        loop = asyncio.get_running_loop()
        async with self._lock:
            self._fill(loop.time())
            if self._tokens < 1:
                await asyncio.sleep((1 - self._tokens) / self._rate)
                self._fill(loop.time())
            self._tokens -= 1

    def _fill(self, now: float) -> None:
        if self._filled_at is not None:
            self._tokens = min(self._capacity, self._tokens + (now - self._filled_at) * self._rate)
        self._filled_at = now


@contextlib.contextmanager
def _token_bucket(per_second: int, per_hour: int) -> Iterator[Acquire]:
    hour, second = TokenBucket(per_hour, per_hour / 3600), TokenBucket(per_second, per_second)

    async def acquire() -> None:
        await hour.take()
        await second.take()

    yield acquire


REMEMBERED = Contestant("cmsapi, hour remembered", _ours(first_alone=False))
COLD = Contestant("cmsapi, first request alone", _ours(first_alone=True))
OURS = (REMEMBERED, COLD)
CONTESTANTS = (
    Contestant("aiolimiter", peers.aiolimiter, "aiolimiter"),
    Contestant("pyrate-limiter", peers.pyrate_limiter, "pyrate-limiter"),
    Contestant("limits, moving window", peers.limits_moving_window, "limits"),
    Contestant("throttled-py, GCRA", peers.throttled_gcra, "throttled-py"),
    Contestant("token bucket", _token_bucket),
    *OURS,
)
# The measure of cost: one window only, so one acquire.
ONE_AIOLIMITER = Contestant("aiolimiter, one window", peers.aiolimiter_of_one_window, "aiolimiter")
