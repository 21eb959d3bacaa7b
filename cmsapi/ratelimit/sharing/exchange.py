"""What a process and the shared limits of its account tell each other.

In an *exchange* a process reports which of its requests have settled since the last one, and is given permits: see
`cmsapi.ratelimit.sharing.allocator`.
"""

from __future__ import annotations

import math

import attrs

from cmsapi.ratelimit.permits import Quota
from cmsapi.ratelimit.request_log import HOUR, SECOND
from cmsapi.ratelimit.sliding_windows import RESERVE, SPARE
from cmsapi.ratelimit.unanswered import IN_FLIGHT_CAP

# In so many steps a grant tells when the hour's permits come back.
PARTS = 8
# A process that was not heard of for so many seconds has lost its permits.
HOLDER_TTL = 5.0


@attrs.frozen(kw_only=True)
class AccountLimits:
    """Say what the account admits.

    Args:
        per_second: Requests in any one second, or None for no limit.
        per_hour: Requests in any hour, or None for no limit.
        second: Length of the shorter window in seconds.
        hour: Length of the longer window in seconds, with what the clocks may differ by.
        cap: Seconds after a holder has expired after which nothing that it has sent can still arrive.
        ttl: Seconds after an exchange at which its holder expires, unless there was another exchange.
        reserve_share: Part of the hour that the last lane leaves to the others.
    """

    per_second: int | None
    per_hour: int | None
    second: float = SECOND
    hour: float = HOUR
    cap: float = IN_FLIGHT_CAP
    ttl: float = HOLDER_TTL
    reserve_share: float = RESERVE

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return self.per_second is not None or self.per_hour is not None

    def reserve(self, per_hour: float) -> float:
        """Return the requests that the last lane leaves to the others, of so many an hour."""
        return min(round(self.reserve_share * per_hour), per_hour - 1) if per_hour != math.inf else 0

    def sparing(self, per_hour: float) -> AccountLimits:
        """Return the limits of the last lane, so that a part of both windows stays for the others.

        Args:
            per_hour: Requests in any hour in force.
        """
        second = None if self.per_second is None else self.per_second - int(self.per_second * SPARE)
        hour = None if per_hour == math.inf else max(1, int(per_hour - self.reserve(per_hour)))
        return attrs.evolve(self, per_second=second, per_hour=hour)

    def tightened(self, per_second: int | None, per_hour: int | None, reserve: int | None) -> AccountLimits:
        """Return the stricter of these and other limits, with the larger reserve."""
        share = 0.0 if reserve is None or per_hour is None else reserve / per_hour
        return attrs.evolve(
            self,
            per_second=_stricter(self.per_second, per_second),
            per_hour=_stricter(self.per_hour, per_hour),
            reserve_share=max(self.reserve_share, share),
        )


def _stricter(one: int | None, other: int | None) -> int | None:
    return min((limit for limit in (one, other) if limit is not None), default=None)


@attrs.frozen(kw_only=True)
class HeaderReport:
    """Hold what an answer said of the limits.

    Args:
        quota: Its headers.
        age: Seconds since it came.
        settled: Requests that had settled when its permit was given.
        left: Requests that had left the hour when its permit was given.
    """

    quota: Quota
    age: float
    settled: int
    left: int


@attrs.frozen(kw_only=True)
class PermitRequest:
    """Say what a holder did since its last exchange, and what it wants.

    Args:
        holder: Names the holder; no two lives of a process have the same name.
        number: Number of the exchange. A report that is written down already is not written down twice.
        held: Permits that the holder still has: at hand or out.
        settled: How long ago, in seconds, the requests of its other permits settled, the oldest first.
        answered: Whether one of them was answered.
        report: What the newest of the answers said of the limits, or None.
        rest: Seconds for which all processes have to rest, because an answer said so (429).
        want: Permits wanted.
        priority: Lane of the first call that waits; a lower one passes higher ones.
        epoch: Names the allocation that the last exchange was with; 0 before the first.
    """

    holder: str
    number: int
    held: int = 0
    settled: tuple[float, ...] = ()
    answered: bool = False
    report: HeaderReport | None = None
    rest: float = 0.0
    want: int = 0
    priority: int = 0
    epoch: int = 0


@attrs.frozen(kw_only=True)
class PermitGrant:
    """Say what an exchange gave.

    Args:
        granted: Permits given.
        wait: Seconds after which another exchange may give something; 0 when this one did.
        settled: Requests that have settled, all told.
        left: Requests that have left the hour, all told.
        out: Permits that the holders have, after this exchange.
        used: Requests of this hour: permits out, requests that have settled, and foreign ones.
        limit: Requests an hour as the service says, or None before it has.
        foreign: Requests of this hour that other programs made with the same key, as far as the answers tell.
        returns: Seconds until the first of the settled requests leaves the hour, and until each eighth of them has left
            it; empty when none has settled.
        epoch: Names the allocation: a new one has another name.
        reset: Whether the stored allocation could not be read, so that this exchange began a new one.
    """

    granted: int
    wait: float
    settled: int
    left: int
    out: int
    used: int
    limit: int | None
    foreign: int
    returns: tuple[float, ...]
    epoch: int
    reset: bool = False

    def returning(self, within: float) -> int:
        """Return how many requests leave the hour within so many seconds, to an eighth of them."""
        parts = sum(each <= within for each in self.returns)
        return max(int(parts > 0), (self.settled - self.left) * (parts - 1) // PARTS)

    def returned(self, count: float) -> float:
        """Return seconds until so many requests will have left the hour, to an eighth of them."""
        if not self.returns:
            return 0.0
        part = min(PARTS, math.ceil(count * PARTS / (self.settled - self.left)))
        return self.returns[part if count > 1 else 0]
