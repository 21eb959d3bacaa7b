"""Writes that nobody waits for: one after the other for each entry, and none is lost when the client closes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from cmsapi.errors import LeaseLostError, StateError

logger: logging.Logger = logging.getLogger("cmsapi")


class Writes:
    """Carry out writes in the order in which they were asked for, entry by entry."""

    def __init__(self) -> None:
        self._last: dict[str, asyncio.Task[None]] = {}

    def add(self, key: str, write: Callable[[], Awaitable[None]]) -> None:
        """Write something after what was asked for before of the same entry; a failure is logged."""
        before = self._last.get(key)

        async def work() -> None:
            if before is not None:
                await asyncio.gather(before, return_exceptions=True)
            try:
                await write()
            except LeaseLostError as error:
                logger.info("%s", error)
            except StateError as error:
                logger.warning("the journal of launches could not be written; an entry stays as it was: %s", error)

        task = self._last[key] = asyncio.create_task(work())
        task.add_done_callback(lambda done: self._done(key, done))

    def _done(self, key: str, task: asyncio.Task[None]) -> None:
        if self._last.get(key) is task:
            del self._last[key]

    async def of(self, key: str) -> None:
        """Wait until what was asked for of an entry is written."""
        while (task := self._last.get(key)) is not None:
            await asyncio.gather(task, return_exceptions=True)

    async def all(self) -> None:
        """Wait until everything is written."""
        while self._last:
            await asyncio.gather(*self._last.values(), return_exceptions=True)
