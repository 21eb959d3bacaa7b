"""What is left for polls suffices to see every job through: the scheduler alone with an hour that is nearly spent."""

from __future__ import annotations

import asyncio
import math
import random
from collections import Counter
from collections.abc import Callable

import attrs
import pytest

from cmsapi.api.model import Model
from cmsapi.jobs.kinds.kind import JobHistory
from cmsapi.jobs.planning.budget import kept_for_the_last
from cmsapi.jobs.planning.durations import step_before
from cmsapi.jobs.scheduling.policy import EARLY
from cmsapi.jobs.scheduling.scheduler import Scheduler
from cmsapi.jobs.timing import Listing
from cmsapi.jobs.tracked import TrackedJob
from cmsapi.observability.hooks import Hooks
from cmsapi.ratelimit.limiter import Priority, RateLimiter
from cmsapi.ratelimit.sliding_windows import SlidingWindows
from cmsapi.sandbox import Lognormal, Mixture, Weibull
from tests.support.jobs import tracked_job

pytestmark = pytest.mark.looptime

HOUR, ROUND_TRIP = 3600.0, 0.05
# Polls leave one in a hundred requests of the hour to other calls.
RESERVE = 1.01
DRAWS: dict[str, Callable[[random.Random], float]] = {
    "narrow": Lognormal(60.0, 0.2),
    "usual": Lognormal(120.0, 0.6),
    "wide": Lognormal(90.0, 1.1),
    "weibull": Weibull(150.0, 0.7),
    "two humps": Mixture([(0.5, Lognormal(20.0, 0.1)), (0.5, Lognormal(300.0, 0.1))]),
    "spike and tail": Mixture([(0.9, Lognormal(40.0, 0.1)), (0.1, Lognormal(300.0, 0.8))]),
}


@attrs.define
class Service:
    """Answer the polls of searches that end at known times.

    Args:
        limiter: Where its requests take permits.
        scheduler: Who polls.
        ends: When each job ends.
        in_vain: Polls that found their job running.
        early: Jobs that were polled to show how long the others take.
        read_at: When the last result was read.
        all_read: Set when all results are read.
        hooks: Hear of polls that become rarer.
    """

    limiter: RateLimiter
    scheduler: Scheduler
    ends: dict[TrackedJob, float]
    in_vain: int = 0
    early: set[TrackedJob] = attrs.field(factory=set)
    read_at: float = 0.0
    all_read: asyncio.Event = attrs.field(factory=asyncio.Event)
    hooks: Hooks = attrs.field(factory=Hooks)
    _tasks: set[asyncio.Task[None]] = attrs.field(factory=set)

    def poll(self, job: TrackedJob, why: str) -> None:
        """Begin a poll."""
        if why == EARLY:
            self.early.add(job)
        task = asyncio.get_running_loop().create_task(self._poll(job))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def read_list(self, listing: Listing, job: TrackedJob) -> None:
        """Refuse to read a page: no list shows these jobs."""
        raise NotImplementedError

    def show(self, job: TrackedJob, document: Model, sent_at: float) -> None:
        """Refuse to show a document: none is read for another reason."""
        raise NotImplementedError

    async def _request(self, priority: Priority) -> None:
        permit = await self.limiter.acquire(priority)
        await asyncio.sleep(ROUND_TRIP)
        self.limiter.end(permit, "answered")

    async def _poll(self, job: TrackedJob) -> None:
        await self._request(Priority.POLL)
        if asyncio.get_running_loop().time() < self.ends[job]:
            self.in_vain += 1
            self.scheduler.saw_running(job)
        else:
            self.scheduler.saw_end(job)
            await self._request(Priority.INTERACTIVE)
            del self.ends[job]
            self.read_at = asyncio.get_running_loop().time()
            if not self.ends:
                self.all_read.set()


