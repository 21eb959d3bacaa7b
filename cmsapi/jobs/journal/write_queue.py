"""Write in the background: one write after the other for each entry, and none is lost when the client closes.

A state that fails for a while must not leave an entry held by a process that lives and no longer works on it: no other
process could ever claim it. So a write that fails is repeated, soon, and before anything else is asked of its entry.
Each write finds out for itself whether there is something left to do.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from cmsapi.errors import LeaseLostError, StateError

logger: logging.Logger = logging.getLogger("cmsapi")

Write: TypeAlias = Callable[[], Awaitable[None]]

# Seconds after which a write that failed is repeated.
RETRY_AFTER = 10.0


class WriteQueue:
    """Carry out writes in the order in which they were asked for, entry by entry."""

    def __init__(self) -> None:
        self._last: dict[str, asyncio.Task[None]] = {}
        # Those that failed.
        self._failed: dict[str, list[Write]] = {}
        self._timer: asyncio.TimerHandle | None = None
        # Whether an outage was told, of which one warning is enough.
        self._outage_told = False
        self._closed = False

    def add(self, key: str, write: Write) -> None:
        """Write after the earlier writes of the same entry; a write that fails is repeated."""
        before = self._last.get(key)

        async def work() -> None:
            mine = asyncio.current_task()
            if before is not None and not before.done():
                await asyncio.wait([before])
            try:
                await write()
                if self._outage_told and not self._failed:
                    self._outage_told = False
                    logger.warning("The journal can be written again.")
            except LeaseLostError as error:
                logger.info("%s", error)
            except Exception as error:
                # Whatever went wrong: no code awaits this task, and the entry must not stay held for ever.
                strange = None if isinstance(error, StateError) else error
                level = logging.DEBUG if self._outage_told and strange is None else logging.WARNING
                logger.log(
                    level, "Journal unavailable; writes are tried again until it is back: %s", error, exc_info=strange
                )
                self._outage_told = True
                self._failed.setdefault(key, []).append(write)
                if self._timer is None and not self._closed:
                    self._timer = asyncio.get_running_loop().call_later(RETRY_AFTER, self._repeat)
            finally:
                if self._last.get(key) is mine:
                    del self._last[key]

        task = asyncio.create_task(work())
        # An eager task may have ended already.
        if not task.done():
            self._last[key] = task

    def _repeat(self) -> None:
        self._timer = None
        for key in tuple(self._failed):
            self._repeat_writes(key)

    def _repeat_writes(self, key: str) -> None:
        for write in self._failed.pop(key, ()):
            self.add(key, write)

    async def flush(self, *keys: str) -> None:
        """Wait until all writes of some entries, or of all entries, are done or have failed once more."""
        for key in keys or tuple(self._failed):
            self._repeat_writes(key)
        # Only what is not done is waited for: an await of finished tasks does not give the loop a turn, so that a loop
        # that asks for anything else may never end.
        while pending := [self._last[key] for key in keys or self._last if self._is_pending(key)]:
            await asyncio.wait(pending)

    def _is_pending(self, key: str) -> bool:
        return key in self._last and not self._last[key].done()

    async def close(self) -> None:
        """Write everything for the last time."""
        self._closed = True
        await self.flush()
        if self._timer is not None:
            self._timer.cancel()
