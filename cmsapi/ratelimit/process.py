"""Share the limits of an account among the event loops of a process.

The service counts the requests of a key, whichever loop makes them. So the windows of an account belong to the process.
Each loop has a limiter with its own lanes and its own timer, because a loop may stop or close at any time. The limiters
take their permits from the same windows:

- Loops that follow each other, as with `asyncio.run` several times, use the windows one after the other. What a closed
  loop has left without an answer is given up, as if the answers were lost.
- Loops that live at the same time, in several threads, use them under a lock. A request that ends in one loop wakes
  those that wait in the others.

One loop alone needs no lock. When a second one comes, the first is switched over, and nothing is taken for a moment: an
operation of the first that has begun without the lock is over by then.

Only loops whose clocks are the clock of the process take part. A loop in virtual time is alone, because its intervals
cannot be compared with those of others.
"""

from __future__ import annotations

import asyncio
import math
import os
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import attrs

from cmsapi.ratelimit.limiter import RateLimiter
from cmsapi.ratelimit.permits import OUT, Permit, Quota
from cmsapi.ratelimit.sliding_windows import SlidingWindows

if TYPE_CHECKING:
    from cmsapi.config import RateLimits

# Seconds that the first loop has to end an operation that it began without the lock.
_SWITCH = 0.2
# While other loops have requests out, a loop that waits asks this often whether one of those was closed.
_CLOSED_AFTER = 1.0
# Seconds by which the time of a loop may lag behind the clock of the process. Some loops read the clock once in each of
# their rounds, and a round may take long.
_LAG = 10.0


