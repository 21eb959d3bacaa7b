"""Remember when requests settled, for as long as that matters: one log serves both windows."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections.abc import Iterable

SECOND = 1.0
# An hour of the service, and what two clocks may differ by in it.
HOUR = 3602.0
# When one in so many of its times has left the hour, a log deletes them.
_PART_GONE = 8


class RequestLog:
    """Keep the times at which requests settled, in order, until they leave the hour; `left` counts those that have."""

    def __init__(
        self, times: Iterable[float] = (), left: int = 0, *, second: float = SECOND, hour: float = HOUR
    ) -> None:
        self.fill(array("d", times), left)
        #: How many of the times are not in the second any more.
        self.before_second: int = 0
        #: When one leaves a window, infinity when none is in any.
        self.changes_at: float = -math.inf
        self.second: float = second
        self.hour: float = hour

    def fill(self, times: array[float], left: int = 0) -> None:
        """Begin with these times, and so many that have left the hour."""
        self._times = times
        # So many at the front have left the hour. They are deleted many at a time: each deletion moves all the others.
        self._gone = 0
        self.left: int = left
        #: How many have settled, all told.
        self.total: int = left + len(times)

    @property
    def times(self) -> array[float]:
        """The times of those in the hour; a copy."""
        return self._times[self._gone :]

    def __len__(self) -> int:
        """Return how many are in the hour."""
        return self.total - self.left

    def add(self, at: float) -> None:
        """Note that one more has settled; it counts from the time of the newest if that is later."""
        times = self._times
        if times and at < times[-1]:
            at = times[-1]
        times.append(at)
        self.total += 1
        if at + self.second < self.changes_at:
            self.changes_at = at + self.second

    def age(self, now: float) -> None:
        """Let those go that have left a window."""
        if now < self.changes_at:
            return
        times, second, hour = self._times, self.second, self.hour
        gone = bisect_right(times, now, lo=self._gone, key=lambda at: at + hour)
        self.left += gone - self._gone
        if gone * _PART_GONE > len(times):
            del times[:gone]
            gone = 0
        self._gone = gone
        self.before_second = bisect_right(times, now, lo=gone, key=lambda at: at + second) - gone
        self.changes_at = min(self.leaves_second(), self.leaves_hour())

    def before(self, at: float) -> int:
        """Return how many settled at a time or before, all told; those that have left the hour are among them."""
        return self.left + bisect_right(self._times, at, lo=self._gone) - self._gone

    def leaves_second(self) -> float:
        """Return when the next one leaves the second, infinity when none is in it."""
        times, first = self._times, self._gone + self.before_second
        return times[first] + self.second if first < len(times) else math.inf

    def leaves_hour(self, count: int = 1) -> float:
        """Return when so many will have left the hour, infinity when fewer are in it."""
        if count <= 0:
            return -math.inf
        return self._times[self._gone + count - 1] + self.hour if count <= len(self) else math.inf
