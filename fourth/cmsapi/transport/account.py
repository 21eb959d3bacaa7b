"""What clients of one event loop with the same address and key have in common: limiter, connections and state.

People make a client for each web request. The limits are the key's, so such clients must share one count, also one
after the other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from typing import Any
from weakref import WeakKeyDictionary

from cmsapi.config import RateLimits
from cmsapi.errors import ConfigError
from cmsapi.limits.limiter import Limiter
from cmsapi.messages import Transport
from cmsapi.state.memory import MemoryStore
from cmsapi.state.store import Store


class Account:
    """Limiter, connections and state of one key in one event loop.

    Attributes:
        limiter: Both limits.
        store: The state.
        transport: The connections.
        poller: What polls the jobs of the key; kept here for `cmsapi.jobs`, which makes it.
    """

    def __init__(self, limiter: Limiter, store: Store, make_transport: Callable[[], Transport]) -> None:
        self.limiter = limiter
        self.store = store
        self.transport: Transport
        self._make_transport = make_transport
        self.poller: Any = None
        self._clients = 0

    def join(self) -> None:
        """Count one more client."""
        if self._clients == 0:
            self.transport = self._make_transport()
        self._clients += 1

    async def leave(self, *, close: bool) -> None:
        """Count one client less; the last one closes connections that are cmsapi's. The count of requests stays."""
        self._clients -= 1
        if self._clients == 0 and close:
            await self.transport.aclose()


_ACCOUNTS: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[Hashable, Hashable], Account]] = WeakKeyDictionary()


def join_account(
    key: Hashable, connect: Hashable, limits: RateLimits, make_transport: Callable[[], Transport]
) -> Account:
    """Return the account of the running event loop for a key and a way to connect, joined.

    Accounts of one key share the limiter, however they connect.

    Raises:
        ConfigError: Another client of the same key keeps other limits.
    """
    accounts = _ACCOUNTS.setdefault(asyncio.get_running_loop(), {})
    account = accounts.get((key, connect))
    if account is None:
        limiters = (each.limiter for (other, _), each in accounts.items() if other == key)
        limiter = next(limiters, None) or Limiter(limits)
        account = accounts[key, connect] = Account(limiter, MemoryStore(), make_transport)
    kept = account.limiter.limits
    if (kept.per_second, kept.per_hour) != (limits.per_second, limits.per_hour):
        raise ConfigError(f"limits differ from {kept}, which another client of the same key keeps")
    account.join()
    return account
