"""Let waits of the blocking client take no time, for tests with `virtual_time`."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any

from cmsapi.blocking.thread import LoopThread

# Other threads get this much real time, in seconds, before a wait is skipped.
_PAUSE = 0.0005


class _Skipping(selectors.DefaultSelector):
    """Skip the waits of a loop while the user's code waits for the loop; else time passes as it does."""

    def __init__(self, thread: LoopThread) -> None:
        super().__init__()
        self.skipped = 0.0
        self._thread = thread

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout <= _PAUSE or not self._thread.waited_for:
            return super().select(timeout)
        ready = super().select(_PAUSE)
        if not ready:
            self.skipped += timeout - _PAUSE
        return ready


class _VirtualLoop(asyncio.SelectorEventLoop):
    """Count the waits that were skipped as time."""

    def __init__(self, thread: LoopThread) -> None:
        self._skipping = _Skipping(thread)
        super().__init__(self._skipping)

    def time(self) -> float:
        return super().time() + self._skipping.skipped


def run_virtually(thread: LoopThread, main: Coroutine[Any, Any, None]) -> None:
    """Run the loop of a thread in virtual time, in place of `LoopThread.run`.

    Args:
        thread: The thread.
        main: What runs on the loop.
    """
    with asyncio.Runner(loop_factory=lambda: _VirtualLoop(thread)) as runner:
        runner.run(main)
