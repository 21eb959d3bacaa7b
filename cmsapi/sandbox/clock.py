"""The service's clock: intervals by the event loop, and a calendar that starts at the real time.

Durations, limits and faults use ``loop.time()``, so that they follow virtual time. The calendar (`Date` header,
timestamps) is set once, when the sandbox is created, and then advances with the loop: a frozen ``time.time()`` does
not stop it.
"""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from email.utils import formatdate


class Clock:
    """A clock that never goes back.

    Args:
        epoch: Calendar time of the first request in seconds since 1970; None for the present.
        skew: Seconds by which the service's calendar is ahead of ``epoch``.
    """

    def __init__(self, epoch: float | None, skew: float) -> None:
        self.start: float = (time.time() if epoch is None else epoch) + skew
        self._shift = 0.0
        self._zero: float | None = None
        self._last = 0.0

    def now(self) -> float:
        """Return the loop's time; outside a loop, the time of the last call inside one."""
        try:
            now = asyncio.get_running_loop().time() + self._shift
        except RuntimeError:
            return self._last
        if self._zero is None:
            self._zero = now
        elif now < self._last:  # another loop whose time starts at zero: the service's time continues
            self._shift += self._last - now
            now = self._last
        self._last = now
        return now

    def elapsed(self, at: float) -> float:
        """Return the seconds from the first request to ``at``, a time that `now` returned."""
        return 0.0 if self._zero is None else at - self._zero

    def stamp(self, at: float | None = None) -> str:
        """Return a timestamp such as ``2026-11-28T01:16:00.123Z`` (specification 1, rule 6)."""
        return iso(self.start + self.elapsed(self.now() if at is None else at))

    def date(self) -> str:
        """Return the value of the ``Date`` header."""
        return formatdate(int(self.start + self.elapsed(self._last)), usegmt=True)


def iso(seconds: float) -> str:
    """Return seconds since 1970 as a timestamp in UTC that ends in ``Z``."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
