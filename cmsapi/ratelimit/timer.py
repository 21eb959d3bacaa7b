"""One timer that can be set again."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable

from cmsapi.ratelimit.clock import clock_tick


class Timer:
    """Call a function with the time at one time of the running loop; setting another time replaces it."""

    def __init__(self, call: Callable[[float], None]) -> None:
        self._call = call
        self._handle: asyncio.Handle | None = None
        #: The time, infinity for never. A handle of uvloop for a time that is past has none.
        self.when: float = math.inf

    def set(self, when: float) -> None:
        """Call at this time, infinity for never."""
        if self._handle is not None:
            if self.when == when:
                return
            self._handle.cancel()
            self._handle = None
        self.when = when
        if when != math.inf:
            self._handle = asyncio.get_running_loop().call_at(when, self._ring)

    def _ring(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        if now < self.when and (tick := clock_tick()):
            # A loop calls early by up to a tick; a timer set for the same time again would ring at once until then.
            self._handle = loop.call_at(self.when + tick, self._ring)
            return
        self._handle, self.when = None, math.inf
        self._call(now)
