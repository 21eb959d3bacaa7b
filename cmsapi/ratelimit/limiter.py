"""Let calls wait for permits inside the limits.

`cmsapi.ratelimit.sliding_windows` says *when* a request may leave, the limiter says *which one*. Calls are served by
priority, and first come, first served within one. A cancelled call hands its permit on. One timer serves them all, and
all of them rest while the service asks for a pause.

Polls come last and take sparingly: two of the twenty requests of a second, and a reserve of the hour, are not for them.
So an interactive call finds free permits while hundreds of jobs are polled. No other lane is held back for a later one.
"""

from __future__ import annotations

import asyncio
import enum
import math
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import attrs

from cmsapi.display import markup
from cmsapi.errors import RateLimitWaitError
from cmsapi.ratelimit.permits import Permit, Quota
from cmsapi.ratelimit.sliding_windows import SlidingWindows
from cmsapi.ratelimit.timer import Timer

if TYPE_CHECKING:
    from cmsapi.ratelimit.loop_windows import LoopWindows
    from cmsapi.ratelimit.sharing.shared_windows import SharedWindows

# A wait for quota that is longer than this is announced.
LONG_WAIT = 5.0


class Priority(enum.IntEnum):
    """Order the lanes: a call that a person waits for passes one that a machine waits for."""

    INTERACTIVE = 0
    LAUNCH = 1
    RESULT = 2
    POLL = 3


# A name of its own, because finding a member of the enum costs a tenth of an acquire.
_SPARING = Priority.POLL


@attrs.frozen
class RateLimit:
    """Show how much of the limits is left, as this client knows it.

    Args:
        limit: Requests an hour in force, or None for no limit.
        remaining: Requests that the hour admits now, or None for no limit.
        reset_in: Seconds until the hour gives the next request back; 0 when none is out.
        reserve: Requests of the hour that polls leave to other calls.
        queued: Calls that wait for quota.
        waiting: The same by lane: `"interactive"`, `"launch"`, `"result"`, `"poll"`.
        in_flight: Requests that wait for their answer.
        foreign: Requests of this hour that others made with the same key, as far as the answers tell.
        paused_for: Seconds that all calls rest because of a 429.
    """

    limit: int | None
    remaining: int | None
    reset_in: float
    reserve: int
    queued: int
    waiting: Mapping[str, int] = attrs.field(hash=False)
    in_flight: int
    foreign: int
    paused_for: float

    def _repr_html_(self) -> str:
        return markup.record(self, title="Rate limit")


Lane: TypeAlias = "OrderedDict[asyncio.Future[None], Permit]"


