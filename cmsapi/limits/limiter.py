"""The limiter, which decides when each request may be sent, and in which order.

The service counts all requests with a key, including those of other programs (specification 8, rule 1). The latest
``X-RateLimit-Remaining`` shows how many requests have been used. Those beyond the limiter's own count were sent by
other programs. If nothing is left, one request is sent after ``X-RateLimit-Reset`` seconds to read the new count.

At first, requests are sent one at a time, so that a used-up hourly limit causes only one 429.
"""

from __future__ import annotations

import asyncio
import heapq
import math
from collections.abc import Callable, Mapping
from enum import IntEnum
from types import TracebackType
from typing import ClassVar

from attrs import define, frozen

from cmsapi.config import HOUR, SECOND, RateLimits
from cmsapi.errors import ClientClosedError, RateLimitWaitError
from cmsapi.limits.window import Window
from cmsapi.messages import Response
from cmsapi.observe.events import Event, RateLimitPaused

_ROUNDING = 1.0  # seconds by which ``X-RateLimit-Reset``, a whole number, may be rounded down
_RESERVE = 0.01  # part of the hourly limit that polls leave to other requests, unless `RateLimits.reserve` is set


class Priority(IntEnum):
    """Priority of a request that waits for the rate limits; the lowest number goes first."""

    CALL = 0
    LAUNCH = 1
    RESULT = 2
    POLL = 3


@frozen
class RateHeaders:
    """Rate-limit headers of a response (specification 8, rule 2).

    Attributes:
        remaining: Number of requests left in the hour.
        reset: Seconds until the oldest request no longer counts, at most an hour; 0 if the header is missing.
    """

    remaining: int
    reset: float

    @classmethod
    def of(cls, response: Response) -> RateHeaders | None:
        """Return the rate headers of ``response``; None if it has no valid ``X-RateLimit-Remaining``."""
        remaining = response.headers.get("x-ratelimit-remaining", "")
        if not remaining.isdecimal():
            return None
        reset = response.headers.get("x-ratelimit-reset", "")
        return cls(int(remaining), min(float(reset), HOUR) if reset.isdecimal() else 0.0)


@frozen
class RateLimitStatus:
    """Status of the hourly limit.

    Attributes:
        limit: Requests allowed in an hour.
        used: Requests in the last hour by this client, and by clients in its event loop that share its limits.
        others: Requests by programs that use the same key but not the same state, estimated from the latest response.
        waiting: Requests that are waiting for the limits.
        paused: Seconds until requests are sent again after a 429; 0 if there is no pause.
    """

    limit: int
    used: int
    others: int
    waiting: int
    paused: float

    @property
    def free(self) -> int:
        """Requests left in this hour. Requests by other processes that share the state are not subtracted."""
        return max(0, self.limit - self.used - self.others)


@define
class Forecast:
    """Forecast of how many requests the hourly limit allows, now and later.

    Attributes:
        limit: Requests allowed in an hour.
        free: Requests that polls may use now.
        returning: Function that takes a number of seconds, and returns how many more requests will be allowed by then.
        half_back: Function that returns the seconds until half of the used requests no longer count, at most 3,600.
        open_jobs: Number of open jobs by kind, in all processes that share the limits; None if the state is not shared.
    """

    limit: int
    free: int
    returning: Callable[[float], int]
    half_back: Callable[[], float]
    open_jobs: Mapping[str, int] | None = None


@define
class Permit:
    """Permission to send one request, as a context manager. The caller sets the outcome before the context ends.

    Attributes:
        limiter: The limiter that gives the permission.
        priority: Priority of the request.
        max_wait: Maximum seconds to wait before `RateLimitWaitError` is raised; None for no maximum.
        emit: Function that is called with a `RateLimitPaused` if requests have to pause.
        began: Loop time at which the permission was given; None while the request waits.
        waited: Seconds that the request waited.
        departed: False if the request was certainly not sent.
        rate: Rate headers of the response, if it has any.
        success: True if the response has a status below 300.
        retry_after: Seconds in the ``Retry-After`` header of a 429, during which nothing may be sent; otherwise None.
        number: Number of the request in its limiter, from 1; 0 until the permission is given.
    """

    limiter: Limiter
    priority: Priority
    max_wait: float | None
    emit: Callable[[Event], None]
    began: float | None = None
    waited: float = 0.0
    departed: bool = True
    rate: RateHeaders | None = None
    success: bool = False
    retry_after: float | None = None
    number: int = 0

    async def __aenter__(self) -> Permit:
        limiter, loop = self.limiter, asyncio.get_running_loop()
        now = loop.time()
        if limiter.shared or limiter.waiters or limiter.earliest(now, self.priority) > now:
            self.number = await limiter.wait(self, now)
            self.began = loop.time()
            self.waited = self.began - now
        else:
            self.number = limiter.take()
            self.began = now
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.limiter.release(self)