class LoopWindows:
    """Take the permits of one loop from windows that several loops share.

    It looks like `SlidingWindows` to a limiter.

    Args:
        shared: What the loops share.
        limiter: The limiter of this loop.
        out: Requests of this loop that have a permit and have not ended.
    """

    def __init__(self, shared: ProcessWindows, limiter: RateLimiter, out: int = 0) -> None:
        self._shared = shared
        self._windows = shared.windows
        self._lock = shared.lock
        self.limiter: RateLimiter = limiter
        self.out: int = out
        #: Whether the loop was closed, and what it had out was given up.
        self.dead: bool = False

    # Taking

    def take(self, permit: Permit, now: float, *, sparing: bool = False) -> bool:
        """Take a permit, if one is free."""
        shared = self._shared
        with self._lock:
            if self.dead or now < shared.rests_until or not self._windows.take(permit, shared.at(now), sparing=sparing):
                return False
            self.out += 1
            return True

    def next_time(self, now: float, *, sparing: bool = False) -> float:
        """Return when the next permit may be free; the limiter is called when another loop changes that."""
        shared = self._shared
        with self._lock:
            if self.dead:
                return math.inf
            if now < shared.rests_until:
                return shared.rests_until
            shared.bury_closed(now)
            shared.waiting.add(self)
            when = self._windows.next_time(shared.at(now), sparing=sparing)
            return min(when, now + _CLOSED_AFTER) if shared.out_elsewhere(self) else when

    # Ending

    def answered(self, permit: Permit, now: float, quota: Quota | None = None) -> None:
        """Settle: the service has seen the request. `quota` is what the answer says of the limits."""
        self._end(permit, lambda: self._windows.answered(permit, self._shared.at(now), quota))

    def lost(self, permit: Permit, now: float) -> None:
        """Give the request up: no answer will come, but it may still arrive."""
        self._end(permit, lambda: self._windows.lost(permit, self._shared.at(now)))

    def unsent(self, permit: Permit) -> None:
        """Give the permit back: nothing has left this machine."""
        self._end(permit, lambda: self._windows.unsent(permit))

    def _end(self, permit: Permit, end: Callable[[], None]) -> None:
        shared = self._shared
        with self._lock:
            if self.dead or permit.stage not in OUT:
                return
            end()
            self.out -= 1
            waiting, shared.waiting = shared.waiting - {self}, set()
        for part in waiting:
            part.wake()

    def wake(self) -> None:
        """Have the limiter serve those that wait in its loop; called from any thread."""
        limiter = self.limiter
        try:
            limiter.loop.call_soon_threadsafe(lambda: limiter.serve(limiter.time()))
        except RuntimeError:
            # The loop is closed, so that no call waits in it.
            return

    def rest(self, seconds: float) -> None:
        """Let all loops rest, because the service said so (429)."""
        self._shared.rest_until(self.limiter.time() + seconds)

    # What is known of the limits

    @property
    def per_second(self) -> float:
        """Requests in any one second, infinity for no limit."""
        return self._windows.per_second

    @property
    def per_hour(self) -> float:
        """Requests in any hour in force, infinity for no limit."""
        return self._windows.per_hour

    @property
    def reserve(self) -> float:
        """Requests of the hour that are not taken sparingly."""
        return self._windows.reserve

    @property
    def remaining(self) -> float:
        """Requests that the hour still admits."""
        with self._lock:
            return self._windows.remaining

    @property
    def in_flight(self) -> int:
        """Requests of all loops that have not ended."""
        with self._lock:
            return self._windows.in_flight

    @property
    def foreign(self) -> int:
        """Requests of this hour that others made with the same key, as far as the answers tell."""
        return self._windows.foreign

    def free(self, now: float) -> float:
        """Return how many permits the hour has for who takes them sparingly; negative while its reserve is in use."""
        with self._lock:
            return self._windows.free(self._shared.at(now))

    def returning(self, now: float, within: float) -> int:
        """Return how many permits the hour gives back within so many seconds, as far as their answers are there."""
        with self._lock:
            return self._windows.returning(self._shared.at(now), within)

    def first_return(self, now: float) -> float:
        """Return seconds until the hour gives a permit back, infinity when that takes an answer first."""
        with self._lock:
            return self._windows.first_return(self._shared.at(now))

    def reset_in(self, now: float) -> float:
        """Return seconds until the hour gives one of our permits back, 0 when none of them is settled."""
        with self._lock:
            return self._windows.reset_in(self._shared.at(now))

    def expected_wait(self, ahead: int, now: float, *, sparing: bool = False) -> float:
        """Estimate in seconds when a permit is free for somebody with so many others ahead."""
        shared = self._shared
        with self._lock:
            wait = self._windows.expected_wait(ahead, shared.at(now), sparing=sparing)
            return max(wait, shared.rests_until - now)

    def idle(self, now: float) -> bool:
        """Tell whether nothing is out, so that forgetting these windows loses nothing."""
        with self._lock:
            return self._windows.idle(self._shared.at(now))

    def tighten(self, per_second: int | None, per_hour: int | None, reserve: int | None = None) -> None:
        """Obey stricter limits and a larger reserve from now on; looser ones change nothing."""
        with self._lock:
            self._windows.tighten(per_second, per_hour, reserve)

    async def aclose(self) -> None:
        """Tell others what they do not know yet: there is nothing."""