class RateLimiter:
    """Give permits to calls, one after another.

    Args:
        windows: The two windows of the account.
    """

    def __init__(self, windows: SlidingWindows | SharedWindows) -> None:
        self.windows: SlidingWindows | SharedWindows | LoopWindows = windows
        self.loop: asyncio.AbstractEventLoop = asyncio.get_running_loop()
        self.time: Callable[[], float] = self.loop.time
        # How many calls wait in all lanes.
        self.queued: int = 0
        # Ordered dictionaries, so that a cancelled waiter leaves the middle of a lane at once.
        self._lanes: tuple[Lane, ...] = tuple(OrderedDict() for _ in Priority)
        #: Until when all calls rest because of a 429.
        self.paused_until: float = -math.inf
        self._told_until = -math.inf
        self._timer = Timer(self.loop, self.serve)

    async def acquire(
        self,
        priority: Priority = Priority.INTERACTIVE,
        *,
        max_wait: float | None = None,
        announce: Callable[[float], None] | None = None,
    ) -> Permit:
        """Wait for a permit.

        Args:
            priority: Lane to wait in.
            max_wait: Seconds to wait at the most.
            announce: Called with the expected seconds, once per shortage, when they are more than `LONG_WAIT`.

        Raises:
            RateLimitWaitError: The permit is expected later than `max_wait`, which is raised at once, or `max_wait`
                is over, because others went first or the service asked for a pause.
        """
        now, permit, sparing = self.time(), Permit(self), priority is _SPARING
        if not self.queued and now >= self.paused_until and self.windows.take(permit, now, sparing=sparing):
            return permit
        expected = self.expected_wait(priority, now)
        if max_wait is not None and expected > max_wait:
            raise _too_long(expected, max_wait)
        if expected > LONG_WAIT and announce is not None and now >= self._told_until:
            self._told_until = now + expected
            announce(expected)
        patience = asyncio.timeout(max_wait)
        try:
            async with patience:
                await self._turn(permit, priority)
        except TimeoutError:
            if max_wait is None or not patience.expired():
                raise
            raise _too_long(self.expected_wait(priority, self.time()), max_wait) from None
        return permit

    async def _turn(self, permit: Permit, priority: Priority) -> None:
        waiter: asyncio.Future[None] = self.loop.create_future()
        lane = self._lanes[priority]
        lane[waiter] = permit
        self.queued += 1
        self.serve(self.time())
        try:
            await waiter
        except asyncio.CancelledError:
            self._leave(lane, waiter)
            if not waiter.cancelled():
                permit.unsent()
            raise

    def serve(self, now: float) -> None:
        """Give permits to waiters while there are some, and wake up when the next may be free."""
        while (priority := self._front()) is not None:
            lane, sparing = self._lanes[priority], priority is _SPARING
            waiter, permit = next(iter(lane.items()))
            if now < self.paused_until or not self.windows.take(permit, now, sparing=sparing):
                self._timer.set(max(self.paused_until, self.windows.next_time(now, sparing=sparing)))
                return
            self._leave(lane, waiter)
            waiter.set_result(None)

    def answered(self, permit: Permit, quota: Quota | None) -> None:
        """Settle a permit: the service has seen its request. `quota` is what the answer says of the limits."""
        now = self.time()
        self.windows.answered(permit, now, quota)
        if self.queued:
            self.serve(now)

    def lost(self, permit: Permit) -> None:
        """Give a request up: there will be no answer, although it may still arrive."""
        now = self.time()
        self.windows.lost(permit, now)
        self.serve(now)

    def unsent(self, permit: Permit) -> None:
        """Take a permit back: nothing has left this machine."""
        self.windows.unsent(permit)
        self.serve(self.time())

    def pause(self, seconds: float) -> None:
        """Let all calls rest, because the service said so (429)."""
        self.paused_until = max(self.paused_until, self.time() + seconds)
        self.windows.rest(seconds)

    def expected_wait(self, priority: Priority, now: float) -> float:
        """Estimate in seconds how long a call that comes now would wait in its lane."""
        ahead = sum(len(lane) for lane in self._lanes[: priority + 1])
        sparing = priority is _SPARING
        return max(self.paused_until - now, self.windows.expected_wait(ahead, now, sparing=sparing))

    def waiting(self) -> list[int]:
        """Return how many calls wait in each lane."""
        return [len(lane) for lane in self._lanes]

    def queue(self, priority: Priority) -> int:
        """Return how many calls wait in a lane."""
        return len(self._lanes[priority])

    def free(self, now: float) -> float:
        """Return how many requests of the hour are free for new work.

        That is what the hour admits now, less the reserve that polls leave to other calls, less every call that waits
        already. Negative when more wait than it admits; infinity without a limit.

        Args:
            now: Time of the loop.
        """
        return self.windows.free(now) - self.queued

    def returning(self, now: float, within: float) -> int:
        """Return how many requests of the hour come back within a span.

        A request comes back an hour after its answer; those without an answer yet are left out. 0 without a limit.

        Args:
            now: Time of the loop.
            within: The span in seconds.
        """
        return self.windows.returning(now, within)

    def first_return(self, now: float) -> float:
        """Return in how many seconds the first request of the hour comes back.

        Infinity when none is out, when none that is out has been answered, and without a limit.

        Args:
            now: Time of the loop.
        """
        return self.windows.first_return(now)

    def idle(self, now: float) -> bool:
        """Tell whether no call waits and no permit is out in either window."""
        return self._front() is None and now >= self.paused_until and self.windows.idle(now)

    @property
    def remaining(self) -> int | None:
        """Requests that the hour admits, as of the last request; None for no limit."""
        windows = self.windows
        return max(0, int(windows.remaining)) if windows.per_hour != math.inf else None

    def snapshot(self) -> RateLimit:
        """Show the limits as they stand."""
        now = self.time()
        windows = self.windows
        reset_in = windows.reset_in(now)
        limited = windows.per_hour != math.inf
        return RateLimit(
            limit=int(windows.per_hour) if limited else None,
            remaining=self.remaining,
            reset_in=reset_in,
            reserve=int(windows.reserve),
            queued=self.queued,
            waiting={lane.name.lower(): len(self._lanes[lane]) for lane in Priority},
            in_flight=windows.in_flight,
            foreign=windows.foreign,
            paused_for=max(0.0, self.paused_until - now),
        )

    def _front(self) -> Priority | None:
        for priority in Priority:
            lane = self._lanes[priority]
            while lane:
                waiter = next(iter(lane))
                if not waiter.done():
                    return priority
                # Cancelled, but its task has not run yet to say so.
                self._leave(lane, waiter)
        return None

    def _leave(self, lane: Lane, waiter: asyncio.Future[None]) -> None:
        if lane.pop(waiter, None) is not None:
            self.queued -= 1


def _too_long(expected: float, max_wait: float) -> RateLimitWaitError:
    return RateLimitWaitError(
        f"The request limit admits this call in about {expected:.0f} s, and max_wait is {max_wait:g} s. "
        "Nothing was sent or charged; try again then.",
        available_in=expected,
    )
