"""Remember when requests settled, for as long as that matters: one log serves both windows."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from operator import sub

SECOND = 1.0
# An hour of the service, and what two clocks may differ by in it.
HOUR = 3602.0
# So many different times are kept apart in a log that is written down: some four kilobytes.
LONGEST_LOG = 512


class RequestLog:
    """Keep the times at which requests settled, in order. Indices count all that ever did.

    Args:
        size: How many times are kept; as many as a window admits.
    """

    def __init__(self, size: int) -> None:
        # How many have settled, how many of them have left the second, how many the hour.
        self.total: int = 0
        self.left_second: int = 0
        self.left_hour: int = 0
        self._size = size
        self._ring = array("d", bytes(8 * size))

    def __len__(self) -> int:
        """How many have settled."""
        return self.total

    def __getitem__(self, index: int) -> float:
        """Return when one of those settled that are kept."""
        return self._ring[index % self._size]

    def add(self, at: float) -> None:
        """Note that one more has settled, not before any other."""
        self._ring[self.total % self._size] = at
        self.total += 1

    def age(self, now: float) -> None:
        """Let those go that have left a window."""
        ring, size, total = self._ring, self._size, self.total
        first = self.left_second
        while first < total and ring[first % size] + SECOND <= now:
            first += 1
        self.left_second = first
        first = self.left_hour
        while first < total and ring[first % size] + HOUR <= now:
            first += 1
        self.left_hour = first

    def before(self, at: float) -> int:
        """Return how many settled at a time or before, all told; those that have left the hour are among them."""
        return bisect_right(self, at, self.left_hour, self.total)

    def leaves_second(self) -> float:
        """Return when the next one leaves the second, infinity when none is in it."""
        return self[self.left_second] + SECOND if self.left_second < self.total else math.inf

    def leaves_hour(self, count: int = 1) -> float:
        """Return when so many will have left the hour, infinity when fewer are in it."""
        index = self.left_hour + count - 1
        if count <= 0:
            return -math.inf
        return self[index] + HOUR if index < self.total else math.inf

    def grow(self, size: int) -> None:
        """Keep more times from now on."""
        old, had = self._ring, self._size
        if size <= had:
            return
        self._size = size
        self._ring = array("d", bytes(8 * size))
        forgotten = max(0, self.total - size)
        for index in range(forgotten, self.total):
            # What the old ring has forgotten is taken to be as young as the oldest that it remembers.
            self._ring[index % size] = old[max(index, self.total - had) % had]
        self.left_second = max(self.left_second, forgotten)
        self.left_hour = max(self.left_hour, forgotten)


class SlottedLog:
    """Count how many requests settled when, in a value that stays small however many they are.

    Times are whole milliseconds, rounded up. Once there are more than `LONGEST_LOG` different times, requests that have
    left the second are counted in slots, each at the time of its last request. So a request may leave the hour later
    than it could, by one slot at the most, and never sooner.

    Args:
        flat: As `flat` returned it: the first time, its count, and then for each later time its distance and count.

    Raises:
        ValueError: It is none.
    """

    def __init__(self, flat: Sequence[int] = ()) -> None:
        self._times = list(accumulate(flat[::2]))
        self._counts = list(flat[1::2])
        if len(flat) % 2 or min(flat, default=0) < 0 or min(self._counts, default=1) < 1:
            raise ValueError("a log has a count of at least 1 for each of its times, in order")
        self.total: int = sum(self._counts)
        # How many settled up to each time; made when it is needed, empty when it is out of date.
        self._sums: list[int] = []

    def flat(self) -> list[int]:
        """Return the log as one list of integers."""
        flat = [0] * (2 * len(self._times))
        flat[::2] = map(sub, self._times, [0, *self._times])
        flat[1::2] = self._counts
        return flat

    def add(self, at: float, count: int = 1) -> None:
        """Note that so many have settled, not before any other."""
        moment = math.ceil(at * 1000)
        if not self._times or moment > self._times[-1]:
            self._times.append(moment)
            self._counts.append(0)
        self._counts[-1] += count
        self.total += count
        self._sums = []

    def drop(self, until: float) -> int:
        """Forget those up to a time, and return how many they were."""
        first = bisect_right(self._times, until * 1000)
        gone = sum(self._counts[:first])
        del self._times[:first], self._counts[:first]
        self.total -= gone
        self._sums = []
        return gone

    def merge(self, before: float, slot: float) -> None:
        """Count those before a time in slots, if the log has grown long.

        Args:
            before: The time.
            slot: Length of a slot in seconds.
        """
        old = bisect_right(self._times, before * 1000)
        if len(self._times) <= LONGEST_LOG:
            return
        merged: dict[float, tuple[int, int]] = {}
        for at, count in zip(self._times[:old], self._counts[:old], strict=True):
            number = at // (slot * 1000)
            merged[number] = at, merged.get(number, (at, 0))[1] + count
        self._times[:old] = [at for at, _ in merged.values()]
        self._counts[:old] = [count for _, count in merged.values()]
        self._sums = []

    def after(self, at: float) -> int:
        """Return how many settled after a time."""
        return sum(self._counts[bisect_right(self._times, at * 1000) :])

    def oldest(self, index: int = 0) -> float:
        """Return the time of the oldest but `index`, infinity when there are not so many."""
        self._sums = self._sums or list(accumulate(self._counts))
        place = bisect_right(self._sums, index)
        return self._times[place] / 1000 if place < len(self._times) else math.inf

    def newest(self, index: int = 0) -> float:
        """Return the time of the newest but `index`, minus infinity when there are not so many."""
        return self.oldest(self.total - 1 - index) if 0 <= index < self.total else -math.inf
