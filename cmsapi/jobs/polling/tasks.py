"""Tasks that belong to a client and not to the callers that wait for them."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from cmsapi.errors import ClientClosedError

T = TypeVar("T")


class BackgroundTasks:
    """Run the tasks of one client.

    Args:
        open_client: Raises when the client must not be used.
    """

    def __init__(self, open_client: Callable[[], object]) -> None:
        self._open_client = open_client
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, coroutine: Coroutine[Any, Any, T], context: contextvars.Context | None = None) -> asyncio.Task[T]:
        """Run a coroutine as a task, by default in a copy of the caller's context.

        Raises:
            ClientClosedError: The client is closed.
        """
        try:
            self._open_client()
        except ClientClosedError:
            coroutine.close()
            raise
        task = asyncio.create_task(coroutine, context=context)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def aclose(self) -> None:
        """Cancel all tasks but the current one, and wait for their ends."""
        # A hook or a launch of a fan-out may be what closes the client.
        tasks = self._tasks - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        if tasks:
            # Unlike `gather`, this is interrupted at once: such a launch is cancelled with its fan-out.
            await asyncio.wait(tasks)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            # Retrieved here, because the callers may all have stopped waiting.
            task.exception()