class Limiter:
    """Limiter that keeps the requests of one event loop within both limits of one API key.

    Attributes:
        limits: Both limits of the key.
        shared: True if other processes share the limits, so that the store has to permit every request.
        waiters: Waiting requests, as a heap ordered by priority and arrival.
        sent: Number of requests permitted so far.
    """

    shared: ClassVar[bool] = False

    def __init__(self, limits: RateLimits) -> None:
        self.limits: RateLimits = limits
        self._burst = Window(limits.per_second, SECOND)
        self._hour = Window(limits.per_hour, HOUR)
        self._reserve = int(limits.per_hour * _RESERVE) if limits.reserve is None else limits.reserve
        self._told = False  # whether a response has shown how much of the hour is used
        self._others = 0
        self._newest, self._sent_then, self._remaining = 0, 0, 0  # newest response: its number, sent by then, remaining
        self._ask_at = math.inf  # when one request may be sent although nothing is left
        self._paused_until = -math.inf
        self._announced = -math.inf
        self._timer: asyncio.TimerHandle | None = None
        self.sent: int = 0
        self._arrived = 0
        self.waiters: list[tuple[Priority, int, asyncio.Future[int], Permit]] = []

    def acquire(
        self,
        priority: Priority = Priority.CALL,
        max_wait: float | None = None,
        emit: Callable[[Event], None] = lambda event: None,
    ) -> Permit:
        """Return a context manager that waits, when it is entered, until a request may be sent.

        Args:
            priority: Priority of the request; among equals, the earlier request goes first.
            max_wait: Maximum seconds to wait. `RateLimitWaitError` is raised then, or at once if the wait is longer.
            emit: Function that is called with a `RateLimitPaused` if requests have to pause.
        """
        return Permit(self, priority, max_wait, emit)

    def status(self) -> RateLimitStatus:
        """Return the status of the hourly limit."""
        now = asyncio.get_running_loop().time()
        used = self._hour.limit - self._hour.free(now)
        waiting = sum(not waiter.done() for _, _, waiter, _ in self.waiters)
        return RateLimitStatus(self._hour.limit, used, self._others, waiting, max(0.0, self._paused_until - now))

    def forecast(self) -> Forecast:
        """Return a forecast of how many requests the hourly limit allows, now and later."""
        now, hour = asyncio.get_running_loop().time(), self._hour
        free = hour.free(now)

        def half_back() -> float:
            return min(hour.free_at(free + max(1, (hour.limit - free) // 2), now) - now, HOUR)

        left = max(0, free - self._others - self._reserve)
        return Forecast(hour.limit, left, lambda ahead: hour.returning(now, ahead), half_back)

    def earliest(self, now: float, priority: Priority) -> float:
        """Return when to check again: ``now`` if a request may be sent, infinity if a response has to come first."""
        if now < self._paused_until:
            return self._paused_until
        if self._hour.in_flight and not self._told:
            return math.inf
        if self._burst.free(now) <= 0:
            return self._burst.free_at(1, now)
        taken = self._others + (self._reserve if priority is Priority.POLL else 0)
        if self._hour.free(now) > taken:
            return now
        # Nothing is left by this count. Others' requests may have expired, so one request asks at the reset time.
        may_ask = self._others and self._hour.free(now) > 0 and not self._hour.in_flight
        return max(now, min(self._hour.free_at(taken + 1, now), self._ask_at if may_ask else math.inf))

    async def aclose(self) -> None:
        """Refuse the waiting requests with a `ClientClosedError`, but keep the counts."""
        self._refuse(ClientClosedError("the client was closed; nothing was sent"))

    def take(self) -> int:
        """Take a token from each window for one request, and return the request's number."""
        self.sent += 1
        self._burst.in_flight += 1
        self._hour.in_flight += 1
        return self.sent

    async def wait(self, permit: Permit, now: float) -> int:
        """Wait for a token from each window, and return the request's number, or raise `RateLimitWaitError`."""
        loop, priority, max_wait = asyncio.get_running_loop(), permit.priority, permit.max_wait
        if max_wait is not None and (seconds := self._estimate(now, priority) - now) > max_wait:
            raise RateLimitWaitError(
                f"the limits hold this request back for about {seconds:.0f} s, longer than max_wait={max_wait:g}; "
                "nothing was sent",
                retry_after=seconds,
            )
        self._arrived += 1
        waiter: asyncio.Future[int] = loop.create_future()
        heapq.heappush(self.waiters, (priority, self._arrived, waiter, permit))
        self._grant()
        try:
            async with asyncio.timeout(max_wait):
                return await waiter
        except BaseException as error:
            granted = waiter.done() and not waiter.cancelled() and not waiter.exception()
            if granted:  # and cancelled at once: the turn goes to the next request
                permit.departed, permit.number = False, waiter.result()
                self.release(permit)
            if isinstance(error, TimeoutError):
                problem = f"the limits held this request back for max_wait={max_wait:g} s; nothing was sent"
                seconds = max(0.0, self._estimate(loop.time(), priority) - loop.time())
                raise RateLimitWaitError(problem, retry_after=seconds) from None
            raise

    def release(self, permit: Permit) -> None:
        """Account for a finished request and its rate headers, and let waiting requests proceed."""
        now = asyncio.get_running_loop().time()
        if permit.retry_after is not None:
            self._paused_until = max(self._paused_until, now + permit.retry_after)
            self._announce(permit, now, self._paused_until, "the service answered 429")
        self._told = self._told or permit.success or permit.rate is not None
        self._ask_at = max(self._ask_at, now + _ROUNDING)  # also after a request that asked and got no response
        if permit.rate is not None and permit.number <= self._sent_then and permit.rate.remaining > self._remaining:
            # This request was in flight when the newest response counted it, and was taken for another program's.
            self._others = max(0, self._others - 1)
        elif permit.rate is not None:  # the service counted this request later, whatever the order of arrival
            self._newest, self._sent_then, self._remaining = permit.number, self.sent, permit.rate.remaining
            if not self.shared:
                # Which requests in flight the response counts is unknown; all but this one are taken for others'.
                self._others = max(0, self._hour.limit - permit.rate.remaining - self._hour.answered_count - 1)
            self._ask_at = now + permit.rate.reset + _ROUNDING
        for window in (self._burst, self._hour):
            if permit.departed:
                window.answered(now)
            else:
                window.in_flight -= 1
        if self.waiters:
            self._grant()

    def _grant(self, at: float = 0.0) -> None:
        # A timer may fire early by the clock's resolution, so the time for which it was set counts as reached.
        now = max(at, asyncio.get_running_loop().time())
        while self.waiters:
            priority, _, waiter, permit = self.waiters[0]
            if not waiter.done():
                look = self.earliest(now, priority)
                if look > now:
                    self._ask_again(permit, now, look)
                    return
                waiter.set_result(self.take())
            heapq.heappop(self.waiters)

    def _estimate(self, now: float, priority: Priority) -> float:
        before = sum(1 for first, _, waiter, _ in self.waiters if first <= priority and not waiter.done())
        taken = self._others + (self._reserve if priority is Priority.POLL else 0) + before + 1
        hour = self._hour.free_at(taken, now)
        if hour == math.inf:
            hour = self._ask_at if self._others and self._ask_at < math.inf else now + HOUR
        return max(hour, self._paused_until, now + before // self._burst.limit * SECOND)

    def _ask_again(self, permit: Permit, now: float, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if at < math.inf:
            self._timer = asyncio.get_running_loop().call_at(at, self._grant, at)
            self._announce(permit, now, at, "the hour is used")

    def _refuse(self, error: Exception, only: Priority | None = None) -> None:
        for priority, _, waiter, _ in self.waiters:
            if only in (None, priority) and not waiter.done():
                waiter.set_exception(error)

    def _announce(self, permit: Permit, now: float, until: float, reason: str) -> None:
        # Waits for the burst window are ordinary, and each pause is announced once.
        if until > max(self._announced, now + SECOND):
            self._announced = until
            permit.emit(RateLimitPaused(until - now, reason))
