"""Read how much of the limits all processes of an account use, as the state has it; nothing is taken or written."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from cmsapi.ratelimit.limiter import RateLimiter
from cmsapi.ratelimit.shared_log import AccountLimits, Take, read
from cmsapi.ratelimit.sliding_windows import SlidingWindows
from cmsapi.state.store import State


@attrs.frozen(kw_only=True)
class RequestUse:
    """Show how much of the limits is used, by all processes together.

    Args:
        per_hour: Requests that the hour admits; infinity without a limit.
        hour: Requests of the last hour, those of other programs among them.
        foreign: Requests of that hour that other programs made with the same key, as far as the answers tell.
        per_second: Requests that a second admits; infinity without a limit.
        second: Requests of the last second, and those that are under way.
        processes: The requests of the last hour of each process, those under way among them; a name begins with its
            process identifier.
    """

    per_hour: float
    hour: int
    foreign: int
    per_second: float
    second: int
    processes: Mapping[str, int] = attrs.field(hash=False)


async def read_use(state: State, account: str, limiter: RateLimiter) -> RequestUse:
    """Read how much of the limits of an account is used.

    Args:
        state: Where the processes share the limits; one in memory has those of this process only.
        account: Whose limits: a digest of base URL and key.
        limiter: The limiter of this process, which knows what is admitted.

    Raises:
        StateError: The state cannot be reached.
    """
    now, own = limiter.time(), limiter.windows
    if not state.shared:
        own.advance(now)
        return _use(own, now, {})

    document, clock = await state.get_limits(account)
    log = read(document, AccountLimits(per_second=own.set_per_second, per_hour=own.own_limit))
    # Without a wish this only lets go what is over; the log is not written.
    log.take(Take(process=""), clock)
    hour = log.time - log.limits.hour
    return _use(log.windows, log.time, {name: rows.since(hour) for name, rows in log.processes.items() if name})


def _use(windows: SlidingWindows, now: float, processes: Mapping[str, int]) -> RequestUse:
    return RequestUse(
        per_hour=windows.per_hour,
        hour=windows.used,
        foreign=windows.foreign_usage.count,
        per_second=windows.per_second,
        second=windows.in_second(now),
        processes=processes,
    )
