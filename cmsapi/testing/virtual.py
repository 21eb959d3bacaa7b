"""Let waits of the blocking client take no time, for tests with `virtual_time`."""

from __future__ import annotations

import asyncio
import selectors

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


class VirtualLoop(asyncio.SelectorEventLoop):
    """Run the event loop of a blocking client in virtual time, in place of `LoopThread.new_loop`.

    Args:
        thread: The thread of the loop.
    """

    def __init__(self, thread: LoopThread) -> None:
        self._skipping = _Skipping(thread)
        super().__init__(self._skipping)

    def time(self) -> float:
        """Return the time of the loop: real time and the waits that were skipped."""
        return super().time() + self._skipping.skipped
