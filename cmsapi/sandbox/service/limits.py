"""The two rate limits of a key: exact sliding windows over the arrivals (specification, section 8).

The service admits at most `per_second` arrivals in any second and `per_hour` in any hour. One log of the last hour's
arrivals decides both: the hour is full if the log has `per_hour` entries, and the second is full if the entry
`per_second` places back is younger than a second. No check scans the log.
"""

from __future__ import annotations

import itertools
import math
from collections import deque

import attrs

# Less by a nanosecond: the same moment on two clocks may differ by a rounding error.
SECOND = 1.0 - 1e-9
HOUR = 3600.0 - 1e-9
UNLIMITED = 10**9


@attrs.frozen
class Limits:
    """The two rate limits of each API key (specification, section 8).

    Args:
        per_second: Requests admitted in any second.
        per_hour: Requests admitted in any 3,600 seconds.
    """

    per_second: int = attrs.field(default=20, validator=attrs.validators.ge(1))
    per_hour: int = attrs.field(default=1000, validator=attrs.validators.ge(1))

    @classmethod
    def unlimited(cls) -> Limits:
        """Return limits that admit every request; the headers then show a limit of 1,000,000,000."""
        return cls(per_second=UNLIMITED, per_hour=UNLIMITED)


class SlidingWindow:
    """Count the arrivals of one API key against its limits.

    Args:
        limits: The limits.
    """

    __slots__ = ("_log", "limits")

    def __init__(self, limits: Limits) -> None:
        self.limits: Limits = limits
        # Without an hourly limit the log needs no more entries than the burst.
        shortest = limits.per_second if limits.per_hour >= UNLIMITED else None
        self._log: deque[float] = deque(maxlen=0 if shortest is not None and shortest >= UNLIMITED else shortest)

    def wait(self, at: float) -> float:
        """Return the seconds until an arrival is admitted; 0 means now."""
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
        """Remove the last arrival."""
        if self._log:
            self._log.pop()

    def used(self, at: float) -> tuple[int, int]:
        """Return how many arrivals count against the second and against the hour; 0 without a limit."""
        self._expire(at)
        second = sum(1 for _ in itertools.takewhile(lambda arrival: arrival + SECOND > at, reversed(self._log)))
        return second, len(self._log) if self.limits.per_hour < UNLIMITED else 0

    def headers(self, at: float) -> dict[str, str]:
        """Return the rate headers: hourly limit, remaining requests, seconds until one expires (section 8, rule 2)."""
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
    """Round a wait up to whole seconds, at least one, so that a retry after it is admitted."""
    return max(1, math.ceil(wait))
