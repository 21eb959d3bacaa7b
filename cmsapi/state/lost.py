"""Say when a request that was given up can no longer arrive.

Most likely it died with its connection, or had arrived long ago. But a network that was interrupted delivers late what
it held. So a request that was given up settles `IN_FLIGHT_CAP` after the network has shown life: after the first answer
to a request that left later than the giving up. Without such an answer it settles `LOST_FOR_GOOD` after the giving up.

While nothing is answered at all, what was given up longer ago than the cap is *overdue*, and there is silence.
"""

from __future__ import annotations

import math
from bisect import bisect_right

IN_FLIGHT_CAP = 2.0
# Systems stop trying to deliver within this time.
LOST_FOR_GOOD = 120.0


class Lost:
    """Keep the requests that were given up until they settle."""

    def __init__(self) -> None:
        # When those were given up after which the network has shown no life; when the others settle.
        self.unvouched: list[float] = []
        self.vouched: list[float] = []
        # When the last answer came.
        self.heard = -math.inf

    def vouch(self, left: float, now: float) -> None:
        """Note an answer to a request that left at a time or later."""
        before = bisect_right(self.unvouched, left)
        del self.unvouched[:before]
        self.vouched += [now + IN_FLIGHT_CAP] * before

    def settle(self, now: float) -> list[float]:
        """Let go of those that have settled by now, and return when each did."""
        vouched = bisect_right(self.vouched, now)
        unvouched = bisect_right(self.unvouched, now, key=lambda at: at + LOST_FOR_GOOD)
        settled = self.vouched[:vouched] + [at + LOST_FOR_GOOD for at in self.unvouched[:unvouched]]
        del self.vouched[:vouched], self.unvouched[:unvouched]
        return settled

    def overdue(self, now: float) -> int:
        """Return how many are overdue; none while anything is answered."""
        return 0 if self.heard + IN_FLIGHT_CAP > now else self._capped(now)

    def next_change(self, now: float) -> float:
        """Return when one may settle or become overdue, infinity when only an answer can change something."""
        moments = self.vouched[:1]
        if self.unvouched:
            capped = self._capped(now)
            moments += [at + IN_FLIGHT_CAP for at in (self.heard, *self.unvouched[capped : capped + 1])]
            moments.append(self.unvouched[0] + LOST_FOR_GOOD)
        return min((moment for moment in moments if moment > now), default=math.inf)

    def _capped(self, now: float) -> int:
        """Return how many were given up longer ago than the cap."""
        return bisect_right(self.unvouched, now, key=lambda at: at + IN_FLIGHT_CAP)