async def seen_through(
    durations: list[float], believed: list[float], extra: float, *, leaving: int = 0
) -> tuple[float, int]:
    """Poll jobs that were launched together until all results are read.

    Args:
        durations: Seconds that they take.
        believed: Seconds that such jobs took before.
        extra: Requests that the hour has beyond one poll and the result of each.
        leaving: So many of them, alone with a known time of launch, have no waiters any more after five minutes.

    Returns:
        The seconds after the last end until its result was read, and how many polls found a job running.
    """
    loop = asyncio.get_running_loop()
    limiter = RateLimiter(SlidingWindows(20, (2 * len(durations) + extra) * RESERVE))
    scheduler = Scheduler(limiter, random.Random(0))
    service = Service(limiter, scheduler, {})
    begun = loop.time()
    fresh = [not leaving or number < leaving for number in range(len(durations))]
    jobs = [tracked_job(target=str(number), history=JobHistory(begun, fresh=each)) for number, each in enumerate(fresh)]
    kind = jobs[0].kind
    scheduler.policy.durations[kind].learn(Counter((step_before(age), step_before(age) + 1) for age in believed))
    for job, duration in zip(jobs, durations, strict=True):
        service.ends[job] = begun + duration
        scheduler.add(job, service)
    await asyncio.sleep(300.0)
    for job in jobs[:leaving]:
        service.ends.pop(job, None)
        scheduler.drop(job)
    if service.ends:
        async with asyncio.timeout(2.0 * HOUR):
            await service.all_read.wait()
    return service.read_at - begun - max(durations), service.in_vain


async def share_in_time(name: str, runs: int) -> float:
    """Return in which part of the runs no result waited for the hour, where the durations are known and little is left.

    What is left beyond a poll and the result of each job is what a plan keeps for the last ones, or a little more.
    """
    draw, in_time = DRAWS[name], 0
    for seed in range(runs):
        rng = random.Random(f"{name} {seed}")
        count = rng.choice([3, 10, 30, 60, 150])
        extra = kept_for_the_last(8.0, HOUR) + rng.choice([0.0, 2.0, 0.1 * count, 0.3 * count])
        durations, believed = [draw(rng) for _ in range(count)], [draw(rng) for _ in range(600)]
        late, _ = await seen_through(durations, believed, extra)
        in_time += late < HOUR / 3.0
    return in_time / runs


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAWS)
async def test_what_is_kept_sees_every_job_through(name: str) -> None:
    """Nine times of ten what is kept suffices, whatever the durations are like."""
    assert await share_in_time(name, 10) >= 0.9


@pytest.mark.parametrize("count", [30, 150])
async def test_a_pause_of_all_jobs_takes_few_polls(count: int) -> None:
    """When all jobs are ten minutes late together, polls stop after a few in vain, and all results are in time."""
    rng, draw = random.Random(count), DRAWS["usual"]
    durations = [600.0 + draw(rng) for _ in range(count)]
    late, in_vain = await seen_through(durations, [draw(rng) for _ in range(600)], 40.0)
    assert in_vain <= 40
    assert late < 600.0


async def test_polls_go_on_when_no_job_can_tell() -> None:
    """Jobs whose launch was not seen do not wait for what the others show, when these have no waiters any more."""
    late, _ = await seen_through([600.0] * 30, [60.0] * 600, 15.0, leaving=20)
    assert late < HOUR / 3.0


async def test_jobs_beside_one_that_may_be_stuck_are_polled_early() -> None:
    """A job that was launched long before the others does not keep these from showing how long they take."""
    loop = asyncio.get_running_loop()
    scheduler = Scheduler(limiter := RateLimiter(SlidingWindows(20, 300.0)), random.Random(0))
    service = Service(limiter, scheduler, {})

    def launched(name: str) -> TrackedJob:
        job = tracked_job(target=name, history=JobHistory(loop.time(), fresh=True))
        service.ends[job] = math.inf
        scheduler.add(job, service)
        return job

    stuck = launched("stuck")
    await asyncio.sleep(600.0)
    jobs = [launched(str(number)) for number in range(100)]
    await asyncio.sleep(100.0)
    assert len(service.early - {stuck}) >= 5
    for job in [stuck, *jobs]:
        scheduler.drop(job)
