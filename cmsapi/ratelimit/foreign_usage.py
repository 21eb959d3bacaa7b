"""Follow how many requests of the hour other programs make with the same key.

The headers of an answer count all requests of the key. Those that cannot be ours are foreign. While own requests are in
flight, the number is only known to lie between two bounds, and the estimate moves no further than the bounds force it
to, so that a sole user of the key is never held back by a phantom.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import attrs

from cmsapi.ratelimit.request_log import HOUR

# Seconds for which an own request is certainly in the service's hour: that hour is a little shorter than ours, the
# moment at which a request arrived is only known to some seconds, and a shared log may round it to a slot of 14 s.
CERTAIN = 3600.0 - 5.0 - 15.0


@attrs.define
class ForeignUsage:
    """Estimate how many requests of this hour are foreign.

    Args:
        count: How many.
        oldest_leaves: When the oldest of them leaves the hour, infinity when that is not known.
        last_leaves: When the last of them has left it.
    """

    count: int = 0
    oldest_leaves: float = math.inf
    last_leaves: float = math.inf

    def correct(
        self, now: float, at_least: int, at_most: int, leaves: float, own_leaves: float, *, hour: float = HOUR
    ) -> None:
        """Move the estimate between two bounds, and no further than that takes.

        Args:
            now: The time.
            at_least: Requests that an answer counts, less all that are ours and may be among those.
            at_most: The same, less only those that certainly are.
            leaves: When the oldest request leaves the hour, as the answer says.
            own_leaves: When the oldest of ours may do so at the soonest; a request that leaves before is foreign.
            hour: Length of the window in seconds.
        """
        self.count = max(0, at_least, min(self.count, at_most))
        self.oldest_leaves = leaves if leaves < own_leaves else math.inf
        self.last_leaves = now + hour

    def age(self, now: float) -> None:
        """Let those go that have left the hour: by `Reset` the oldest, by a full hour the rest."""
        if now >= self.last_leaves:
            self.count = 0
        elif now >= self.oldest_leaves:
            self.count -= 1
            self.oldest_leaves = math.inf

    def shifted(self, later: float) -> ForeignUsage:
        """Return the same by a clock that is `later` seconds ahead."""
        return ForeignUsage(self.count, self.oldest_leaves + later, self.last_leaves + later)

    def leaving(self, until: float) -> int:
        """Return how many will have left the hour by then."""
        return self.count if until >= self.last_leaves else min(self.count, int(until >= self.oldest_leaves))

    def hour_returns(self, count: int, own: Callable[[int], float]) -> float:
        """Return when `count` requests will have left the hour, ours or foreign; infinity when an answer must tell.

        Args:
            count: How many.
            own: Says when a number of ours will have left it.
        """
        when = own(count)
        if self.count:
            when = min(when, max(own(count - 1), self.oldest_leaves))
            when = min(when, max(own(count - self.count), self.last_leaves))
        return when
