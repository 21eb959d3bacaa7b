"""Share the limits of an account among the event loops of a process.

The windows of an account belong to the process. Each loop has a limiter with its own lanes and its own timer, because a
loop may stop or close at any time. The limiters take their permits from the same windows:

- Loops that follow each other, as with `asyncio.run` several times, use the windows one after the other. The requests
  that a closed loop has left without an answer are given up, as if the answers were lost.
- Loops that live at the same time, in several threads, use them under a lock: see `cmsapi.ratelimit.loop_windows`.

One loop alone needs no lock. When a second one comes, the first is switched over, and nothing is taken for a moment: an
operation of the first that has begun without the lock is over by then.

Only loops whose clocks are the clock of the process take part. A loop in virtual time is alone, because its intervals
cannot be compared with those of others.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from typing import TYPE_CHECKING

import attrs

from cmsapi.ratelimit.limiter import RateLimiter
from cmsapi.ratelimit.loop_windows import LoopGroup, LoopWindows
from cmsapi.ratelimit.sliding_windows import SlidingWindows

if TYPE_CHECKING:
    from cmsapi.config import RateLimits

# Seconds that the first loop has to end an operation that it began without the lock.
_SWITCH = 0.2
# Seconds by which the time of a loop may lag behind the clock of the process. Some loops read the clock once in each of
# their rounds, and a round may take long.
_LAG = 10.0


class ProcessWindows:
    """Hold the windows of an account for all loops of a process.

    Args:
        windows: The two windows.
    """

    def __init__(self, windows: SlidingWindows) -> None:
        self._group = LoopGroup(windows)
        # The limiter that uses the windows without the lock, if there is only one.
        self._sole: RateLimiter | None = None

    def join(self) -> RateLimiter:
        """Make a limiter on the running loop that takes its permits from these windows."""
        group = self._group
        limiter = RateLimiter(group.windows)
        now = limiter.time()
        with group.lock:
            self._evict_closed(now)
            if self._sole is not None:
                self._share(self._sole, out=group.windows.in_flight)
                group.rests_until = max(group.rests_until, self._sole.paused_until, now + _SWITCH)
                self._sole = None
            if group.members:
                self._share(limiter)
            else:
                self._sole = limiter
                limiter.paused_until = group.rests_until
        return limiter

    def _share(self, limiter: RateLimiter, out: int = 0) -> None:
        """Let a limiter use the lock from now on."""
        member = LoopWindows(self._group, limiter.loop, limiter.serve, out)
        self._group.members.append(member)
        limiter.windows = member

    def _evict_closed(self, now: float) -> None:
        sole, group = self._sole, self._group
        if sole is not None and sole.loop.is_closed():
            self._share(sole, out=group.windows.in_flight)
            group.rests_until = max(group.rests_until, sole.paused_until)
            self._sole = None
        group.evict_closed(now)

    def leave(self, limiter: RateLimiter) -> None:
        """Forget a limiter that has nothing out and is not used any more."""
        with self._group.lock:
            if self._sole is limiter:
                self._sole = None
            self._group.members = [member for member in self._group.members if member is not limiter.windows]

    @property
    def closed(self) -> bool:
        """Whether only closed loops have limiters that use the windows."""
        with self._group.lock:
            loops = [member.loop for member in self._group.members]
            loops += [self._sole.loop] if self._sole is not None else []
        return all(loop.is_closed() for loop in loops)

    def unused(self, now: float) -> bool:
        """Tell whether only closed loops use the windows and nothing counts any more: forgetting them loses nothing."""
        group = self._group
        with group.lock:
            self._evict_closed(now)
            in_use = self._sole is not None or group.members or now < group.rests_until
            return not in_use and group.windows.idle(now)


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
        limiter = shared.join()
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
