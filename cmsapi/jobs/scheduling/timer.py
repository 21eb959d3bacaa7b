"""One timer for the earliest moment at which there is something to do."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable


class Timer:
    """Call a function at a moment that may change with everything that happens until then.

    Args:
        next_moment: Returns the loop time of the next call, infinity for none.
        call: The function; it gets the time for which the timer was set, or a later one.
    """

    def __init__(self, next_moment: Callable[[], float], call: Callable[[float], None]) -> None:
        self._next_moment = next_moment
        self._call = call
        self._timer: asyncio.TimerHandle | None = None
        # Kept beside the timer: a handle of another loop than asyncio's may not tell when it is due.
        self._due_at = math.inf
        self._unset = False

    def reset(self) -> None:
        """Have the timer set before the loop waits again: however much changes until then, once is enough."""
        if not self._unset:
            self._unset = True
            asyncio.get_running_loop().call_soon(self._set)

    def _set(self) -> None:
        self._unset = False
        when = self._next_moment()
        if self._timer is not None:
            if self._due_at == when:
                return
            self._timer.cancel()
        self._due_at = when
        self._timer = None if when == math.inf else asyncio.get_running_loop().call_at(when, self._fire)

    def _fire(self) -> None:
        # A loop may call a little early, by the resolution of its clock. What is due then is done then, because the
        # timer would be set for the same moment, and fire again at once.
        now = asyncio.get_running_loop().time()
        if self._timer is not None:
            now = max(now, self._due_at)
        self._timer = None
        try:
            self._call(now)
        finally:
            self.reset()
