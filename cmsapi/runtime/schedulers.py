"""One schedule for all clients of a process that share an event loop, a state and an account, like their limits."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Hashable

from cmsapi.jobs.scheduling.scheduler import Scheduler
from cmsapi.ratelimit.limiter import RateLimiter
from cmsapi.runtime.loops import of_loop

# What was learned of so many accounts is kept although nobody waits for their jobs.
_KEPT = 64

_schedulers: dict[asyncio.AbstractEventLoop, dict[Hashable, Scheduler]] = {}


def scheduler_of(account: Hashable, find_limiter: Callable[[], RateLimiter], rng: random.Random) -> Scheduler:
    """Return the schedule of an account on the running loop.

    Args:
        account: Names state, base URL and key.
        find_limiter: Finds the limiter of the account.
        rng: Source of chance when it is new.
    """
    schedulers = of_loop(_schedulers, dict[Hashable, Scheduler])
    scheduler = schedulers.get(account)
    if scheduler is None:
        idle = [name for name, unused in schedulers.items() if unused.idle]
        for name in idle[: max(0, len(schedulers) - _KEPT)]:
            del schedulers[name]
        scheduler = schedulers[account] = Scheduler(find_limiter, rng)
    return scheduler
