"""The two rate limits of a key: exact sliding windows over the arrivals (specification, section 8).

At most `per_second` arrivals in any second and `per_hour` in any hour. One log of admitted arrivals answers both
questions: the hour is full when the log is, the second is full when the arrival `per_second` places back is younger
than a second. Nothing is scanned.
"""

from __future__ import annotations

import itertools
import math
from collections import deque

import attrs

SECOND = 1.0
HOUR = 3600.0
UNLIMITED = 10**9


@attrs.frozen
class Limits:
    """Set the two rate limits of every API key (specification, section 8).

    Args:
        per_second: Requests admitted in any second.
        per_hour: Requests admitted in any 3,600 seconds.
    """

    per_second: int = attrs.field(default=20, validator=attrs.validators.ge(1))
    per_hour: int = attrs.field(default=1000, validator=attrs.validators.ge(1))

    @classmethod
    def unlimited(cls) -> Limits:
        """Admit everything. The headers then show a limit of a thousand million."""
        return cls(per_second=UNLIMITED, per_hour=UNLIMITED)


class SlidingWindow:
    """Keep the arrivals of one API key.

    Args:
        limits: The limits to hold.
    """

    __slots__ = ("_log", "limits")

    def __init__(self, limits: Limits) -> None:
        self.limits: Limits = limits
        # Without an hourly limit the log need not reach back further than the burst.
        shortest = limits.per_second if limits.per_hour >= UNLIMITED else None
        self._log: deque[float] = deque(maxlen=0 if shortest is not None and shortest >= UNLIMITED else shortest)

    def wait(self, at: float) -> float:
        """Return the seconds until an arrival is admitted: 0 when it is admitted now."""
        log, limits = self._log, self.limits
        self._expire(at)
        wait = 0.0
        if len(log) >= limits.per_hour:
            wait = log[-limits.per_hour] + HOUR - at
        if len(log) >= limits.per_second and log[-limits.per_second] + SECOND > at:
            wait = max(wait, log[-limits.per_second] + SECOND - at)
        return wait

    def add(self, at: float) -> None:
        """Count an arrival."""
        self._log.append(at)

    def remove_last(self) -> None:
        """Take back the last arrival."""
        if self._log:
            self._log.pop()

    def used(self, at: float) -> tuple[int, int]:
        """Return how many arrivals count against the second and against the hour; 0 where there is no limit."""
        self._expire(at)
        second = sum(1 for _ in itertools.takewhile(lambda arrival: arrival + SECOND > at, reversed(self._log)))
        return second, len(self._log) if self.limits.per_hour < UNLIMITED else 0

    def headers(self, at: float) -> dict[str, str]:
        """Describe the hour: its limit, what remains, seconds until the oldest request leaves (section 8, rule 2)."""
        self._expire(at)
        log, limit = self._log, self.limits.per_hour
        return {
            "X-RateLimit-Limit": str(limit),
            "X-RateLimit-Remaining": str(max(0, limit - len(log))),
            "X-RateLimit-Reset": str(math.ceil(log[0] + HOUR - at) if log else 0),
        }

    def _expire(self, at: float) -> None:
        log = self._log
        while log and log[0] + HOUR <= at:
            log.popleft()


def retry_after(wait: float) -> int:
    """Round a wait up to whole seconds, at least one, so that a retry then is admitted."""
    return max(1, math.ceil(wait))
