"""What a client and its `with_options` twins share, and what each has of its own.

Connections, limits, the service's clock, counts and life belong to the trunk; settings belong to a twin. Closing either
closes both.
"""

from __future__ import annotations

import asyncio
import enum
import functools
import random
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from cmsapi.api.operations import OPERATIONS, OperationTable
from cmsapi.api.wire.converter import Converter
from cmsapi.config import Account, LaunchPolicy, PollPolicy, RateLimits, RetryPolicy, Timeouts
from cmsapi.errors import ClientClosedError, ConfigError
from cmsapi.observability.events import Hook
from cmsapi.observability.hooks import Hooks, warn_of_waits
from cmsapi.observability.statistics import Counters
from cmsapi.ratelimit.limiter import RateLimiter
from cmsapi.runtime.shared_state import Place, place_of
from cmsapi.transport.active_calls import ActiveCalls
from cmsapi.transport.clock import ServerClock
from cmsapi.transport.http import SendAwareTransport, Transport

if TYPE_CHECKING:
    from cmsapi.api.models import User
    from cmsapi.jobs.journal.journal import LaunchJournal
    from cmsapi.jobs.polling.poller import Poller
    from cmsapi.jobs.polling.registry import JobRegistry
    from cmsapi.jobs.scheduling.duration_store import DurationStore


@attrs.frozen(kw_only=True)
class Settings:
    """Hold what a client was asked to do, apart from what it shares.

    Args:
        limits: Requests the key may make.
        retry: How often and how patiently to repeat.
        polling: How often to look at jobs.
        timeouts: How long to wait.
        launch: What to do when the same work is under way.
        operations: The table of operations.
        depth: How many times `with_options` was called to make the client.
    """

    limits: RateLimits = attrs.field(factory=RateLimits)
    retry: RetryPolicy = attrs.field(factory=RetryPolicy)
    polling: PollPolicy = attrs.field(factory=PollPolicy)
    timeouts: Timeouts = attrs.field(factory=Timeouts)
    launch: LaunchPolicy = attrs.field(factory=LaunchPolicy)
    operations: OperationTable = OPERATIONS
    depth: int = 0

    @classmethod
    def of(cls, base: Settings | None = None, **given: Any) -> Settings:
        """Take what is given, else what the base has.

        Raises:
            ConfigError: Something is of the wrong type.
        """
        chosen = {name: value for name, value in given.items() if value is not None}
        for name, value in chosen.items():
            wanted = _SETTING_TYPES[name]
            if not isinstance(value, wanted):
                example = "OPERATIONS.override(…)" if wanted is OperationTable else f"cmsapi.{wanted.__name__}(…)"
                raise ConfigError(f"{name} is of the wrong type: give {example}, not {type(value).__name__}.")
        return cls(**chosen) if base is None else attrs.evolve(base, depth=base.depth + 1, **chosen)


_SETTING_TYPES: Mapping[str, type] = {
    "limits": RateLimits,
    "retry": RetryPolicy,
    "polling": PollPolicy,
    "timeouts": Timeouts,
    "launch": LaunchPolicy,
    "operations": OperationTable,
}


class Life(enum.Enum):
    """Say where a client is in its life."""

    UNBOUND = "not used yet"
    OPEN = "open"
    CLOSED = "closed"


class Runtime:
    """Hold what a client and its `with_options` twins share: connections, limits, clock, counts and life.

    Args:
        account: Key and base URL.
        transport: Carries the requests.
        hooks: Who wants to hear of it.
        state: Where what must be agreed on is kept.
        limits: Limits of the client that the others are made from.
    """

    def __init__(
        self,
        account: Account,
        transport: Transport | SendAwareTransport,
        hooks: Sequence[Hook],
        state: str,
        limits: RateLimits,
    ) -> None:
        self.account = account
        self.limits = limits
        self.state: str = state
        self._place: Place | None = None
        self.duration_store: DurationStore | None = None
        self._journal: LaunchJournal | None = None
        #: The user as read before anything could be launched, with the balances, and the loop time of the request.
        self.first_user: tuple[User, float] | None = None
        self.digest: str = account.digest
        self.transport = transport
        self.counters: Counters = Counters()
        self.hooks: Hooks = Hooks(hooks, own=(self.counters, warn_of_waits))
        self.clock: ServerClock = ServerClock()
        self.converter: Converter = Converter()
        self.wall: Callable[[], float] = time.time
        self.rng: random.Random = random.Random()  # noqa: S311  jitter, not secrets
        self.active_calls: ActiveCalls = ActiveCalls()
        # Weak, because a twin may be made for one call; a desk with work to do is held by its tasks.
        self.pollers: weakref.WeakSet[Poller] = weakref.WeakSet()
        self._life = Life.UNBOUND
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closing = asyncio.Lock()
        self._ended = False

    def ensure_open(self) -> None:
        """Bind to the running loop on first use; raise when closed or on another loop."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise ClientClosedError(
                "There is no running event loop: use the client inside a coroutine, for example under asyncio.run()."
            ) from None
        if self._life is Life.CLOSED:
            raise ClientClosedError("The client is closed; nothing was sent. Make a new one.")
        if self._life is Life.UNBOUND:
            self._place = place_of(self.state)
            self._place.users += 1
            self._life, self._loop = Life.OPEN, loop
        elif self._loop is not loop:
            raise ClientClosedError(
                "The client belongs to another event loop; nothing was sent. Make one client per loop."
            )

    @property
    def place(self) -> Place:
        """What the clients of this loop that name the same state have together."""
        # What was learned about jobs outlives the clients, and finds the limits of those that came after.
        return self._place if self._place is not None and self._life is Life.OPEN else place_of(self.state)

    def limiter(self, limits: RateLimits) -> RateLimiter:
        """Return the limiter of the account on this loop."""
        return self.place.limiter(self.digest, limits)

    @functools.cached_property
    def registry(self) -> JobRegistry:
        """The work that is under way."""
        from cmsapi.jobs.polling.registry import JobRegistry

        return JobRegistry()

    @property
    def journal(self) -> LaunchJournal:
        """Where paid work is written down before it is asked for."""
        if self._journal is None:
            from cmsapi.jobs.journal.journal import LaunchJournal

            self._journal = LaunchJournal(lambda: self.place, self.account.digest, self.account.base_url, self.wall)
        return self._journal

    async def aclose(self) -> None:
        """Close everything, once.

        Raises:
            ClientClosedError: The client belongs to another event loop that still runs.
        """
        if self._ended:
            return
        if self._loop is not None and self._loop is not asyncio.get_running_loop():
            if not self._loop.is_closed():
                raise ClientClosedError("The client belongs to another event loop; close it there.")
            # Its tasks and connections have died with the loop.
            self._life, self._ended = Life.CLOSED, True
            return
        self._life = Life.CLOSED
        # One at a time; when it is cancelled on its way, the next one does the rest.
        async with self._closing:
            if not self._ended:
                await self._close()
                self._ended = True

    async def _close(self) -> None:
        try:
            await self.active_calls.end()
            for poller in tuple(self.pollers):
                await poller.aclose()
            if self._journal is not None:
                await self._journal.aclose()
        finally:
            try:
                close = getattr(self.transport, "aclose", None)
                if close is not None:
                    await close()
            finally:
                await self._leave()

    async def _leave(self) -> None:
        if self._place is not None:
            try:
                if self.duration_store is not None:
                    await self.duration_store.aclose()
            finally:
                await self._place.leave()

    def __repr__(self) -> str:
        return f"{self.account.base_url}, {self._life.value}"
