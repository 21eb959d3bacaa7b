"""One limiter for all clients of an event loop that share a state, a base URL and a key.

The service counts requests per key. A client per web request must not multiply what the process allows itself, so the
limiter belongs to the loop and the account. In memory it outlives the clients, and the limiters of all loops take their
permits from the same windows: see `cmsapi.ratelimit.process`. With a shared state the hour is in the state, and the
limiter goes with the last client of its loop.
"""

from __future__ import annotations

import asyncio
import functools
from typing import TYPE_CHECKING

import attrs

from cmsapi.config import RateLimits
from cmsapi.ratelimit.limiter import RateLimiter
from cmsapi.ratelimit.process import join_process, leave_process
from cmsapi.runtime.loops import of_loop
from cmsapi.state.opening import MEMORY, open_state
from cmsapi.state.redaction import redact_url

if TYPE_CHECKING:
    from cmsapi.state.store import State

# Of what a process without a limit of its own takes its share while the shared state cannot be reached.
_BURST = 20


@attrs.define(eq=False, slots=False)
class Place:
    """Hold what the clients of one loop that name the same state have together.

    Args:
        url: Names the state.
        limiters: The limiters of the accounts, by digest.
        users: How many clients use it.
    """

    url: str = attrs.field(repr=redact_url)
    limiters: dict[str, RateLimiter] = attrs.field(factory=dict)
    users: int = 0

    @functools.cached_property
    def state(self) -> State:
        """The state; made when it is first used, because most clients in memory never do."""
        return open_state(self.url)

    @property
    def shared(self) -> bool:
        """Whether other processes may use the state too."""
        return self.url != MEMORY

    def limiter(self, account: str, limits: RateLimits) -> RateLimiter:
        """Return the limiter of an account; of several clients' limits the strictest count.

        Args:
            account: Digest of base URL and key.
            limits: The limits of the client that asks.
        """
        limiter = self.limiters.get(account)
        if limiter is not None:
            if limiter.obeys is not limits:
                limiter.windows.tighten(limits.per_second, limits.per_hour, limits.reserve)
                limiter.obeys = limits
            return limiter
        now = asyncio.get_running_loop().time()
        for name in [name for name, unused in self.limiters.items() if not self.shared and unused.idle(now)]:
            leave_process(name, self.limiters.pop(name))
        limiter = self.limiters[account] = self._make(account, limits)
        return limiter

    def _make(self, account: str, limits: RateLimits) -> RateLimiter:
        if not self.shared:
            return join_process(account, limits)
        from cmsapi.ratelimit.shared_windows import SharedWindows

        per_second, per_hour, reserve = limits.per_second, limits.per_hour, limits.reserve
        alone = max(1, int((per_second or _BURST) * limits.share))
        windows = SharedWindows(self.state, account, per_second, per_hour, reserve=reserve, alone=alone)
        limiter = RateLimiter(windows)
        windows.connect(limiter.waiting, limiter.serve)
        return limiter

    async def leave(self) -> None:
        """Note that a client uses it no more; with the last one a shared state is let go of."""
        self.users -= 1
        if self.users or not self.shared:
            return
        places = _places.get(asyncio.get_running_loop(), {})
        if places.get(self.url) is self:
            del places[self.url]
        for limiter in self.limiters.values():
            await limiter.windows.aclose()
        await self.state.aclose()


_places: dict[asyncio.AbstractEventLoop, dict[str, Place]] = {}


def place_of(url: str) -> Place:
    """Return the place of a state on the running loop.

    Args:
        url: Names the state.

    Raises:
        ConfigError: It names none.
    """
    places = of_loop(_places, dict[str, Place])
    place = places.get(url)
    if place is None:
        place = places[url] = Place(url)
    return place
