"""One limiter for all clients of a process that share an event loop, a base URL and a key.

The service counts requests per key. A client per web request must not multiply what the process allows itself, so the
limiter belongs to the loop and the account, and outlives the clients.
"""

from __future__ import annotations

import asyncio
import weakref

from cmsapi.config import RateLimits
from cmsapi.state.windows import Windows
from cmsapi.transport.ratelimit import RateLimiter

_limiters: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, RateLimiter]] = weakref.WeakKeyDictionary()


def limiter_of(account: str, limits: RateLimits) -> RateLimiter:
    """Return the limiter of an account on the running loop; of several clients' limits the strictest count.

    Args:
        account: Digest of base URL and key.
        limits: The limits of the client that asks.
    """
    loop = asyncio.get_running_loop()
    limiters = _limiters.get(loop)
    if limiters is None:
        # A limiter's timer holds its loop, so that the weak keys alone would never let go of it.
        for other in [other for other in _limiters if other.is_closed()]:
            del _limiters[other]
        limiters = _limiters[loop] = {}
    limiter = limiters.get(account)
    if limiter is None:
        for name in [name for name, unused in limiters.items() if unused.idle(loop.time())]:
            del limiters[name]
        limiter = limiters[account] = RateLimiter(Windows(limits.per_second, limits.per_hour, reserve=limits.reserve))
    else:
        limiter.windows.tighten(limits.per_second, limits.per_hour, limits.reserve)
    return limiter
