"""Let launches wait until their jobs fit: 320 results in five minutes beat 500 launched jobs of which none can be read.

A job is admitted when its whole life, from its launch to its result, fits into what is left of the hour besides the
lives of those that run already.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable, Mapping, Sized

import attrs

from cmsapi.jobs.tracked import LoadKey

# What a job of a kind that is not known yet is taken to need: a launch, a poll, and a result to be read.
_UNKNOWN_LIFE = 3.1


@attrs.define(eq=False)
class LaunchQueue:
    """Hold what a fan-out has still to launch.

    Args:
        waiting: Jobs to be launched, as far as that is known.
        slots: Jobs that may run at a time; infinity when admission decides.
        gated: Whether admission decides.
        strict: Whether polls of its jobs cannot become rarer, so that they may take much more than others.
        key: What kind they are of; None until the first one is launched.
        launching: Jobs that are being launched.
        exhausted: Whether none will be admitted any more.
    """

    waiting: int
    slots: float
    gated: bool
    strict: bool = False
    key: LoadKey | None = None
    launching: int = 0
    exhausted: bool = False


class Admission:
    """Admit launches of one account in turn.

    Args:
        wake: Has `serve` called soon.
        scheduled: The jobs that run.
    """

    def __init__(self, wake: Callable[[], None], scheduled: Sized) -> None:
        self._wake = wake
        self._scheduled = scheduled
        #: What is still to be launched.
        self.launch_queues: list[LaunchQueue] = []
        #: The launches that wait, in turn.
        self.waiting: deque[tuple[asyncio.Future[None], LaunchQueue]] = deque()
        self._lives: Mapping[LoadKey, float] = {}
        self._spare = -math.inf

    def close(self, launch_queue: LaunchQueue) -> None:
        """Forget what will not be launched any more."""
        if launch_queue in self.launch_queues:
            self.launch_queues.remove(launch_queue)
            self._wake()

    async def admit(self, launch_queue: LaunchQueue) -> None:
        """Wait until one more job fits; `launched` is to be called when its launch has ended."""
        if launch_queue not in self.launch_queues:
            self.launch_queues.append(launch_queue)
            # What an old plan had left may have been used since.
            self._spare = -math.inf
        if not launch_queue.gated or (not self.waiting and self._fits(launch_queue)):
            self._take(launch_queue)
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (waiter, launch_queue)
        self.waiting.append(entry)
        self._wake()
        try:
            await waiter
        except asyncio.CancelledError:
            if entry in self.waiting:
                self.waiting.remove(entry)
            elif not waiter.cancelled():
                launch_queue.waiting += 1
                launch_queue.launching -= 1
            # Another launch may fit now.
            self._wake()
            raise

    def launched(self, launch_queue: LaunchQueue, key: LoadKey | None) -> None:
        """Note that a launch has ended, with a job or without.

        Args:
            launch_queue: Where it came from.
            key: What kind of job it was, if it was one.
        """
        launch_queue.launching -= 1
        if launch_queue.exhausted and not launch_queue.launching and launch_queue in self.launch_queues:
            self.launch_queues.remove(launch_queue)
        if key is None or launch_queue.key != key:
            launch_queue.key = key or launch_queue.key
            self._wake()

    def serve(self, spare: float, lives: Mapping[LoadKey, float]) -> None:
        """Admit what fits.

        Args:
            spare: Requests that the jobs that run and that are being launched leave.
            lives: Requests that one more job of each load takes.
        """
        self._lives = lives
        # Of what kind these are is not known yet, so that they are not among what runs.
        unknown = sum(launch_queue.launching for launch_queue in self.launch_queues if launch_queue.key is None)
        self._spare = spare - unknown * _UNKNOWN_LIFE
        while self.waiting and self._fits(self.waiting[0][1]):
            waiter, launch_queue = self.waiting.popleft()
            if not waiter.done():
                self._take(launch_queue)
                waiter.set_result(None)

    def _life(self, launch_queue: LaunchQueue) -> float:
        return self._lives.get(launch_queue.key, _UNKNOWN_LIFE) if launch_queue.key is not None else _UNKNOWN_LIFE

    def _fits(self, launch_queue: LaunchQueue) -> bool:
        if not self._scheduled and not any(other.launching for other in self.launch_queues):
            # There is nothing to wait for but the limits, which the launch waits for itself.
            return True
        if launch_queue.strict and launch_queue.key is None and launch_queue.launching:
            # The first one shows of what kind they are, and so what they take.
            return False
        return self._spare >= self._life(launch_queue)

    def _take(self, launch_queue: LaunchQueue) -> None:
        self._spare -= self._life(launch_queue)
        launch_queue.waiting -= 1
        launch_queue.launching += 1
