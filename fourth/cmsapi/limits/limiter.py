"""The limiter: both windows, the use of the key by others, and who goes first.

The service counts all requests of a key, also those of other programs (specification 8, rule 1). Their number is what
the newest answer's ``X-RateLimit-Remaining`` leaves unexplained. Where they leave nothing, one request goes after
``X-RateLimit-Reset`` seconds, and its answer tells how things stand.

Until a first answer has told, requests go one at a time: a hundred tasks that start with a used hour cost one 429 at
most.
"""

from __future__ import annotations

import asyncio
import heapq
import math
from collections.abc import Callable
from enum import IntEnum
from types import TracebackType

from attrs import frozen

from cmsapi.config import RateLimits
from cmsapi.errors import RateLimitWaitError
from cmsapi.limits.window import Window
from cmsapi.observe.events import Event, RateLimitPaused

_SECOND = 1.0
"""Length of the burst window in seconds (specification 8)."""
_HOUR = 3600.0
"""Length of the hourly window in seconds (specification 8)."""
_ROUNDING = 1.0
"""Seconds by which ``X-RateLimit-Reset``, a whole number, may be too small."""
_RESERVE = 0.01
"""Part of the hour that polls leave to everything else, unless `RateLimits.reserve` says otherwise."""


class Priority(IntEnum):
    """Who goes first when requests wait for the limits."""

    CALL = 0
    LAUNCH = 1
    RESULT = 2
    POLL = 3


@frozen
class RateHeaders:
    """What an answer says of the hourly limit (specification 8, rule 2).

    Attributes:
        remaining: Requests left in the hour.
        reset: Seconds until the oldest request leaves the hour.
    """

    remaining: int
    reset: float


@frozen
class RateLimitStatus:
    """How the hourly limit stands.

    Attributes:
        limit: Requests in an hour.
        used: Requests of this client, and of those that share its limiter, in the last hour.
        others: Requests of other programs with the same key, as far as the newest answer tells.
        waiting: Requests that wait for the limits.
        paused: Seconds for which nothing is sent, after a 429.
    """

    limit: int
    used: int
    others: int
    waiting: int
    paused: float

    @property
    def free(self) -> int:
        """Requests that may be sent in this hour."""
        return max(0, self.limit - self.used - self.others)


class Permit:
    """Permission to send one request, as a context. `answered` must be called with what came, if anything did."""

    __slots__ = ("_left", "_limiter", "_max_wait", "_number", "_priority", "began", "waited")

    def __init__(self, limiter: Limiter, priority: Priority, max_wait: float | None) -> None:
        self._limiter = limiter
        self._priority = priority
        self._max_wait = max_wait
        self._number = 0
        self._left = True
        self.began: float | None = None
        """Loop time at which the permission came; None while the request waits."""
        self.waited = 0.0
        """Seconds for which the request waited."""

    async def __aenter__(self) -> Permit:
        limiter, loop = self._limiter, asyncio.get_running_loop()
        self.began = now = loop.time()
        if limiter.waiters or limiter.next_look(now, self._priority) > now:
            self.began = None
            self._number = await limiter.wait(self._priority, self._max_wait, now)
            self.began = loop.time()
            self.waited = self.began - now
        else:
            self._number = limiter.take()
        return self

    def answered(self, rate: RateHeaders | None, *, success: bool = True, retry_after: float | None = None) -> None:
        """Account for an answer.

        Args:
            rate: Its rate headers, if it has any.
            success: Whether the service did what was asked.
            retry_after: Seconds for which nothing may be sent, if it is a 429.
        """
        self._limiter.learn(self._number, rate, success, retry_after)

    def not_sent(self) -> None:
        """Account for a request that certainly did not leave."""
        self._left = False

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._limiter.release(self._left)


