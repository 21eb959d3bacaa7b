"""Let calls wait for permits inside the limits.

`cmsapi.ratelimit.sliding_windows` says *when* a request may leave, the limiter says *which one*. Calls are served by
priority, and first come, first served within one. A cancelled call hands its permit on. One timer serves them all, and
all of them pause while the service asks for it, for an hour at most. A call that does not wait for as long as the
service asks is refused at once, also when it waits already.

Polls come last and in the background: two of the twenty requests of a second, and a reserve of the hour, are not for
them. So an interactive call finds free permits while hundreds of jobs are polled. No other queue is held back for a
later one.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import logging
import math
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import attrs

from cmsapi.errors import RateLimitWaitError
from cmsapi.ratelimit.clock import until
from cmsapi.ratelimit.foreign_growth import ForeignGrowth
from cmsapi.ratelimit.permits import OUT, End, Permit, Quota
from cmsapi.ratelimit.rate_limit import RateLimit
from cmsapi.ratelimit.sliding_windows import SlidingWindows
from cmsapi.ratelimit.timer import Timer

if TYPE_CHECKING:
    from cmsapi.config import RateLimits

logger: logging.Logger = logging.getLogger("cmsapi")

# A wait for quota that is longer than this is announced.
LONG_WAIT = 5.0
# While other loops have requests out, a limiter with waiting calls asks this often whether one of those was closed.
CLOSED_AFTER = 1.0


class Priority(enum.IntEnum):
    """Order the queues: a call that a person waits for passes one that a machine waits for."""

    INTERACTIVE = 0
    LAUNCH = 1
    RESULT = 2
    POLL = 3


#: The calls that wait in a queue: what each waits for, and the longest pause that it waits for.
Queue: TypeAlias = "OrderedDict[asyncio.Future[None], tuple[Permit, float]]"


@attrs.define(eq=False)
class LoopGroup:
    """Join the limiters of several loops, which share their windows."""

    windows: SlidingWindows
    #: Held while a limiter uses the windows: the loops may run in several threads.
    lock: threading.RLock = attrs.field(factory=threading.RLock)
    limiters: list[RateLimiter] = attrs.field(factory=list)

    def join(self, limiter: RateLimiter) -> None:
        """Let a limiter take permits from these windows."""
        with self.lock:
            self.evict_closed(limiter.time())
            self.limiters.append(limiter)

    def evict_closed(self, now: float) -> None:
        """Give up the requests that closed loops have left without an answer; called under the lock."""
        for limiter in [limiter for limiter in self.limiters if limiter.loop.is_closed()]:
            self.limiters.remove(limiter)
            while limiter.open:
                permit = limiter.open.pop()
                permit.stage = "lost"
                self.windows.lost(permit, now)

    def leave(self, limiter: RateLimiter) -> None:
        """Forget a limiter that has nothing out and is not used any more."""
        with self.lock:
            if limiter in self.limiters:
                self.limiters.remove(limiter)


class RateLimiter:
    """Give permits to calls, one after another; a group is of limiters that take permits from the same windows."""

    def __init__(self, windows: SlidingWindows, group: LoopGroup | None = None) -> None:
        self.windows: SlidingWindows = windows
        self.loop: asyncio.AbstractEventLoop = asyncio.get_running_loop()
        self.time: Callable[[], float] = self.loop.time
        # How many calls wait in all queues.
        self.queued: int = 0
        #: The permits of this loop that have not ended.
        self.open: set[Permit] = set()
        self.group: LoopGroup = LoopGroup(windows) if group is None else group
        self.group.join(self)
        self._limiters, self._lock = self.group.limiters, self.group.lock
        # Ordered dictionaries, so that a cancelled waiter leaves the middle of a queue at once.
        self._queues: tuple[Queue, ...] = tuple(OrderedDict() for _ in Priority)
        self._told_until = -math.inf
        self._foreign_growth = ForeignGrowth()
        self._timer = Timer(self.serve)

    async def acquire(
        self,
        priority: Priority = Priority.INTERACTIVE,
        *,
        max_wait: float | None = None,
        max_pause: float = math.inf,
        announce: Callable[[float], None] | None = None,
    ) -> Permit:
        """Wait for a permit.

        `announce` is called with the expected seconds, once per shortage, when they are more than `LONG_WAIT`.

        Raises:
            RateLimitWaitError: The permit is expected later than `max_wait`, which is raised at once, or `max_wait`
                is over, because others went first or the service asked for a pause. Or the pause of all calls lasts
                for longer than `max_pause`, which is raised at once, also when the pause begins while the call waits.
        """
        now, permit = self.time(), Permit()
        if not self.queued and self._take(permit, priority, now):
            return permit
        expected = self.expected_wait(priority, now)
        if max_wait is not None and expected > max_wait:
            raise _too_long(expected, max_wait)
        if (asked := self._asked_left(now)) > max_pause:
            raise _paused(asked, max_pause)
        if expected > LONG_WAIT and announce is not None and now >= self._told_until:
            self._told_until = now + expected
            announce(expected)
        timeout = asyncio.timeout(max_wait)
        try:
            async with timeout:
                await self._turn(permit, priority, max_pause)
        except TimeoutError:
            if max_wait is None or not timeout.expired():
                raise
            raise _too_long(self.expected_wait(priority, self.time()), max_wait) from None
        return permit

    async def _turn(self, permit: Permit, priority: Priority, max_pause: float) -> None:
        waiter: asyncio.Future[None] = self.loop.create_future()
        queue = self._queues[priority]
        queue[waiter] = permit, max_pause
        self.queued += 1
        self.serve(self.time())
        try:
            await waiter
        except asyncio.CancelledError:
            self._leave(queue, waiter)
            if not waiter.cancelled():
                self.end(permit, "unsent")
            raise

    def serve(self, now: float) -> None:
        """Give permits to waiters while there are some, and wake up when the next may be free."""
        with self._lock:
            while (priority := self._front()) is not None:
                queue = self._queues[priority]
                waiter, (permit, _) = next(iter(queue.items()))
                if not self._take(permit, priority, now):
                    self._refuse_impatient(now)
                    self._timer.set(
                        self._next_time(now, background=priority is Priority.POLL) if self.queued else math.inf
                    )
                    return
                self._leave(queue, waiter)
                waiter.set_result(None)

    def _take(self, permit: Permit, priority: Priority, now: float) -> bool:
        """Take a permit, if one is free and calls do not pause."""
        with self._lock:
            if now < self.windows.paused_until:
                return False
            taken = self.windows.take(permit, now, background=priority is Priority.POLL)
            if taken:
                self.open.add(permit)
            return taken

    def _next_time(self, now: float, *, background: bool) -> float:
        """Return when to serve the next time, unless a permit ends before."""
        others = len(self._limiters) > 1
        if others:
            self.group.evict_closed(now)
        when = max(self.windows.paused_until, self.windows.next_time(now, background=background))
        if others and any(limiter.open for limiter in self._limiters if limiter is not self):
            return min(when, now + CLOSED_AFTER)
        return when

    def _refuse_impatient(self, now: float) -> None:
        """Refuse the calls that do not wait for as long as the service asks by now."""
        asked = self._asked_left(now)
        for queue in self._queues if asked else ():
            for waiter, (_, max_pause) in tuple(queue.items()):
                if asked > max_pause and not waiter.done():
                    self._leave(queue, waiter)
                    waiter.set_exception(_paused(asked, max_pause))

    def end(self, permit: Permit, stage: End, quota: Quota | None = None) -> None:
        """End a permit, and serve the calls that wait. Ending it again changes nothing.

        `quota` is what the answer says of the limits.
        """
        try:
            self.open.remove(permit)
        except KeyError:
            # No window counts a request whose permit is of no limiter (specification 8, rule 3).
            if permit.stage in OUT:
                permit.stage = stage
            return
        permit.stage = stage
        with self._lock:
            now, windows = self.time(), self.windows
            misled = stage == "answered" and windows.accepted(permit)
            if stage in ("answered", "refused"):
                windows.answered(permit, now, quota and windows.believed(quota))
            elif stage == "lost":
                windows.lost(permit, now)
            else:
                windows.unsent(permit)
            if self.queued:
                self.serve(now)
        if misled:
            logger.warning(
                "the service goes on although its X-RateLimit-Remaining says that nothing is left of the hour: until "
                "it answers 429, only the requests that are known here are counted"
            )
        for limiter in self._limiters.copy():
            if limiter is not self:
                limiter.wake()

    def wake(self) -> None:
        """Serve the calls that wait, if any do; called from any thread."""
        if self.queued:
            # A loop that was closed raises, and no call waits in it.
            with contextlib.suppress(RuntimeError):
                self.loop.call_soon_threadsafe(lambda: self.serve(self.time()))

    def pause(self, seconds: float) -> float:
        """Pause all calls after a 429, and return for how many seconds they pause now.

        After an hour they try again, even if the service has asked for more.
        """
        with self._lock:
            now = self.time()
            self.windows.pause(now, seconds)
            if self.queued:
                self._refuse_impatient(now)
            return self.pause_left(now)

    def pause_left(self, now: float) -> float:
        """Return for how many seconds all calls of the key still pause, 0 when they do not."""
        with self._lock:
            return max(0.0, self.windows.paused_until - now)

    def _asked_left(self, now: float) -> float:
        """Return for how many seconds more the service asks for no calls, 0 when they do not pause."""
        with self._lock:
            return self.windows.asked_left(now)

    def refused(self, permit: Permit) -> int:
        """Note that a request got a 429; return how many times in a row the service refused."""
        with self._lock:
            return self.windows.refused(permit, self.time())

    def obey(self, limits: RateLimits) -> None:
        """Obey stricter limits and a larger reserve from now on; looser ones change nothing."""
        with self._lock:
            self.windows.tighten(limits.per_second, limits.per_hour, limits.reserve)

    def expected_wait(self, priority: Priority, now: float) -> float:
        """Estimate in seconds how long a call that comes now would wait in its queue."""
        ahead, windows = sum(self.waiting()[: priority + 1]), self.windows
        with self._lock:
            return max(self.pause_left(now), windows.expected_wait(ahead, now, background=priority is Priority.POLL))

    def why_wait(self, priority: Priority) -> tuple[str, str]:
        """Tell which window makes a call wait that comes now (`"second"`, `"hour"` or `"pause"`), and why in words."""
        now, background = self.time(), priority is Priority.POLL
        with self._lock:
            windows = self.windows
            if self.pause_left(now):
                return "pause", "the service or the shared limits ask for a pause"
            windows.advance(now)
            if windows.known and windows.probing(now):
                why = "the service has refused several calls" if windows.refusals else "answers have stayed away"
                return "second", f"{why}, and one request finds out whether the service answers again"
            if windows.available(background=background) > sum(self.waiting()[: priority + 1]):
                return "second", f"{self.queued} calls wait before it, and {windows.per_second:g} may leave in a second"
            others = f", {windows.foreign_usage.count} of them by others" if windows.foreign_usage.count else ""
            kept = f", and polls leave {windows.reserve:.0f} to other calls" if background else ""
            return "hour", f"{windows.used} of {windows.per_hour:.0f} requests of the hour are used{others}{kept}"

    def waiting(self) -> list[int]:
        """Return how many calls wait in each queue."""
        return [len(queue) for queue in self._queues]

    @property
    def per_second(self) -> float:
        """Requests in any one second, infinity for no limit."""
        return self.windows.per_second

    def free(self, now: float, within: float = 0.0) -> float:
        """Return how many requests of the hour neither the reserve nor waiting calls need; infinity without a limit.

        Args:
            now: The loop's time.
            within: In how many seconds they will be used. Other clients of the key are expected to go on until then,
                and to leave half of them all the same.
        """
        with self._lock:
            windows = self.windows
            windows.advance(now)
            free = windows.available(background=True) - self.queued
            grown = self._foreign_growth.expected(windows.foreign_usage, now, within, hour=windows.log.hour)
            return free - min(grown, max(0.0, free / 2.0))

    def returning(self, now: float, within: float) -> int:
        """Return how many requests of the hour come back in `within` seconds; those without an answer do not."""
        with self._lock:
            return self.windows.returning(now, within)

    def first_return(self, now: float) -> float:
        """Return in how many seconds the first request of the hour comes back; infinity when an answer must tell."""
        with self._lock:
            return self.windows.first_return(now)

    def idle(self, now: float) -> bool:
        """Check whether no call waits and no permit is out in either window."""
        with self._lock:
            return self._front() is None and now >= self.windows.paused_until and self.windows.idle(now)

    @property
    def remaining(self) -> int | None:
        """Requests that the hour admits, as of the last request; None for no limit."""
        windows = self.windows
        return max(0, int(windows.available())) if windows.per_hour != math.inf else None

    def snapshot(self) -> RateLimit:
        """Show the limits as they stand."""
        with self._lock:
            now = self.time()
            windows = self.windows
            reset_in = windows.first_return(now)
            return RateLimit(
                limit=int(windows.per_hour) if windows.per_hour != math.inf else None,
                remaining=self.remaining,
                reset_in=reset_in if reset_in != math.inf else 0.0,
                reserve=int(windows.reserve),
                queued=self.queued,
                waiting={priority.name.lower(): len(self._queues[priority]) for priority in Priority},
                in_flight=sum(len(limiter.open) for limiter in self._limiters),
                foreign=windows.foreign_usage.count,
                paused_for=self.pause_left(now),
            )

    def _front(self) -> Priority | None:
        for priority in Priority:
            queue = self._queues[priority]
            while queue:
                waiter = next(iter(queue))
                if not waiter.done():
                    return priority
                # Cancelled, but its task has not run yet to say so.
                self._leave(queue, waiter)
        return None

    def _leave(self, queue: Queue, waiter: asyncio.Future[None]) -> None:
        if queue.pop(waiter, None) is not None:
            self.queued -= 1


def _too_long(expected: float, max_wait: float) -> RateLimitWaitError:
    return RateLimitWaitError(
        f"The request limit admits this call in about {expected:.0f} s, and max_wait is {max_wait:g} s. "
        "Nothing was sent or charged; try again then.",
        available_in=expected,
    )


def _paused(pause: float, max_pause: float) -> RateLimitWaitError:
    return RateLimitWaitError(
        f"The service refuses the calls of this key and asks to wait for another {until(pause)}; this call waits for "
        f"{max_pause:,g} s at most (RetryPolicy.max_retry_after). Nothing was sent or charged; try again then.",
        available_in=pause,
    )
