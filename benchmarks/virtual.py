"""Run coroutines on a loop whose hours take no time.

The clock moves when nothing is left to do, and then straight to the next timer. Every reading also moves it by a
nanosecond: a limiter that finds itself a rounding error short of a token, and asks again at once, would otherwise ask
for ever.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

import looptime

T = TypeVar("T")

# Some limiters take a clock that reads 0 for one that was never set.
START = 1000.0
_READING = 1e-9
# Real seconds with nothing left to wait for, after which a run fails instead of hanging.
_IDLE = 10.0


class PatientLoop(looptime.LoopTimeEventLoop, asyncio.SelectorEventLoop):
    """Follow a virtual clock, and wait for threads in real time when the loop ends."""

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109  asyncio's name
        """Wait for the threads, however much virtual time would go by meanwhile."""
        # Since Python 3.12 threads have 300 s, which are over at once where time is virtual.
        await super().shutdown_default_executor(*([None] if sys.version_info >= (3, 12) else []))


class VirtualLoop(PatientLoop):
    """Follow a virtual clock that never reads the same twice."""

    _read = 0.0

    def time(self) -> float:
        """Return the time of the loop in seconds."""
        self._read += _READING
        return super().time() + self._read


def _loop() -> asyncio.AbstractEventLoop:
    # Cycles without progress are for tests that mix in real time; without them a run is many times as fast.
    return VirtualLoop(start=START, noop_cycles=0, idle_timeout=_IDLE)


def in_virtual_time(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in virtual time and return what it returns."""
    with asyncio.Runner(loop_factory=_loop) as runner:
        return runner.run(main)
