"""Ways to wait for many jobs at once: a task each, and this package.

Polling a job costs the service a request and the client what `overhead` shows. Here a poll of the others is a number
that grows by one, and so is it where only the schedule is measured.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Collection
from typing import Any

import anyio
import anyio.lowlevel

import cmsapi
from cmsapi.api.model import Model
from cmsapi.config import PollPolicy
from cmsapi.jobs.kinds.kind import JobHistory, JobKind
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.jobs.scheduling.scheduler import Scheduler
from cmsapi.jobs.timing import Listing
from cmsapi.jobs.tracked import PollSettings, TrackedJob
from cmsapi.observability.hooks import Hooks
from cmsapi.ratelimit.limiter import RateLimiter
from cmsapi.ratelimit.sliding_windows import SlidingWindows

SHORTEST, LONGEST = 5.0, 10.0
# No job takes as long, but each wait needs a limit.
_PATIENCE = 3600.0
_IDS = tuple(f"kw_{number:016x}" for number in range(100_000))


async def _cancel(tasks: Collection[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    # What is cancelled wakes in the next round of the loop and is over in the one after it.
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert all(task.done() for task in tasks)


class Bare:
    """Have a task await each of as many futures, and poll nothing: what the awaiters alone take."""

    def __init__(self) -> None:
        self.polls = 0
        self._tasks: list[asyncio.Task[None]] = []

    async def begin(self, jobs: int) -> None:
        """Begin to wait for so many futures."""
        self._tasks = [asyncio.create_task(self._wait()) for _ in range(jobs)]
        await asyncio.sleep(0)

    async def end(self) -> None:
        """Stop waiting."""
        await _cancel(self._tasks)

    async def _wait(self) -> None:
        await asyncio.get_running_loop().create_future()


class Tasks:
    """Have a task poll each job every 5 to 10 s."""

    def __init__(self) -> None:
        self.polls = 0
        self._tasks: list[asyncio.Task[None]] = []

    async def begin(self, jobs: int) -> None:
        """Begin to wait for so many jobs."""
        self._tasks = [asyncio.create_task(self._wait(_IDS[number])) for number in range(jobs)]
        await asyncio.sleep(0)

    async def end(self) -> None:
        """Stop waiting."""
        await _cancel(self._tasks)

    async def _wait(self, job_id: str) -> None:
        await self._poll(job_id)

    async def _poll(self, job_id: str) -> None:
        while True:
            await asyncio.sleep(random.uniform(SHORTEST, LONGEST))
            self.polls += 1


class Scopes(Tasks):
    """The same with anyio, within a limit of time."""

    async def begin(self, jobs: int) -> None:
        """Begin to wait for so many jobs."""
        self._group = anyio.create_task_group()
        await self._group.__aenter__()
        for number in range(jobs):
            self._group.start_soon(self._wait, _IDS[number])
        await anyio.lowlevel.checkpoint()

    async def end(self) -> None:
        """Stop waiting."""
        self._group.cancel_scope.cancel()
        await self._group.__aexit__(None, None, None)

    async def _wait(self, job_id: str) -> None:
        with anyio.fail_after(_PATIENCE):
            await self._poll(job_id)

    async def _poll(self, job_id: str) -> None:
        while True:
            await anyio.sleep(random.uniform(SHORTEST, LONGEST))
            self.polls += 1


class Running:
    """Answer at once that the job is running."""

    def __init__(self) -> None:
        self.polls = 0

    async def send(self, request: cmsapi.Request) -> cmsapi.Response:
        """Answer one poll."""
        self.polls += 1
        keyword_id = request.url.rpartition("/")[2]
        return cmsapi.Response(200, cmsapi.Headers(), b'{"id":"%s","analysisStatus":"PENDING"}' % keyword_id.encode())


class Jobs:
    """Wait for jobs of a client, a task awaiting each; polls go as fast as the service lets them."""

    def __init__(self) -> None:
        self._service = Running()
        self._client = cmsapi.Client("sk_benchmark", base_url="https://api.example.com", transport=self._service)
        self._waiters: list[asyncio.Task[Any]] = []

    @property
    def polls(self) -> int:
        """How many jobs were polled."""
        return self._service.polls

    async def begin(self, jobs: int) -> None:
        """Begin to wait for so many jobs."""
        watch = self._client.jobs.watch
        self._waiters = [asyncio.create_task(watch("keyword_analysis", _IDS[number]).wait()) for number in range(jobs)]
        await asyncio.sleep(0)

    async def end(self) -> None:
        """Stop waiting."""
        await _cancel(self._waiters)


class Schedule:
    """Have the scheduler of this package alone poll jobs every 5 to 10 s, as a service without limits lets it."""

    def __init__(self) -> None:
        self.polls = 0
        self.hooks = Hooks()
        self._scheduler = Scheduler(RateLimiter(SlidingWindows(None, None)), random.Random())
        self._jobs: list[TrackedJob] = []

    async def begin(self, jobs: int) -> None:
        """Begin to poll so many jobs."""
        caller: Any = None
        settings, now = PollSettings(caller, PollPolicy()), asyncio.get_running_loop().time()
        kind = KINDS[JobKind.KEYWORD_ANALYSIS]
        for number in range(jobs):
            job = TrackedJob(kind, _IDS[number], JobHistory(now, fresh=True), settings)
            self._jobs.append(job)
            self._scheduler.add(job, self)

    async def end(self) -> None:
        """Stop polling."""
        for job in self._jobs:
            self._scheduler.drop(job)

    def poll(self, job: TrackedJob, why: str) -> None:
        """Find a job running as soon as it is polled."""
        self.polls += 1
        asyncio.get_running_loop().call_soon(self._scheduler.saw_running, job)

    def read_list(self, listing: Listing, job: TrackedJob) -> None:
        """Refuse to read a page: no list shows these jobs."""
        raise NotImplementedError

    def show(self, job: TrackedJob, document: Model, sent_at: float) -> None:
        """Refuse to show a document: none is read for another reason."""
        raise NotImplementedError


BARE = "an asyncio task that awaits a future each"
TASK, AGAIN, SCOPE = "an asyncio task each", "an asyncio task each, again (A/A)", "an anyio task each, fail_after"
OURS, PACER = "cmsapi, as the service's limits let it", "cmsapi, its schedule alone, without limits"
CONTESTANTS: dict[str, Callable[[], Any]] = {
    TASK: Tasks,
    AGAIN: Tasks,
    SCOPE: Scopes,
    BARE: Bare,
    OURS: Jobs,
    PACER: Schedule,
}
