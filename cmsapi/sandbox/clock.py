"""The service's clock: the event loop's time for intervals, and a calendar for dates.

Durations, limits and faults use ``loop.time()``, and so follow virtual time. The calendar (``Date`` header and
timestamps) is set once, when the sandbox is created, and then advances with the loop, even if ``time.time()`` is
frozen.
"""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from email.utils import formatdate


class Clock:
    """A clock that never runs backwards. It starts at its first use in an event loop.

    Args:
        epoch: Calendar time at the start, without ``skew``, in seconds since 1970; None for the time of creation.
        skew: Seconds added to the calendar.
    """

    def __init__(self, epoch: float | None, skew: float) -> None:
        self.start: float = (time.time() if epoch is None else epoch) + skew
        self._shift = 0.0
        self._zero: float | None = None
        self._last = 0.0

    def now(self) -> float:
        """Return the time in seconds. Outside an event loop, return the same time as the last call."""
        try:
            now = asyncio.get_running_loop().time() + self._shift
        except RuntimeError:
            return self._last
        if self._zero is None:
            self._zero = now
        elif now < self._last:  # another loop, whose clock is behind: continue from the last time
            self._shift += self._last - now
            now = self._last
        self._last = now
        return now

    def elapsed(self, at: float) -> float:
        """Return the seconds from the clock's start to ``at``, a value of `now`; 0 if the clock has not started."""
        return 0.0 if self._zero is None else at - self._zero

    def stamp(self, at: float | None = None) -> str:
        """Return ``at``, by default now, as a timestamp like ``2026-11-28T01:16:00.123Z`` (specification 1, rule 6)."""
        return iso(self.start + self.elapsed(self.now() if at is None else at))

    def date(self) -> str:
        """Return the value of the ``Date`` header for the time that `now` last returned."""
        return formatdate(int(self.start + self.elapsed(self._last)), usegmt=True)


def iso(seconds: float) -> str:
    """Return ``seconds`` since 1970 as a UTC timestamp with milliseconds, ending in ``Z``."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
