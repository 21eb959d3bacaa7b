"""One poller for all jobs of a client: a heap of due times and one timer for the earliest of them.

It is a timer and not a task, so that there is nothing to start too late or to leave behind: a client whose jobs nobody
waits for has no timer, and a moment cannot get lost between the end of one task and the start of the next.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable
from typing import Any

from cmsapi.jobs.job import Job


class Poller:
    """Call `look` for each job when it is due.

    Args:
        look: Begins to look at a job, and does not wait for the end of it.
    """

    def __init__(self, look: Callable[[Job[Any]], object]) -> None:
        self._look = look
        self._heap: list[tuple[float, int, Job[Any]]] = []
        self._order = itertools.count()
        self._timer: asyncio.TimerHandle | None = None

    def schedule(self, job: Job[Any], due: float) -> None:
        """Look at a job at a loop time, and no longer at the one set before."""
        job._due = due
        heapq.heappush(self._heap, (due, next(self._order), job))
        self._wind()

    def drop(self, job: Job[Any]) -> None:
        """Do not look at a job any more; a look under way is finished."""
        job._due = None
        self._wind()

    def _wind(self) -> None:
        """Set the timer to the earliest due time, if it is not."""
        due = self._earliest()
        if self._timer is not None:
            if self._timer.when() == due:
                return
            self._timer.cancel()
        self._timer = None if due is None else asyncio.get_running_loop().call_at(due, self._ring)

    def _ring(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        # A loop may ring early by the resolution of its clock; what is not due then is so in a moment.
        while (due := self._earliest()) is not None and due <= now:
            _, _, job = heapq.heappop(self._heap)
            job._due = None
            self._look(job)
        self._wind()

    def _earliest(self) -> float | None:
        heap = self._heap
        # Entries of jobs that were dropped, or set to another time since.
        while heap and heap[0][2]._due != heap[0][0]:
            heapq.heappop(heap)
        return heap[0][0] if heap else None
