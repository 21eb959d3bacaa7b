"""Read how much of the limits all processes of an account use, as the state has it; nothing is taken or written."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from cmsapi.ratelimit.limiter import RateLimiter
from cmsapi.ratelimit.sharing.document import read
from cmsapi.ratelimit.sharing.exchange import AccountLimits
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
        processes: The requests that each process has under way, or may send at once.
    """

    per_hour: float
    hour: int
    foreign: int
    per_second: float
    second: int
    processes: Mapping[str, int] = attrs.field(hash=False)


class _Found(Exception):  # noqa: N818  it reports no error
    """Carry the document of the limits out of a change, which is not made."""

    def __init__(self, document: str | None, clock: float) -> None:
        self.document = document
        self.clock = clock


async def read_use(state: State, account: str, limiter: RateLimiter) -> RequestUse:
    """Read how much of the limits of an account is used.

    Args:
        state: Where the processes share the limits; one in memory has those of this process only.
        account: Whose limits: a digest of base URL and key.
        limiter: The limiter of this process, which knows what is admitted.

    Raises:
        StateError: The state cannot be reached.
    """
    now = limiter.time()
    own, then = limiter.windows.figures(now)
    if not state.shared:
        return _use(own, then, {})

    def look(document: str | None, clock: float) -> tuple[str, None]:
        raise _Found(document, clock)

    try:
        await state.update_limits(account, look)
    except _Found as found:
        limits = AccountLimits(per_second=own.per_second, per_hour=own.own_limit, reserve=own.reserve)
        allocation = read(found.document, limits)
        holders = {name: holder.out for name, holder in allocation.holders.items() if holder.out}
        return _use(allocation.windows, found.clock + allocation.ahead, holders)
    raise RuntimeError("a change that raises was made")


def _use(windows: SlidingWindows, now: float, processes: Mapping[str, int]) -> RequestUse:
    windows.advance(now)
    unsettled = windows.unsettled or sum(processes.values())
    return RequestUse(
        per_hour=windows.per_hour,
        hour=unsettled + len(windows.log) + windows.foreign_usage.count,
        foreign=windows.foreign_usage.count,
        per_second=windows.per_second,
        second=unsettled + len(windows.log) - windows.log.before_second,
        processes=processes,
    )
