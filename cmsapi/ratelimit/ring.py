"""When the requests of an hour settled: what the book of the shared limits looks up."""

from __future__ import annotations

from collections import deque
from typing import Protocol

# Later than anything. A number that every store can write.
NEVER = 1e18


class ContradictionError(Exception):
    """Say that what is stored of the shared limits contradicts itself."""


class Ring(Protocol):
    """Keep the times at which requests settled, in order, as long as they are in the hour.

    A time that must be there and is not, or makes no sense, raises `ContradictionError`.
    """

    def newest(self, back: int) -> float:
        """Return the time of the newest but `back`, minus `NEVER` when there are not so many."""
        ...

    def oldest(self, index: int) -> float:
        """Return the time of the oldest but `index`, `NEVER` when there are not so many."""
        ...

    def append(self, at: float) -> None:
        """Add a time that is not before any other."""
        ...

    def drop(self, until: float) -> int:
        """Forget the times up to a moment, and return how many they were."""
        ...


class MemoryRing:
    """Keep the times in this process."""

    def __init__(self) -> None:
        self._times: deque[float] = deque()

    def newest(self, back: int) -> float:
        """Return the time of the newest but `back`, minus `NEVER` when there are not so many."""
        return self._times[-1 - back] if back < len(self._times) else -NEVER

    def oldest(self, index: int) -> float:
        """Return the time of the oldest but `index`, `NEVER` when there are not so many."""
        return self._times[index] if index < len(self._times) else NEVER

    def append(self, at: float) -> None:
        """Add a time that is not before any other."""
        self._times.append(at)

    def drop(self, until: float) -> int:
        """Forget the times up to a moment, and return how many they were."""
        times, had = self._times, len(self._times)
        while times and times[0] <= until:
            times.popleft()
        return had - len(times)
