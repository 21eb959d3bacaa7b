"""Use the windows of an account from several event loops of a process.

The windows of an account belong to the process, because the service counts the requests of a key, whichever loop makes
them: see `cmsapi.ratelimit.process`. This is how one of several loops uses them, under a lock. A request that ends in
one loop wakes the calls that wait in the others.
"""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Callable

from cmsapi.ratelimit.permits import OUT, Permit, Quota
from cmsapi.ratelimit.sliding_windows import SlidingWindows

# While other loops have requests out, a loop that waits asks this often whether one of those was closed.
_CLOSED_AFTER = 1.0


class LoopGroup:
    """Hold what the loops share that use the same windows.

    Args:
        windows: The two windows.
    """

    def __init__(self, windows: SlidingWindows) -> None:
        self.windows: SlidingWindows = windows
        self.lock: threading.Lock = threading.Lock()
        #: Until when no loop takes a permit.
        self.rests_until: float = -math.inf
        #: One for each loop.
        self.members: list[LoopWindows] = []
        #: Those in whose loops calls may wait.
        self.waiting: set[LoopWindows] = set()
        # The latest time that a loop has told: the times of two threads may come in the wrong order.
        self._latest = -math.inf

    def at(self, now: float) -> float:
        """Return a time that is not before any other that was told."""
        self._latest = max(self._latest, now)
        return self._latest

    def evict_closed(self, now: float) -> None:
        """Give up what closed loops have left without an answer; called under the lock."""
        for member in [member for member in self.members if member.loop.is_closed()]:
            member.closed = True
            self.members.remove(member)
            self.windows.abandon(member.out, self.at(now))


class LoopWindows:
    """Take the permits of one loop from windows that several loops share.

    To a limiter these are windows like `SlidingWindows`.

    Args:
        group: What the loops share.
        loop: The loop.
        serve: Serves the calls that wait in the loop.
        out: Requests of this loop that have a permit and have not ended.
    """

    def __init__(
        self, group: LoopGroup, loop: asyncio.AbstractEventLoop, serve: Callable[[float], None], out: int = 0
    ) -> None:
        self.group: LoopGroup = group
        self.loop: asyncio.AbstractEventLoop = loop
        self._serve = serve
        self.out: int = out
        #: Whether the loop was closed, and the requests that it had out were given up.
        self.closed: bool = False

    # Taking

    def take(self, permit: Permit, now: float, *, sparing: bool = False) -> bool:
        """Take a permit, if one is free."""
        group = self.group
        with group.lock:
            if self.closed or now < group.rests_until:
                return False
            taken = group.windows.take(permit, group.at(now), sparing=sparing)
            self.out += taken
            return taken

    def next_time(self, now: float, *, sparing: bool = False) -> float:
        """Return when the next permit may be free; the limiter is called when another loop changes that."""
        group = self.group
        with group.lock:
            if self.closed:
                return math.inf
            if now < group.rests_until:
                return group.rests_until
            group.evict_closed(now)
            group.waiting.add(self)
            when = group.windows.next_time(group.at(now), sparing=sparing)
            elsewhere = any(member.out for member in group.members if member is not self)
            return min(when, now + _CLOSED_AFTER) if elsewhere else when

    # Ending

    def answered(self, permit: Permit, now: float, quota: Quota | None = None) -> None:
        """Settle: the service has seen the request. `quota` is what the answer says of the limits."""
        self._end(permit, lambda windows: windows.answered(permit, self.group.at(now), quota))

    def lost(self, permit: Permit, now: float) -> None:
        """Give the request up: no answer will come, but it may still arrive."""
        self._end(permit, lambda windows: windows.lost(permit, self.group.at(now)))

    def unsent(self, permit: Permit) -> None:
        """Give the permit back: nothing has left this machine."""
        self._end(permit, lambda windows: windows.unsent(permit))

    def _end(self, permit: Permit, end: Callable[[SlidingWindows], None]) -> None:
        group = self.group
        with group.lock:
            if self.closed or permit.stage not in OUT:
                return
            end(group.windows)
            self.out -= 1
            waiting, group.waiting = group.waiting - {self}, set()
        for member in waiting:
            member.wake()

    def wake(self) -> None:
        """Have the calls served that wait in the loop; called from any thread."""
        try:
            self.loop.call_soon_threadsafe(lambda: self._serve(self.loop.time()))
        except RuntimeError:
            # The loop is closed, so that no call waits in it.
            return

    def rest(self, seconds: float) -> None:
        """Let all loops rest, because the service said so (429)."""
        group = self.group
        with group.lock:
            group.rests_until = max(group.rests_until, self.loop.time() + seconds)

    # What is known of the limits

    @property
    def per_second(self) -> float:
        """Requests in any one second, infinity for no limit."""
        return self.group.windows.per_second

    @property
    def per_hour(self) -> float:
        """Requests in any hour in force, infinity for no limit."""
        return self.group.windows.per_hour

    @property
    def reserve(self) -> float:
        """Requests of the hour that are not taken sparingly."""
        return self.group.windows.reserve

    @property
    def remaining(self) -> float:
        """Requests that the hour still admits."""
        with self.group.lock:
            return self.group.windows.remaining

    @property
    def in_flight(self) -> int:
        """Requests of all loops that have not ended."""
        with self.group.lock:
            return self.group.windows.in_flight

    @property
    def foreign(self) -> int:
        """Requests of this hour that others made with the same key, as far as the answers tell."""
        return self.group.windows.foreign

    def free(self, now: float) -> float:
        """Return how many permits the hour has for calls that take sparingly; negative while its reserve is in use."""
        with self.group.lock:
            return self.group.windows.free(self.group.at(now))

    def returning(self, now: float, within: float) -> int:
        """Return how many permits the hour gives back within so many seconds, as far as their answers are there."""
        with self.group.lock:
            return self.group.windows.returning(self.group.at(now), within)

    def first_return(self, now: float) -> float:
        """Return seconds until the hour gives a permit back, infinity when that takes an answer first."""
        with self.group.lock:
            return self.group.windows.first_return(self.group.at(now))

    def reset_in(self, now: float) -> float:
        """Return seconds until the hour gives one of our permits back, 0 when none of them is settled."""
        with self.group.lock:
            return self.group.windows.reset_in(self.group.at(now))

    def idle(self, now: float) -> bool:
        """Tell whether nothing is out, so that forgetting these windows loses nothing."""
        with self.group.lock:
            return self.group.windows.idle(self.group.at(now))

    def expected_wait(self, ahead: int, now: float, *, sparing: bool = False) -> float:
        """Estimate in seconds when a permit is free for a call with so many others ahead."""
        group = self.group
        with group.lock:
            wait = group.windows.expected_wait(ahead, group.at(now), sparing=sparing)
            return max(wait, group.rests_until - now)

    def tighten(self, per_second: int | None, per_hour: int | None, reserve: int | None = None) -> None:
        """Obey stricter limits and a larger reserve from now on; looser ones change nothing."""
        with self.group.lock:
            self.group.windows.tighten(per_second, per_hour, reserve)

    async def aclose(self) -> None:
        """Tell others what they do not know yet: there is nothing."""
