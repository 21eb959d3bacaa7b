"""Write in the background: one write after the other for each entry, and none is lost when the client closes.

A state that fails for a while must not leave an entry held by a process that lives and no longer works on it: no other
process could ever claim it. So a write that fails is repeated, soon, and before anything else is asked of its entry.
Each write finds out for itself whether there is something left to do.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from cmsapi.errors import LeaseLostError, StateError

logger: logging.Logger = logging.getLogger("cmsapi")

# Seconds after which a write that failed is repeated.
RETRY_AFTER = 10.0


class WriteQueue:
    """Carry out writes in the order in which they were asked for, entry by entry."""

    def __init__(self) -> None:
        self._last: dict[str, asyncio.Task[None]] = {}
        # Those that failed.
        self._failed: dict[str, list[Callable[[], Awaitable[None]]]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    def add(self, key: str, write: Callable[[], Awaitable[None]]) -> None:
        """Write after the earlier writes of the same entry; a write that fails is logged and repeated."""
        self._begin(key, write, logging.WARNING)

    def _begin(self, key: str, write: Callable[[], Awaitable[None]], level: int) -> None:
        before = self._last.get(key)

        async def work() -> None:
            if before is not None and not before.done():
                await asyncio.wait([before])
            try:
                await write()
            except LeaseLostError as error:
                logger.info("%s", error)
            except Exception as error:
                # Whatever went wrong: no code awaits this task, and the entry must not stay held for ever.
                strange = None if isinstance(error, StateError) else error
                message = "Journal unavailable; a write is tried again: %s"
                logger.log(level, message, error, exc_info=strange)
                self._failed.setdefault(key, []).append(write)
                if self._timer is None and not self._closed:
                    self._timer = asyncio.get_running_loop().call_later(RETRY_AFTER, self._repeat_all)

        task = self._last[key] = asyncio.create_task(work())
        task.add_done_callback(lambda done: self._done(key, done))

    def _done(self, key: str, task: asyncio.Task[None]) -> None:
        if self._last.get(key) is task:
            del self._last[key]

    def _repeat_all(self) -> None:
        self._timer = None
        self._repeat(*self._failed)

    def _repeat(self, *keys: str) -> None:
        for key in keys:
            for write in self._failed.pop(key, ()):
                # The failure was logged already.
                self._begin(key, write, logging.DEBUG)

    async def flush(self, key: str) -> None:
        """Wait until all writes of an entry are done, or have failed once more."""
        self._repeat(key)
        while (task := self._last.get(key)) is not None and not task.done():
            await asyncio.wait([task])

    async def flush_all(self) -> None:
        """Wait until all writes are done, or have failed once more."""
        self._repeat(*self._failed)
        # Only what is not done is waited for: an await of finished tasks does not give the loop a turn, so that a loop
        # that asks for anything else may never end.
        while pending := [task for task in self._last.values() if not task.done()]:
            await asyncio.wait(pending)

    async def close(self) -> None:
        """Write everything for the last time."""
        self._closed = True
        await self.flush_all()
        if self._timer is not None:
            self._timer.cancel()