class ProcessWindows:
    """Hold the windows of an account for all loops of a process.

    Args:
        windows: The two windows.
    """

    def __init__(self, windows: SlidingWindows) -> None:
        self.windows: SlidingWindows = windows
        self.lock: threading.Lock = threading.Lock()
        #: Until when no loop takes a permit.
        self.rests_until: float = -math.inf
        #: Those in whose loops calls may wait.
        self.waiting: set[LoopWindows] = set()
        # The latest time that a loop has told: the times of two threads may come in the wrong order.
        self._latest = -math.inf
        # The limiter that uses the windows without the lock, or those that use them with it.
        self._sole: RateLimiter | None = None
        self._parts: list[LoopWindows] = []

    def at(self, now: float) -> float:
        """Return a time that is not before any other that was told."""
        self._latest = max(self._latest, now)
        return self._latest

    def join(self, limiter: RateLimiter) -> None:
        """Let a limiter, made on the running loop with these windows, take its permits from them."""
        now = limiter.time()
        with self.lock:
            self.bury_closed(now)
            if self._sole is not None:
                self._switch(self._sole)
                self.rests_until = max(self.rests_until, now + _SWITCH)
            if not self._parts:
                self._sole = limiter
                limiter.paused_until = self.rests_until
            else:
                self._parts.append(LoopWindows(self, limiter))
                limiter.windows = self._parts[-1]

    def _switch(self, sole: RateLimiter) -> None:
        """Let the limiter that was alone use the lock from now on."""
        self._sole = None
        part = LoopWindows(self, sole, self.windows.in_flight)
        sole.windows = part
        self._parts.append(part)
        self.rests_until = max(self.rests_until, sole.paused_until)

    def leave(self, limiter: RateLimiter) -> None:
        """Forget a limiter that has nothing out and is not used any more."""
        with self.lock:
            if self._sole is limiter:
                self._sole = None
            self._parts = [part for part in self._parts if part.limiter is not limiter]

    def bury_closed(self, now: float) -> None:
        """Give up what closed loops have left without an answer; called under the lock."""
        if self._sole is not None and self._sole.loop.is_closed():
            self._switch(self._sole)
        for part in [part for part in self._parts if part.limiter.loop.is_closed()]:
            part.dead = True
            self._parts.remove(part)
            self.windows.abandon(part.out, self.at(now))

    def out_elsewhere(self, part: LoopWindows) -> bool:
        """Tell whether other loops have requests out; called under the lock."""
        return any(other.out for other in self._parts if other is not part)

    def rest_until(self, when: float) -> None:
        """Let no loop take a permit before a time."""
        with self.lock:
            self.rests_until = max(self.rests_until, when)

    @property
    def closed(self) -> bool:
        """Whether only closed loops have limiters that use the windows."""
        with self.lock:
            limiters = [part.limiter for part in self._parts] + ([self._sole] if self._sole is not None else [])
        return all(limiter.loop.is_closed() for limiter in limiters)

    def unused(self, now: float) -> bool:
        """Tell whether only closed loops use the windows and nothing counts any more: forgetting them loses nothing."""
        with self.lock:
            self.bury_closed(now)
            return self._sole is None and not self._parts and now >= self.rests_until and self.windows.idle(now)


@attrs.define
class _Accounts:
    """Hold the windows of all accounts of a process, by digest."""

    lock: threading.Lock = attrs.field(factory=threading.Lock)
    windows: dict[str, ProcessWindows] = attrs.field(factory=dict)


# By process, because a fork may copy a lock that is held, and requests whose answers it does not get.
_accounts: dict[int, _Accounts] = {}


def join_process(account: str, limits: RateLimits) -> RateLimiter:
    """Make the limiter of an account on the running loop; it shares the windows of the process if the loop can.

    Args:
        account: Digest of base URL and key.
        limits: The limits to obey; where the process obeys stricter ones already, those.
    """
    if not _on_process_clock():
        return RateLimiter(SlidingWindows(limits.per_second, limits.per_hour, reserve=limits.reserve))
    accounts = _accounts.setdefault(os.getpid(), _Accounts())
    now = asyncio.get_running_loop().time()
    with accounts.lock:
        for name in [name for name, unused in accounts.windows.items() if unused.unused(now)]:
            del accounts.windows[name]
        shared = accounts.windows.get(account)
        if shared is None:
            windows = SlidingWindows(limits.per_second, limits.per_hour, reserve=limits.reserve)
            shared = accounts.windows[account] = ProcessWindows(windows)
        limiter = RateLimiter(shared.windows)
        shared.join(limiter)
    limiter.windows.tighten(limits.per_second, limits.per_hour, limits.reserve)
    return limiter


def leave_process(account: str, limiter: RateLimiter) -> None:
    """Forget a limiter that has nothing out and is not used any more."""
    accounts = _accounts.get(os.getpid())
    if accounts is not None and (shared := accounts.windows.get(account)) is not None:
        shared.leave(limiter)


def forget_closed() -> None:
    """Forget the accounts that only closed loops have used, as if the process had just begun.

    Tests want that whose loops follow each other and whose requests never reach the service.
    """
    accounts = _accounts.get(os.getpid())
    if accounts is not None:
        with accounts.lock:
            for name in [name for name, shared in accounts.windows.items() if shared.closed]:
                del accounts.windows[name]


def _on_process_clock() -> bool:
    return -1.0 < time.monotonic() - asyncio.get_running_loop().time() < _LAG
