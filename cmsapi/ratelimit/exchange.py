"""What a process and the book of the shared limits tell each other.

A process takes a *turn*: it tells what was answered since the last one, and is given permits. See `allocator`.
"""

from __future__ import annotations

import attrs

from cmsapi.ratelimit.permits import Quota
from cmsapi.ratelimit.request_log import HOUR, SECOND
from cmsapi.ratelimit.unanswered import IN_FLIGHT_CAP

# In so many steps a turn tells when the hour's permits come back.
PARTS = 8


@attrs.frozen(kw_only=True)
class AccountLimits:
    """Say what the account admits.

    Args:
        per_second: Requests in any one second, or None for no limit.
        per_hour: Requests in any hour, or None for no limit.
        second: Length of the shorter window in seconds.
        hour: Length of the longer window in seconds, with what the clocks may differ by.
        cap: Seconds after the end of a holder's life after which nothing that it has sent can still arrive.
        life: Seconds for which a turn lets its holder live.
    """

    per_second: int | None
    per_hour: int | None
    second: float = SECOND
    hour: float = HOUR
    cap: float = IN_FLIGHT_CAP
    life: float = 5.0

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return self.per_second is not None or self.per_hour is not None


@attrs.frozen(kw_only=True)
class HeaderReport:
    """Hold what an answer said of the limits.

    Args:
        quota: Its headers.
        age: Seconds since it was seen.
        settled: Requests that had settled when its permit was given.
        left: Requests that had left the hour when its permit was given.
    """

    quota: Quota
    age: float
    settled: int
    left: int


@attrs.frozen(kw_only=True)
class PermitRequest:
    """Say what a holder did since its last turn, and what it wants.

    Args:
        holder: Who; unique for each life of a process.
        number: Number of the turn. One that was written already is not written twice.
        held: Permits that the holder still has: at hand or in flight.
        settled: How long ago, in seconds, its other permits settled, the oldest first.
        heard: Whether one of them was answered.
        seen: What the newest of the answers said of the limits, or None.
        rest: Seconds for which all have to rest, because an answer said so (429).
        want: Permits wanted.
        priority: Lane of the first that waits; a lower one passes higher ones.
        epoch: Names the book that gave the last turn; 0 before the first.
    """

    holder: str
    number: int
    held: int = 0
    settled: tuple[float, ...] = ()
    heard: bool = False
    seen: HeaderReport | None = None
    rest: float = 0.0
    want: int = 0
    priority: int = 0
    epoch: int = 0


@attrs.frozen(kw_only=True)
class PermitGrant:
    """Say what a turn gave.

    Args:
        granted: Permits given.
        wait: Seconds after which another turn may give something; 0 when this one did.
        at: Time of the book.
        settled: Requests that have settled, all told.
        left: Requests that have left the hour, all told.
        out: Permits that the holders have, after this turn.
        used: Requests of this hour: permits out, those that have settled, and those of others.
        limit: Requests an hour as the service says, or None before it has.
        foreign: Requests of this hour that others made with the same key, as far as the answers tell.
        returns: Seconds until the first of the settled requests leaves the hour, and until each eighth of them has left
            it; empty when none has settled.
        epoch: Names the book: a new one has another, whether the old one was lost or contradicted itself.
        reset: Whether what was stored contradicted itself, so that this turn began a new book.
    """

    granted: int
    wait: float
    at: float
    settled: int
    left: int
    out: int
    used: int
    limit: int | None
    foreign: int
    returns: tuple[float, ...]
    epoch: int
    reset: bool = False
