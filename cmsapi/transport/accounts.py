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
    limiters = _limiters.setdefault(loop, {})
    limiter = limiters.get(account)
    if limiter is None:
        for name in [name for name, other in limiters.items() if other.idle(loop.time())]:
            del limiters[name]
        limiter = limiters[account] = RateLimiter(Windows(limits.per_second, limits.per_hour))
    else:
        limiter.windows.tighten(limits.per_second, limits.per_hour)
    return limiter
