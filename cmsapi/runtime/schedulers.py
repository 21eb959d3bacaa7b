"""One schedule for all clients of a process that share an event loop, a state and an account, like their limits."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Hashable

from cmsapi.jobs.scheduling.scheduler import Pacer
from cmsapi.ratelimit.limiter import RateLimiter
from cmsapi.runtime.loops import of_loop

# What was learned of so many accounts is kept although nobody waits for their jobs.
_KEPT = 64

_pacers: dict[asyncio.AbstractEventLoop, dict[Hashable, Pacer]] = {}


def pacer_of(account: Hashable, find_limiter: Callable[[], RateLimiter], rng: random.Random) -> Pacer:
    """Return the schedule of an account on the running loop.

    Args:
        account: Names state, base URL and key.
        find_limiter: Finds the limiter of the account.
        rng: Source of chance when it is new.
    """
    pacers = of_loop(_pacers, dict[Hashable, Pacer])
    pacer = pacers.get(account)
    if pacer is None:
        idle = [name for name, unused in pacers.items() if unused.idle]
        for name in idle[: max(0, len(pacers) - _KEPT)]:
            del pacers[name]
        pacer = pacers[account] = Pacer(find_limiter, rng)
    return pacer
