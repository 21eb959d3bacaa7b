"""Decide when a request that was given up can no longer arrive, and whether the network has fallen silent.

Most likely it died with its connection, or had arrived long ago. But a network that was interrupted delivers late what
it held. So a request that was given up lands `IN_FLIGHT_CAP` after the network has shown life: after the first answer
to a request that left later than the giving up. Without such an answer it lands `LOST_FOR_GOOD` after the giving up.

There is *silence* when something is out and nothing has been answered for `QUIET`. *Overdue* is then what was given up
so long ago that its permit would be back if the network lived.
"""

from __future__ import annotations

import math
from bisect import bisect_right

from cmsapi.ratelimit.request_log import SECOND

# Shorter than the second after which the last permit of an answered request is back: a silence finds some of them left.
QUIET = 0.5
IN_FLIGHT_CAP = 2.0
# Systems stop trying to deliver within this time.
LOST_FOR_GOOD = 120.0
# Landed by the cap, and out of the second.
_OVERDUE = IN_FLIGHT_CAP + SECOND


class UnansweredRequests:
    """Keep the requests that were given up until they land."""

    def __init__(self) -> None:
        # When those were given up after which no answer has come, and when the others land; both in order.
        self.given_up: list[float] = []
        self.landing_at: list[float] = []
        # From when on there is silence, unless an answer comes before.
        self.silent_from: float = math.inf

    def note_answer(self, taken_at: float, now: float) -> None:
        """Note an answer: what was given up before the permit of its request was taken lands soon."""
        before = bisect_right(self.given_up, taken_at)
        del self.given_up[:before]
        self.landing_at += [now + IN_FLIGHT_CAP] * before

    def land(self, now: float) -> list[float]:
        """Let go of those that have landed by now, and return when each did, in order."""
        soon = bisect_right(self.landing_at, now)
        for_good = bisect_right(self.given_up, now, key=lambda at: at + LOST_FOR_GOOD)
        landed = self.landing_at[:soon] + [at + LOST_FOR_GOOD for at in self.given_up[:for_good]]
        del self.landing_at[:soon], self.given_up[:for_good]
        return sorted(landed)

    def overdue(self, now: float) -> int:
        """Return how many are overdue; none unless there is silence."""
        return self._late(now) if now >= self.silent_from else 0

    def next_change(self, now: float) -> float:
        """Return when one may land or become overdue, infinity when only an answer can change something."""
        moments = self.landing_at[:1]
        if self.given_up:
            late = self._late(now)
            moments += [at + _OVERDUE for at in self.given_up[late : late + 1]]
            moments += [self.silent_from, self.given_up[0] + LOST_FOR_GOOD]
        return min((moment for moment in moments if moment > now), default=math.inf)

    def _late(self, now: float) -> int:
        return bisect_right(self.given_up, now, key=lambda at: at + _OVERDUE)
