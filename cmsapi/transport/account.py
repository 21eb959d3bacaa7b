"""The limiter, connections and store that clients with the same address, key and state share in one event loop.

A program may create a client for each web request. The limits belong to the key, so all these clients share one
request count, even if each is closed before the next is created.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from typing import Any

from cmsapi.config import Connect, RateLimits
from cmsapi.errors import ConfigError
from cmsapi.limits.limiter import Limiter
from cmsapi.limits.processes import SharedLimiter
from cmsapi.messages import Transport
from cmsapi.state.store import SharedStore, Store, open_store


class Account:
    """Limiter, connections and store that clients of one API key share in one event loop."""

    def __init__(self, limiter: Limiter, store: Store, make_transport: Callable[[], Transport]) -> None:
        self.limiter: Limiter = limiter
        self.store: Store = store
        self.transport: Transport
        self._make_transport = make_transport
        self.poller: Any = None  # polls the jobs of the key; made by `cmsapi.jobs`
        self._clients = 0

    def join(self) -> None:
        """Add a client, and create the transport if no other client is using the account."""
        if self._clients == 0:
            self.transport = self._make_transport()
        self._clients += 1

    async def leave(self, *, close: bool) -> None:
        """Remove a client. Close what no other client uses: the store, and the connections if ``close`` is True."""
        self._clients -= 1
        if self._clients == 0 and close:
            await self.transport.aclose()
        accounts = _ACCOUNTS[asyncio.get_running_loop()].values()
        if not any(each._clients for each in accounts if each.limiter is self.limiter):  # noqa: SLF001  of this class
            await self.limiter.aclose()
            await self.store.aclose()


_ACCOUNTS: dict[asyncio.AbstractEventLoop, dict[tuple[Hashable, ...], Account]] = {}


def join_account(
    key: tuple[Hashable, ...],
    connect: Connect,
    limits: RateLimits,
    state: str,
    seconds: float,
    make_transport: Callable[[], Transport],
) -> Account:
    """Return the running event loop's account for ``key``, ``state`` and ``connect``, and add a client to it.

    Accounts with the same key and state share a limiter and a store. ``seconds`` is the maximum duration of a request.

    Raises:
        ConfigError: The limits differ from those of another client with the same key and state.
    """
    for ended in [loop for loop in list(_ACCOUNTS) if loop.is_closed()]:  # an account keeps its loop alive
        _ACCOUNTS.pop(ended, None)
    accounts = _ACCOUNTS.setdefault(asyncio.get_running_loop(), {})
    account = accounts.get((key, state, connect))
    if account is None:
        related = next((each for name, each in accounts.items() if name[:2] == (key, state)), None)
        if related is not None:
            limiter, store = related.limiter, related.store
        else:
            store = open_store(state, str(key[0]))
            limiter = SharedLimiter(limits, store, seconds) if isinstance(store, SharedStore) else Limiter(limits)
        account = accounts[key, state, connect] = Account(limiter, store, make_transport)
    kept = account.limiter.limits
    if (kept.per_second, kept.per_hour) != (limits.per_second, limits.per_hour):
        raise ConfigError(f"limits differ from {kept}, which another client of the same key keeps")
    account.join()
    return account
