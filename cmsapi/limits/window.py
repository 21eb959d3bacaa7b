"""A sliding window whose limit holds at the service, whatever the latency.

A token bucket that refills at a steady rate admits almost twice its size within one window. Here a token is out from
before the first byte of a request can leave until one window after its answer. The service counts the request between
its first byte and its answer. Thus all requests that it counts in one window have their tokens out at the end of that
window, and there are never more of them than the limit.
"""

from __future__ import annotations

import bisect
import math
from collections import deque


class Window:
    """At most ``limit`` requests in any ``seconds``. Times are those of the event loop.

    Attributes:
        limit: Requests in a window.
        seconds: Length of the window.
        in_flight: Requests that may have left and have no answer yet; the limiter increases it.
    """

    def __init__(self, limit: int, seconds: float) -> None:
        self.limit: int = limit
        self.seconds: float = seconds
        self.in_flight: int = 0
        self._returns: deque[float] = deque()  # when the tokens of finished requests are back, ascending

    def free(self, now: float) -> int:
        """Return the number of tokens that are not out."""
        returns = self._returns
        while returns and returns[0] <= now:
            returns.popleft()
        return self.limit - self.in_flight - len(returns)

    @property
    def answered_count(self) -> int:
        """Number of finished requests whose tokens are still out. Expired tokens are removed only by `free`."""
        return len(self._returns)

    def answered(self, now: float) -> None:
        """Account for the end of a request, with or without an answer: its token is back one window later."""
        self.in_flight -= 1
        self._returns.append(now + self.seconds)

    def returning(self, now: float, ahead: float) -> int:
        """Return how many tokens come back within ``ahead`` seconds, besides those that are free."""
        return bisect.bisect_right(self._returns, now + ahead)

    def free_at(self, count: int, now: float) -> float:
        """Return the earliest time at which a number of tokens can be free; infinity if that depends on answers."""
        missing = count - self.free(now)
        if missing <= 0:
            return now
        return self._returns[missing - 1] if missing <= len(self._returns) else math.inf
