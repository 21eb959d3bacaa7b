"""A sliding window that stays within the service's limit, whatever the latency.

A token bucket that refills at a steady rate admits almost twice its size within one window. Here, a token is taken
before a request is sent, and comes back one window after the response. The service counts the request at some time
between sending and response. Thus each request that the service has counted in the last window still holds a token,
and there are never more tokens than the limit.
"""

from __future__ import annotations

import bisect
import math
from collections import deque


class Window:
    """Sliding window that admits at most ``limit`` requests in any ``seconds`` seconds. Times are event-loop times.

    Attributes:
        limit: Maximum number of requests in the window.
        seconds: Length of the window in seconds.
        in_flight: Number of admitted requests that have not ended; the limiter increases it.
    """

    def __init__(self, limit: int, seconds: float) -> None:
        self.limit: int = limit
        self.seconds: float = seconds
        self.in_flight: int = 0
        self._returns: deque[float] = deque()  # when the tokens of finished requests are back, ascending

    def free(self, now: float) -> int:
        """Return the number of free tokens at the time ``now``, including those that have come back by then."""
        returns = self._returns
        while returns and returns[0] <= now:
            returns.popleft()
        return self.limit - self.in_flight - len(returns)

    @property
    def answered_count(self) -> int:
        """Number of finished requests whose tokens are still taken. Call `free` first to release those that are due."""
        return len(self._returns)

    def answered(self, now: float) -> None:
        """Account for the end of a request, with or without a response; its token comes back one window later."""
        self.in_flight -= 1
        self._returns.append(now + self.seconds)

    def returning(self, now: float, ahead: float) -> int:
        """Return how many tokens come back within ``ahead`` seconds, not counting those that `free` has counted."""
        return bisect.bisect_right(self._returns, now + ahead)

    def free_at(self, count: int, now: float) -> float:
        """Return the earliest time at which ``count`` tokens can be free; infinity if it depends on later responses."""
        missing = count - self.free(now)
        if missing <= 0:
            return now
        return self._returns[missing - 1] if missing <= len(self._returns) else math.inf
