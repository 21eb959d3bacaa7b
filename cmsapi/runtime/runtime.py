"""The connections, limits, clock and counts that a client shares with its `with_options` copies.

The runtime takes no policy: each client has its own (`cmsapi.runtime.settings`), so that the settings of one of them
cannot reach another. The limits are the exception, because the service counts them for all of them together.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import anyio

from cmsapi.api.identifiers import IdentifierPrefixes
from cmsapi.api.wire.converter import Converter
from cmsapi.config import Account, RateLimits
from cmsapi.errors import ClientClosedError
from cmsapi.observability.statistics import Counters
from cmsapi.ratelimit.limiter import RateLimiter
from cmsapi.runtime.accounts import Accounts, SharedAccount, accounts_of_loop
from cmsapi.runtime.lazy import lazy
from cmsapi.transport.answers import ServerClock
from cmsapi.transport.http import SendAwareTransport, Transport
from cmsapi.transport.pipeline import ActiveCalls

if TYPE_CHECKING:
    from cmsapi.api.model import Model
    from cmsapi.api.models.user import User
    from cmsapi.runtime.jobs import SharedJobs


class Runtime:
    """Share what a client and those that are made from it have in common, from the first use on one event loop."""

    jobs: SharedJobs = lazy("cmsapi.runtime.jobs", "SharedJobs", "shared", "rng", "wall", "first_user")

    def __init__(self, account: Account, transport: Transport | SendAwareTransport, state: str) -> None:
        self.account = account
        self.transport = transport
        self.counters: Counters = Counters()
        self.clock: ServerClock = ServerClock()
        self.converter: Converter = Converter()
        self.identifiers: IdentifierPrefixes = IdentifierPrefixes()
        self.wall: Callable[[], float] = time.time
        self.rng: random.Random = random.Random()  # noqa: S311  jitter, not secrets
        self.active_calls: ActiveCalls = ActiveCalls()
        self._state = state
        self._limits: list[RateLimits] = []
        #: The user as read before anything worked on jobs, and the loop time of the request.
        self.first_user: tuple[User, float] | None = None
        self._phase: Literal["not used yet", "open", "closing", "closed"] = "not used yet"
        self._closing = asyncio.Lock()
        self._made_in = os.getpid()
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
            self.shared.limiter.obey(limits)

    def open(self) -> RateLimiter:
        """Return the limiter of the account; the first call binds the client to the running loop.

        Raises:
            ClientClosedError: The client is closed, belongs to another loop, or no loop is running.
        """
        loop = _running_loop()
        if self._phase in ("closing", "closed"):
            raise ClientClosedError("The client is closed; nothing was sent. Make a new one.")
        if self._loop is None:
            self._bind(loop)
        elif self._loop is not loop:
            raise ClientClosedError(
                "The client belongs to another event loop; nothing was sent. Make one client per loop."
            )
        return self.shared.limiter

    def _bind(self, loop: asyncio.AbstractEventLoop) -> None:
        if os.getpid() != self._made_in:
            # The processes of a fork must not wait the same random times.
            self.rng.seed()
        self._accounts = accounts_of_loop()
        for limits in self._limits:
            self.shared = self._accounts.account(self._state, self.account, limits)
        self.shared.clients.add(self)
        self._phase, self._loop = "open", loop

    def observe(
        self, documents: Sequence[Model], sent_at: float, path: Mapping[str, str] | None, page: int | None
    ) -> None:
        """Show documents that were read to the jobs that they concern."""
        self.jobs.observe(documents, sent_at, path, page)

    def note_user(self, user: User, sent_at: float) -> None:
        """Keep the balances of a user for the first launch; this does not load the modules of jobs."""
        if "jobs" in vars(self):
            self.jobs.journal.balances.saw(user, sent_at)
        else:
            self.first_user = user, sent_at

    async def aclose(self) -> None:
        """Close everything, once.

        Raises:
            ClientClosedError: The client belongs to another event loop that still runs.
        """
        if self._phase == "closed":
            return
        loop = _running_loop()
        if self._loop is not None and self._loop is not loop:
            if not self._loop.is_closed():
                raise ClientClosedError("The client belongs to another event loop; close it there.")
            # Its tasks and connections have died with the loop.
            self._phase = "closed"
            return
        self._phase = "closing"
        # A cancelled scope of anyio would interrupt each step; the cancellation of a task interrupts one, and the next
        # call does the rest.
        with anyio.CancelScope(shield=True):
            async with self._closing:
                await self._close()

    async def _close(self) -> None:
        if self._phase == "closed":
            return
        async with contextlib.AsyncExitStack() as steps:
            # From the last to the first, each whatever becomes of the ones before it.
            if self._loop is not None:
                steps.push_async_callback(self._accounts.leave, self.shared, self)
            if (close := getattr(self.transport, "aclose", None)) is not None:
                steps.push_async_callback(close)
            if "jobs" in vars(self):
                steps.push_async_callback(self.jobs.aclose)
            await self.active_calls.end()
        self._phase = "closed"

    def __repr__(self) -> str:
        return f"{self.account.base_url}, {self._phase}"


def _running_loop() -> asyncio.AbstractEventLoop:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise ClientClosedError(
            "There is no running event loop of asyncio, and cmsapi runs on asyncio; nothing was sent. Use the client "
            "inside a coroutine under asyncio.run(), or cmsapi.blocking in a thread of its own, also under trio; "
            "IPython in a terminal runs its loop only in cells with `await`."
        ) from None
