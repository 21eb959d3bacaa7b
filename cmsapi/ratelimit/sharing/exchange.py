"""What a process and the shared limits of its account tell each other.

In an *exchange* a process reports which of its requests have settled since the last one, and is given permits: see
`cmsapi.ratelimit.sharing.allocator`.
"""

from __future__ import annotations

import attrs

from cmsapi.ratelimit.permits import Quota
from cmsapi.ratelimit.request_log import HOUR, SECOND, RequestLog
from cmsapi.ratelimit.sliding_windows import SlidingWindows
from cmsapi.ratelimit.unanswered import IN_FLIGHT_CAP

# A process that was not heard of for so many seconds has lost its permits.
HOLDER_TTL = 5.0


@attrs.frozen(kw_only=True)
class AccountLimits:
    """Say what the account admits.

    Args:
        per_second: Requests in any one second; None or infinity for no limit.
        per_hour: Requests in any hour; None or infinity for no limit.
        reserve: Requests of the hour that the last lane leaves to the others; None for one in a hundred.
        second: Length of the shorter window in seconds.
        hour: Length of the longer window in seconds, with what the clocks may differ by.
        cap: Seconds after a holder has expired after which nothing that it has sent can still arrive.
        ttl: Seconds after an exchange at which its holder expires, unless there was another exchange.
    """

    per_second: float | None
    per_hour: float | None
    reserve: float | None = None
    second: float = SECOND
    hour: float = HOUR
    cap: float = IN_FLIGHT_CAP
    ttl: float = HOLDER_TTL

    def windows(self) -> SlidingWindows:
        """Return windows with these limits that no request has used yet."""
        log = RequestLog(second=self.second, hour=self.hour)
        return SlidingWindows(self.per_second, self.per_hour, reserve=self.reserve, log=log)

    def tightened(self, per_second: int | None, per_hour: int | None, reserve: int | None) -> AccountLimits:
        """Return the stricter of these and other limits, with the larger reserve."""
        windows = self.windows()
        windows.tighten(per_second, per_hour, reserve)
        return attrs.evolve(self, per_second=windows.per_second, per_hour=windows.own_limit, reserve=windows.reserve)


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
        pause: Seconds for which all processes pause, because an answer said so (429).
        want: Permits wanted.
        priority: Lane of the first call that waits; a lower one passes higher ones.
        sparing: Whether the permits are for the last lane, which leaves a part of both windows to the others.
        epoch: Names the allocation that the last exchange was with; 0 before the first.
    """

    holder: str
    number: int
    held: int = 0
    settled: tuple[float, ...] = ()
    answered: bool = False
    report: HeaderReport | None = None
    pause: float = 0.0
    want: int = 0
    priority: int = 0
    sparing: bool = False
    epoch: int = 0


@attrs.frozen(kw_only=True)
class PermitGrant:
    """Say what an exchange gave.

    Args:
        granted: Permits given.
        wait: Seconds after which another exchange may give something; 0 when this one did.
        windows: The windows of all processes after this exchange. The permits that the holders have are unsettled.
        time: The time by the clock of these windows.
        epoch: Names the allocation: a new one has another name.
        reset: Whether the stored allocation could not be read, so that this exchange began a new one.
    """

    granted: int
    wait: float
    windows: SlidingWindows
    time: float
    epoch: int
    reset: bool = False
