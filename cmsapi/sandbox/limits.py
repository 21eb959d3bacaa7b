"""The two rate limits of an API key (specification 8): exact sliding windows, checked when a request arrives.

An admitted request counts in both windows; a refused one counts in neither. A request leaves a window exactly
1 second or 3,600 seconds after its arrival.
"""

from __future__ import annotations

from collections import deque
from math import ceil

from attrs import field, frozen
from attrs.validators import ge

PER_SECOND = 20  # requests; specification 8
PER_HOUR = 1000  # requests; specification 8
SECOND = 1.0  # seconds of the burst window
HOUR = 3600.0  # seconds of the hourly window


@frozen
class Limits:
    """Rate limits for each API key, and how much of them other programs use.

    Args:
        per_second: Maximum number of requests admitted in any second.
        per_hour: Maximum number of requests admitted in any hour.
        used: Number of requests already counted in the hour before a key's first request.
        colleague: Number of requests per hour that another program sends with the same key, at even intervals.
        used_age: Age of the ``used`` requests at a key's first request, in seconds; None spreads them over the hour.
    """

    per_second: int = field(default=PER_SECOND, validator=ge(1))
    per_hour: int = field(default=PER_HOUR, validator=ge(1))
    used: int = field(default=0, validator=ge(0))
    colleague: int = field(default=0, validator=ge(0))
    used_age: float | None = None


class KeyWindows:
    """The per-second and hourly windows of one API key, created when the key's first request arrives."""

    def __init__(self, limits: Limits, now: float) -> None:
        self._limits = limits
        self._second: deque[float] = deque()
        self._hour: deque[float] = deque()
        if limits.used_age is None:
            self._hour.extend(now - HOUR + HOUR * (number + 1) / (limits.used + 1) for number in range(limits.used))
        else:
            self._hour.extend([now - limits.used_age] * limits.used)
        self._interval = HOUR / limits.colleague if limits.colleague else 0.0
        self._colleague_at = now + self._interval

    def arrive(self, now: float) -> float | None:
        """Count a request and return None if both windows admit it; otherwise, return the seconds to wait."""
        while self._interval and self._colleague_at <= now:
            at, self._colleague_at = self._colleague_at, self._colleague_at + self._interval
            self._admit(at)
        return self._admit(now)

    def headers(self, now: float) -> dict[str, str]:
        """Return the rate-limit headers for a response at the time ``now`` (specification 8, rule 2)."""
        self._forget(now)
        return {
            "x-ratelimit-limit": str(self._limits.per_hour),
            "x-ratelimit-remaining": str(max(0, self._limits.per_hour - len(self._hour))),
            "x-ratelimit-reset": str(ceil(self._hour[0] + HOUR - now) if self._hour else 0),
        }

    def _admit(self, now: float) -> float | None:
        self._forget(now)
        wait = 0.0
        if len(self._second) >= self._limits.per_second:
            wait = self._second[-self._limits.per_second] + SECOND - now
        if len(self._hour) >= self._limits.per_hour:
            wait = max(wait, self._hour[-self._limits.per_hour] + HOUR - now)
        if wait:
            return wait
        self._second.append(now)
        self._hour.append(now)
        return None

    def _forget(self, now: float) -> None:
        while self._second and self._second[0] + SECOND <= now:
            self._second.popleft()
        while self._hour and self._hour[0] + HOUR <= now:
            self._hour.popleft()
