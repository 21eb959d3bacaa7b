"""Remember when requests settled, for as long as that matters: one ring of times serves both windows."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right

SECOND = 1.0
# An hour of the service, and what two clocks may differ by in it.
HOUR = 3602.0


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
