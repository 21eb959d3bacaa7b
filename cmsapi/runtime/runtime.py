"""The connections, limits, clock, counts and life that a client shares with its `with_options` copies.

It takes no policy: each client has its own (`cmsapi.runtime.settings`), so that the settings of one of them cannot
reach another. The limits are the exception, because the service counts them for all of them together.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import functools
import random
import time
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import anyio

from cmsapi.api.wire.converter import Converter
from cmsapi.config import Account, RateLimits
from cmsapi.errors import ClientClosedError
from cmsapi.observability.events import Hook
from cmsapi.observability.hooks import Hooks
from cmsapi.observability.statistics import Counters
from cmsapi.ratelimit.limiter import RateLimiter
from cmsapi.runtime.accounts import Accounts, SharedAccount, accounts_of_loop
from cmsapi.transport.answers import ServerClock
from cmsapi.transport.http import SendAwareTransport, Transport
from cmsapi.transport.pipeline import ActiveCalls

if TYPE_CHECKING:
    from cmsapi.api.models.user import User
    from cmsapi.jobs.journal.journal import LaunchJournal
    from cmsapi.jobs.launching.pending import PendingLaunches
    from cmsapi.jobs.polling.poller import Poller
    from cmsapi.jobs.polling.registry import JobRegistry


class Life(enum.Enum):
    """Say where a client is in its life."""

    UNBOUND = "not used yet"
    OPEN = "open"
    CLOSING = "closing"
    CLOSED = "closed"


class Runtime:
    """Hold what a client shares with the clients that are made from it, from the first use on one event loop.

    Args:
        account: Key and base URL.
        transport: Carries the requests.
        hooks: Functions that are called with each event.
        state: Names the state that the clients of an account share.
    """

    def __init__(
        self, account: Account, transport: Transport | SendAwareTransport, hooks: Sequence[Hook], state: str
    ) -> None:
        self.account = account
        self.transport = transport
        self.counters: Counters = Counters()
        self.hooks: Hooks = Hooks(hooks)
        self.clock: ServerClock = ServerClock()
        self.converter: Converter = Converter()
        self.wall: Callable[[], float] = time.time
        self.rng: random.Random = random.Random()  # noqa: S311  jitter, not secrets
        self.active_calls: ActiveCalls = ActiveCalls()
        # Weak, because a client may be made for one call; a poller with work to do is held by its tasks.
        self.pollers: weakref.WeakSet[Poller] = weakref.WeakSet()
        self._state = state
        self._limits: list[RateLimits] = []
        self._to_make: list[Callable[[], None]] = []
        #: The user as read before there was a journal to keep the balances, which the first launch needs, and the loop
        #: time of the request.
        self.first_user: tuple[User, float] | None = None
        self._life = Life.UNBOUND
        self._closing = asyncio.Lock()
        # Bound with the first use.
        self._loop: asyncio.AbstractEventLoop | None = None
        self._accounts: Accounts
        self.shared: SharedAccount
        """What the clients of the account share on the loop."""

    def obey(self, limits: RateLimits) -> None:
        """Obey the limits of one more client; of all limits the strictest counts."""
        if self._loop is None:
            self._limits.append(limits)
        else:
            self.shared.obey(limits)

    def when_open(self, make: Callable[[], None]) -> None:
        """Call a function with the next use, when the client is bound to its loop."""
        self._to_make.append(make)

    def open(self) -> RateLimiter:
        """Return the limiter of the account; the first call binds the client to the running loop.

        Raises:
            ClientClosedError: The client is closed, belongs to another loop, or no loop is running.
        """
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise ClientClosedError(
                "There is no running event loop: use the client inside a coroutine, for example under asyncio.run()."
            ) from None
        if self._life in (Life.CLOSING, Life.CLOSED):
            raise ClientClosedError("The client is closed; nothing was sent. Make a new one.")
        if self._life is Life.UNBOUND:
            self._bind(loop)
        elif self._loop is not loop:
            raise ClientClosedError(
                "The client belongs to another event loop; nothing was sent. Make one client per loop."
            )
        while self._to_make:
            self._to_make[0]()
            del self._to_make[0]
        return self.shared.limiter

    def _bind(self, loop: asyncio.AbstractEventLoop) -> None:
        self._accounts = accounts_of_loop()
        for limits in self._limits:
            self.shared = self._accounts.account(self._state, self.account, limits)
        self.shared.clients.add(self)
        self._life, self._loop = Life.OPEN, loop

    @functools.cached_property
    def registry(self) -> JobRegistry:
        """The jobs in flight."""
        from cmsapi.jobs.polling.registry import JobRegistry

        return JobRegistry(self.journal)

    @functools.cached_property
    def pending(self) -> PendingLaunches:
        """The launches that are being sent."""
        from cmsapi.jobs.launching.pending import PendingLaunches

        return PendingLaunches()

    @functools.cached_property
    def journal(self) -> LaunchJournal:
        """The journal to which paid work is written before it is sent; there is none before the first use."""
        from cmsapi.jobs.journal.journal import LaunchJournal

        state = self.shared.shared_state
        journal = LaunchJournal(
            state.state, self.account.digest, self.account.base_url, shared=state.shared, wall=self.wall
        )
        if self.first_user is not None:
            journal.balances.saw(*self.first_user)
        return journal

    async def aclose(self) -> None:
        """Close everything, once.

        Raises:
            ClientClosedError: The client belongs to another event loop that still runs.
        """
        if self._life is Life.CLOSED:
            return
        if self._loop is not None and self._loop is not asyncio.get_running_loop():
            if not self._loop.is_closed():
                raise ClientClosedError("The client belongs to another event loop; close it there.")
            # Its tasks and connections have died with the loop.
            self._life = Life.CLOSED
            return
        self._life = Life.CLOSING
        # A cancelled scope of anyio would interrupt each step; the cancellation of a task interrupts one, and the next
        # call does the rest.
        with anyio.CancelScope(shield=True):
            async with self._closing:
                await self._close()

    async def _close(self) -> None:
        if self._life is Life.CLOSED:
            return
        async with contextlib.AsyncExitStack() as steps:
            # From the last to the first, each whatever becomes of the ones before it.
            if self._loop is not None:
                steps.push_async_callback(self._accounts.leave, self.shared, self)
            steps.push_async_callback(self._close_transport)
            steps.push_async_callback(self._close_jobs)
            await self.active_calls.end()
        self._life = Life.CLOSED

    async def _close_jobs(self) -> None:
        for poller in tuple(self.pollers):
            await poller.aclose()
        if "journal" in vars(self):
            await self.journal.aclose()

    async def _close_transport(self) -> None:
        close = getattr(self.transport, "aclose", None)
        if close is not None:
            await close()

    def __repr__(self) -> str:
        return f"{self.account.base_url}, {self._life.value}"
