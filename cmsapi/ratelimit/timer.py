"""One timer that can be set again."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable


class Timer:
    """Call a function with the time at one time of a loop; setting another time replaces it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, call: Callable[[float], None]) -> None:
        self._loop = loop
        self._call = call
        self._handle: asyncio.Handle | None = None
        # A handle of uvloop for a time that is past has no `when`.
        self._when = math.inf

    def set(self, when: float) -> None:
        """Call at this time, infinity for never."""
        if self._handle is not None:
            if self._when == when:
                return
            self._handle.cancel()
            self._handle = None
        if when != math.inf:
            self._when, self._handle = when, self._loop.call_at(when, self._ring)

    def _ring(self) -> None:
        self._handle = None
        self._call(self._loop.time())
