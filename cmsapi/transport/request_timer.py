"""End requests that take too long, with one timer for all of them."""

from __future__ import annotations

import asyncio

# A timer of uvloop counts whole milliseconds and may ring that much early.
_TICK = 0.001


class RequestTimer:
    """End the scopes of requests when their time is over.

    All requests have the same time, so the first that began is the first to end. A timer for each of them would cost
    more than all else that the SDK does to keep time.

    Args:
        seconds: Time of each request.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        # When each scope ends, in the order in which they began.
        self._ends: dict[asyncio.Timeout, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def enter(self, scope: asyncio.Timeout) -> None:
        """Note that a request has begun in a scope of its own, which has no time."""
        loop = asyncio.get_running_loop()
        self._ends[scope] = ends_at = loop.time() + self._seconds
        if self._timer is None:
            self._timer = loop.call_at(ends_at, self._ring, loop)

    def leave(self, scope: asyncio.Timeout) -> None:
        """Note that a request is over."""
        self._ends.pop(scope, None)

    def _ring(self, loop: asyncio.AbstractEventLoop) -> None:
        """End the scopes whose time is over, and wait for the next one."""
        self._timer = None
        while self._ends:
            scope, ends_at = next(iter(self._ends.items()))
            if ends_at > loop.time() + _TICK:
                self._timer = loop.call_at(ends_at, self._ring, loop)
                return
            del self._ends[scope]
            scope.reschedule(ends_at)
