"""One poller for all jobs of a client: a heap of due times and one task that owns every look.

The task lives while somebody waits for something and ends when nobody does, so that a client without waiting jobs
costs nothing and leaves nothing behind. It owns its task group: a group must be entered and left by one task, which a
notebook cell or a fixture cannot promise.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.abc

from cmsapi.jobs.job import Job


class Poller:
    """Call `look` for each job when it is due.

    Args:
        look: Looks at a job once. It must not raise.
        failed: Told of a failure of the poller itself, which would otherwise leave waiters hanging.
    """

    def __init__(self, look: Callable[[Job[Any]], Awaitable[None]], failed: Callable[[Exception], None]) -> None:
        self._look = look
        self._failed = failed
        self._heap: list[tuple[float, int, Job[Any]]] = []
        self._order = itertools.count()
        self._changed: asyncio.Event | None = None
        self._looking = 0
        self._owner: asyncio.Task[None] | None = None

    def schedule(self, job: Job[Any], due: float) -> None:
        """Look at a job at a loop time, and no longer at the one set before."""
        job._due = due
        heapq.heappush(self._heap, (due, next(self._order), job))
        if self._owner is None or self._owner.done():
            self._changed = asyncio.Event()
            self._owner = asyncio.create_task(self._run(self._changed), name="cmsapi poller")
        self._wake()

    def drop(self, job: Job[Any]) -> None:
        """Do not look at a job any more; a look under way is finished."""
        job._due = None
        self._wake()

    async def aclose(self) -> None:
        """Stop looking, and wait until all looks have stopped."""
        owner, self._owner = self._owner, None
        self._heap.clear()
        if owner is not None:
            owner.cancel()
            await asyncio.gather(owner, return_exceptions=True)

    async def _run(self, changed: asyncio.Event) -> None:
        try:
            async with anyio.create_task_group() as looks:
                await self._serve(looks, changed)
        except Exception as error:
            self._failed(error)

    async def _serve(self, looks: anyio.abc.TaskGroup, changed: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()
        while self._forget_stale() or self._looking:
            changed.clear()
            due = self._heap[0][0] if self._heap else None
            if due is None or due > loop.time():
                with anyio.move_on_after(None if due is None else due - loop.time()):
                    await changed.wait()
                continue
            _, _, job = heapq.heappop(self._heap)
            job._due = None
            self._looking += 1
            looks.start_soon(self._look_once, job)

    def _forget_stale(self) -> bool:
        heap = self._heap
        while heap and heap[0][2]._due != heap[0][0]:
            heapq.heappop(heap)
        return bool(heap)

    async def _look_once(self, job: Job[Any]) -> None:
        try:
            await self._look(job)
        finally:
            self._looking -= 1
            self._wake()

    def _wake(self) -> None:
        if self._changed is not None:
            self._changed.set()
