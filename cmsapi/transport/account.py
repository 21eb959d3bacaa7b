"""Limiter, connections and state that clients in one event loop with the same address and key share.

A program may create a client for each web request. The limits belong to the key, so all these clients share one
count, even if each is closed before the next is created.
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
    """Limiter, connections and state of one key in one event loop."""

    def __init__(self, limiter: Limiter, store: Store, make_transport: Callable[[], Transport]) -> None:
        self.limiter: Limiter = limiter
        self.store: Store = store
        self.transport: Transport
        self._make_transport = make_transport
        self.poller: Any = None  # polls the jobs of the key; made by `cmsapi.jobs`
        self._clients = 0

    def join(self) -> None:
        """Add a client; the first one makes the transport."""
        if self._clients == 0:
            self.transport = self._make_transport()
        self._clients += 1

    async def leave(self, *, close: bool) -> None:
        """Remove a client; the last closes the connections (if ``close``) and the state if unused. The counts stay."""
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
    """Join and return the account of the running event loop for a key, a state and a way to connect.

    Accounts of one key and state share limiter and store, however they connect. A request takes at most ``seconds``.

    Raises:
        ConfigError: Another client of the same key and state has other limits.
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
