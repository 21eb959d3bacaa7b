"""Follow what others use of the hour with the same key.

The headers of an answer count everybody's requests. What cannot be ours is theirs. While own requests are under way,
the number is only known to lie between two bounds, and the estimate moves no further than the bounds force it to, so
that a sole user of the key is never held back by a phantom.
"""

from __future__ import annotations

import math

from cmsapi.ratelimit.request_log import HOUR


class ForeignUsage:
    """Estimate how many requests of this hour are others'."""

    def __init__(self) -> None:
        self.count: int = 0
        # When the oldest of them leaves the hour, infinity when nobody knows; when the last of them has left.
        self.oldest_leaves: float = math.inf
        self.last_leaves: float = math.inf

    def correct(self, now: float, at_least: int, at_most: int, oldest_leaves: float) -> None:
        """Move the estimate between two bounds, and no further than that takes."""
        self.count = max(0, at_least, min(self.count, at_most))
        self.oldest_leaves, self.last_leaves = oldest_leaves, now + HOUR

    def age(self, now: float) -> None:
        """Let those go that have left the hour: by `Reset` the oldest, by a full hour the rest."""
        if now >= self.last_leaves:
            self.count = 0
        elif now >= self.oldest_leaves:
            self.count -= 1
            self.oldest_leaves = math.inf

    def leaving(self, until: float) -> int:
        """Return how many will have left the hour by then."""
        return self.count if until >= self.last_leaves else min(self.count, int(until >= self.oldest_leaves))
