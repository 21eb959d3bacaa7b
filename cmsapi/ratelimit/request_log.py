"""Remember when requests landed, for as long as that matters: one log serves both windows."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right, insort
from collections.abc import Iterable

SECOND = 1.0
# An hour of the service, and what two clocks may differ by in it.
HOUR = 3602.0
# Seconds for which requests are kept that have left the hour: a slow answer tells what was counted when its request
# arrived, and they may be among that.
AFTER_THE_HOUR = 120.0
# Deleting from the front moves all other times, so a log waits until one in `_PART_GONE` can go.
_PART_GONE = 8


class RequestLog:
    """Keep the times at which requests landed, in order, until they leave the hour; its length is that of the hour."""

    def __init__(self, times: Iterable[float] = (), *, second: float = SECOND, hour: float = HOUR) -> None:
        self.second: float = second
        self.hour: float = hour
        self.fill(times)

    def fill(self, times: Iterable[float]) -> None:
        """Keep these times, which are in order, instead of those so far."""
        self._times = array("d", times)
        # How many at the front have left the hour.
        self._gone = 0

    def __len__(self) -> int:
        """Return how many were in the hour when the log last aged."""
        return len(self._times) - self._gone

    def add(self, at: float) -> None:
        """Note that one more has landed."""
        insort(self._times, at)

    def age(self, now: float) -> None:
        """Let those go that have left the hour."""
        times = self._times
        if not times or times[0] + self.hour > now:
            return
        unneeded = bisect_right(times, now - AFTER_THE_HOUR, key=lambda at: at + self.hour)
        if unneeded * _PART_GONE > len(times):
            del times[:unneeded]
        self._gone = bisect_right(times, now, key=lambda at: at + self.hour)

    def in_second(self, now: float) -> int:
        """Return how many are in the second."""
        return len(self._times) - bisect_right(self._times, now, key=lambda at: at + self.second)

    def between(self, after: float, until: float) -> int:
        """Return how many landed after a time and not after another one."""
        return max(0, bisect_right(self._times, until) - bisect_right(self._times, after))

    def leaving(self, until: float) -> int:
        """Return how many of the hour will have left it by then."""
        return bisect_right(self._times, until, lo=self._gone, key=lambda at: at + self.hour) - self._gone

    def leaves_second(self, now: float) -> float:
        """Return when the next one leaves the second, infinity when none is in it."""
        count = self.in_second(now)
        return self._times[-count] + self.second if count else math.inf

    def leaves_hour(self, count: int = 1) -> float:
        """Return when `count` requests will have left the hour, infinity when fewer are in it."""
        if count <= 0:
            return -math.inf
        return self._times[self._gone + count - 1] + self.hour if count <= len(self) else math.inf
