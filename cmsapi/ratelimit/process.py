"""Share the limits of an account among the event loops of a process.

The windows of an account belong to the process, because the service counts the requests of a key, whichever loop makes
them. Each loop has a limiter with its own queues and its own timer, because a loop may stop or close at any time. The
limiters take their permits from the same windows, under a lock if there are several, and a permit that ends in one loop
wakes the calls that wait in the others. Requests that a closed loop has left without an answer are given up, as if the
answers were lost; so loops may also follow each other, as with `asyncio.run` several times.

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

from cmsapi.ratelimit.clock import clock_tick
from cmsapi.ratelimit.limiter import LoopGroup, RateLimiter
from cmsapi.ratelimit.request_log import SECOND, RequestLog
from cmsapi.ratelimit.sliding_windows import SlidingWindows

if TYPE_CHECKING:
    from cmsapi.config import RateLimits

# Seconds by which the time of a loop may lag behind the clock of the process. Some loops read the clock once in each of
# their rounds, and a round may take long.
_LAG = 10.0


@attrs.define
class _Accounts:
    """Hold the limiters of all accounts of a process, by digest."""

    lock: threading.Lock = attrs.field(factory=threading.Lock)
    groups: dict[str, LoopGroup] = attrs.field(factory=dict)


# By process, because a fork may copy a lock that is held, and requests whose answers it does not get.
_accounts: dict[int, _Accounts] = {}


def join_process(account: str, limits: RateLimits) -> RateLimiter:
    """Make the limiter of an account on the running loop; it shares the windows of the process if the loop can.

    Where the process obeys stricter limits already, the limiter obeys those.
    """
    now = asyncio.get_running_loop().time()
    if not -1.0 < time.monotonic() - now < _LAG:
        return RateLimiter(SlidingWindows(limits.per_second, limits.per_hour, reserve=limits.reserve))
    log = RequestLog(second=SECOND + clock_tick())
    windows = SlidingWindows(limits.per_second, limits.per_hour, reserve=limits.reserve, log=log)
    accounts = _accounts.setdefault(os.getpid(), _Accounts())
    with accounts.lock:
        for name, group in list(accounts.groups.items()):
            with group.lock:
                group.evict_closed(now)
                # No loop is left and nothing counts any more.
                if not group.limiters and now >= group.windows.paused_until and group.windows.idle(now):
                    del accounts.groups[name]
        group = accounts.groups.setdefault(account, LoopGroup(windows))
        limiter = RateLimiter(group.windows, group)
    limiter.obey(limits)
    return limiter


def forget_closed() -> None:
    """Forget the accounts that only closed loops have used, as if the process had just begun.

    Tests want that whose loops follow each other and whose requests never reach the service.
    """
    accounts = _accounts.get(os.getpid())
    if accounts is not None:
        with accounts.lock:
            for name, group in list(accounts.groups.items()):
                if all(limiter.loop.is_closed() for limiter in list(group.limiters)):
                    del accounts.groups[name]