class Limiter:
    """Both limits of one key in one event loop."""

    def __init__(self, limits: RateLimits, emit: Callable[[Event], None] = lambda event: None) -> None:
        self._burst = Window(limits.per_second, _SECOND)
        self._hour = Window(limits.per_hour, _HOUR)
        self._reserve = int(limits.per_hour * _RESERVE) if limits.reserve is None else limits.reserve
        self._emit = emit
        self._told = False  # whether an answer has told how the hour stands
        self._others = 0
        self._newest = 0  # the request whose answer told
        self._ask_at = math.inf  # when one request may ask although nothing is left
        self._paused_until = -math.inf
        self._announced = -math.inf
        self._timer: asyncio.TimerHandle | None = None
        self._sent = 0
        self._arrived = 0
        self.waiters: list[tuple[Priority, int, asyncio.Future[int]]] = []

    def acquire(self, priority: Priority = Priority.CALL, max_wait: float | None = None) -> Permit:
        """Return a context that is entered when a request may be sent.

        Args:
            priority: Who goes first; among equals, who came first.
            max_wait: Seconds beyond which the wait is refused at once.

        Raises:
            RateLimitWaitError: The wait would be longer, on entering.
        """
        return Permit(self, priority, max_wait)

    def status(self) -> RateLimitStatus:
        """Return how the hourly limit stands."""
        now = asyncio.get_running_loop().time()
        used, waiting = self._hour.out(now), sum(not waiter.done() for *_, waiter in self.waiters)
        return RateLimitStatus(self._hour.limit, used, self._others, waiting, max(0.0, self._paused_until - now))

    def next_look(self, now: float, priority: Priority) -> float:
        """Return ``now`` if a request may go, else when that can change by itself; infinity if an answer decides."""
        if now < self._paused_until:
            return self._paused_until
        if self._hour.in_flight and not self._told:
            return math.inf
        if self._burst.free(now) <= 0:
            return self._burst.free_at(1, now)
        taken = self._others + (self._reserve if priority is Priority.POLL else 0)
        if self._hour.free(now) > taken:
            return now
        # Nothing is left by this count. Others' requests end unseen, so one request asks when the service says.
        may_ask = self._others and self._hour.free(now) > 0 and not self._hour.in_flight
        return max(now, min(self._hour.free_at(taken + 1, now), self._ask_at if may_ask else math.inf))

    def take(self) -> int:
        """Take both tokens for one request, and return its number."""
        self._sent += 1
        self._burst.take()
        self._hour.take()
        return self._sent

    async def wait(self, priority: Priority, max_wait: float | None, now: float) -> int:
        """Wait for both tokens, take them, and return the number of the request."""
        loop = asyncio.get_running_loop()
        if max_wait is not None and (seconds := self._estimate(now, priority) - now) > max_wait:
            raise RateLimitWaitError(
                f"the limits hold this request back for about {seconds:.0f} s, longer than max_wait={max_wait:g}; "
                "nothing was sent",
                retry_after=seconds,
            )
        self._arrived += 1
        waiter: asyncio.Future[int] = loop.create_future()
        heapq.heappush(self.waiters, (priority, self._arrived, waiter))
        self._grant()
        try:
            return await waiter
        except BaseException:
            if waiter.done() and not waiter.cancelled():  # granted and cancelled at once: the turn goes to the next one
                self.release(left=False)
            raise

    def learn(self, number: int, rate: RateHeaders | None, success: bool, retry_after: float | None) -> None:
        """Take what an answer says of the limits."""
        now = asyncio.get_running_loop().time()
        if retry_after is not None:
            self._paused_until = max(self._paused_until, now + retry_after)
            self._announce(now, self._paused_until, "the service answered 429")
        self._told = self._told or success or rate is not None
        if rate is None or number < self._newest:
            return
        self._newest = number
        # Which of the requests still in flight it counts is not known, so none but this one: others get the doubt.
        own = self._hour.out(now) - self._hour.in_flight + 1
        self._others = max(0, self._hour.limit - rate.remaining - own)
        self._ask_at = now + rate.reset + _ROUNDING

    def release(self, left: bool) -> None:
        """Account for the end of a request; ``left`` is False if it certainly did not leave."""
        now = asyncio.get_running_loop().time()
        for window in (self._burst, self._hour):
            if left:
                window.answered(now)
            else:
                window.not_sent()
        self._ask_at = max(self._ask_at, now + _ROUNDING)  # later than now even if this request was the one that asked
        if self.waiters:
            self._grant()

    def _grant(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        loop = asyncio.get_running_loop()
        now = loop.time()
        while self.waiters:
            priority, _, waiter = self.waiters[0]
            if not waiter.done():
                look = self.next_look(now, priority)
                if look > now:
                    if look < math.inf:
                        self._timer = loop.call_at(look, self._grant)
                        self._announce(now, look, "the hour is used")
                    return
                waiter.set_result(self.take())
            heapq.heappop(self.waiters)

    def _estimate(self, now: float, priority: Priority) -> float:
        before = sum(1 for first, _, waiter in self.waiters if first <= priority and not waiter.done())
        taken = self._others + (self._reserve if priority is Priority.POLL else 0) + before + 1
        hour = self._hour.free_at(taken, now)
        if hour == math.inf:
            hour = self._ask_at if self._others and self._ask_at < math.inf else now + _HOUR
        return max(hour, self._paused_until, now + before // self._burst.limit * _SECOND)

    def _announce(self, now: float, until: float, reason: str) -> None:
        # Waits for the burst window are ordinary, and each pause is announced once.
        if until > max(self._announced, now + _SECOND):
            self._announced = until
            self._emit(RateLimitPaused(until - now, reason))
