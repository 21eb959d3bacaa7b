"""The states and the accounts that the clients of an event loop share.

The service counts requests per key. A client per web request must not multiply what the process allows itself, so the
limiter belongs to the loop and the account, and so does the scheduler, with everything that it has learned about jobs.
Both outlive the clients. In memory the limiters of all loops take their permits from the same windows (see
`cmsapi.ratelimit.process`). A shared state holds the hour itself; it is closed with its last client on the loop, and
the next client gets a new limiter.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from cmsapi.config import Account, RateLimits
from cmsapi.ratelimit.limiter import RateLimiter
from cmsapi.ratelimit.process import join_process
from cmsapi.state.opening import open_state

if TYPE_CHECKING:
    from cmsapi.jobs.scheduling.scheduler import Scheduler
    from cmsapi.state.store import State

T = TypeVar("T")

# Accounts that are kept although no client uses them, because of what was learned about their jobs.
_KEPT = 64


class SharedAccount:
    """Share the limiter and the scheduler among the clients of a loop with the same key and state."""

    def __init__(self, account: Account, state: State, limits: RateLimits) -> None:
        self.account: Account = account
        # Durations belong to the service, whatever the key.
        self._service = hashlib.sha256(account.base_url.encode()).hexdigest()[:16]
        self._scheduler: Scheduler | None = None
        #: The clients that use it. Weak, because a client may be forgotten without having been closed.
        self.clients: weakref.WeakSet[object] = weakref.WeakSet()
        self.open(state, limits)

    def open(self, state: State, limits: RateLimits) -> None:
        """Use a state from now on, which replaces one that was closed with its last client."""
        self.state: State = state
        if state.shared:
            from cmsapi.ratelimit.shared_windows import join_processes

            self.limiter: RateLimiter = join_processes(state, self.account.digest, limits)
        else:
            self.limiter = join_process(self.account.digest, limits)
        if self._scheduler is not None:
            self._scheduler.policy.limiter = self.limiter
            if self._scheduler.duration_store is not None:
                self._scheduler.duration_store.state = state

    def scheduler(self, rng: random.Random) -> Scheduler:
        """Return the scheduler, made when a client first uses jobs."""
        if self._scheduler is None:
            from cmsapi.jobs.planning.duration_store import DurationStore
            from cmsapi.jobs.scheduling.scheduler import Scheduler

            self._scheduler = Scheduler(self.limiter, rng)
            if self.state.shared:
                store = DurationStore(self.state, self._service, self._scheduler.policy.durations)
                self._scheduler.duration_store = store
        if self._scheduler.duration_store is not None:
            self._scheduler.duration_store.recall()
        return self._scheduler

    async def write_durations(self) -> None:
        """Write what was learned about jobs where other processes find it."""
        if self._scheduler is not None and self._scheduler.duration_store is not None:
            await self._scheduler.duration_store.aclose()

    @property
    def unused(self) -> bool:
        """Whether no client uses it."""
        return not self.clients and (self._scheduler is None or self._scheduler.idle)


class Accounts:
    """Keep the states and accounts of one event loop."""

    def __init__(self) -> None:
        #: The states that are open, by URL.
        self.states: dict[str, State] = {}
        self._accounts: dict[tuple[str, str], SharedAccount] = {}

    def account(self, url: str, account: Account, limits: RateLimits) -> SharedAccount:
        """Return the shared account of a state and a key, and obey one more client's limits."""
        if url not in self.states:
            self.states[url] = open_state(url)
        state, key = self.states[url], (url, account.digest)
        found = self._accounts.get(key)
        if found is None:
            self._forget_unused()
            found = self._accounts[key] = SharedAccount(account, state, limits)
        elif found.state is not state:
            found.open(state, limits)
        else:
            found.limiter.obey(limits)
        return found

    async def leave(self, account: SharedAccount, client: object) -> None:
        """Note that a client does not use an account any more; its last client closes a shared state."""
        try:
            await account.write_durations()
        finally:
            account.clients.discard(client)
            state = account.state
            urls = [url for url, found in self.states.items() if found is state]
            sharing = [other for other in self._accounts.values() if other.state is state]
            if state.shared and urls and not any(other.clients for other in sharing):
                del self.states[urls[0]]
                for limiter in [other.limiter for other in sharing]:
                    await limiter.windows.aclose()
                await state.aclose()

    def _forget_unused(self) -> None:
        now = asyncio.get_running_loop().time()
        # Forgetting one of these loses nothing but what was learned about jobs.
        unused = [
            (url, digest)
            for (url, digest), account in self._accounts.items()
            if account.unused and (self.states.get(url) is not account.state or account.limiter.idle(now))
        ]
        for key in unused[: max(0, len(self._accounts) - _KEPT)]:
            limiter = self._accounts.pop(key).limiter
            limiter.group.leave(limiter)


_loops: dict[asyncio.AbstractEventLoop, Accounts] = {}


def accounts_of_loop() -> Accounts:
    """Return the states and accounts of the running loop."""
    return of_loop(_loops, Accounts)


def of_loop(kept: dict[asyncio.AbstractEventLoop, T], make: Callable[[], T]) -> T:
    """Return what is kept for the running loop, and forget what was kept for closed loops.

    Loops come and go in any thread: several threads may call this at once, each with a loop of its own. Only single
    operations of the dictionary are used, because each of them is atomic.

    Args:
        kept: What is kept, by loop.
        make: Makes it for a loop that has none.
    """
    loop = asyncio.get_running_loop()
    found = kept.get(loop)
    if found is None:
        for other in list(kept):
            if other.is_closed():
                kept.pop(other, None)
        found = kept[loop] = make()
    return found
