"""The scheduler alone on a loop."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

import attrs
import pytest

from cmsapi import PollPolicy
from cmsapi.api.model import Model
from cmsapi.jobs.kinds.kind import JobHistory
from cmsapi.jobs.scheduling.scheduler import Scheduler
from cmsapi.jobs.timing import Listing
from cmsapi.jobs.tracked import TrackedJob
from cmsapi.observability.hooks import Hooks
from cmsapi.ratelimit.limiter import RateLimiter
from cmsapi.ratelimit.sliding_windows import SlidingWindows
from tests.support.jobs import tracked_job

pytestmark = pytest.mark.looptime


@attrs.define
class Polls:
    """Poll jobs with a function."""

    begin: Callable[[TrackedJob], None]
    hooks: Hooks = attrs.field(factory=Hooks)

    def poll(self, job: TrackedJob, why: str) -> None:
        """Begin a poll."""
        self.begin(job)

    def read_list(self, listing: Listing, job: TrackedJob) -> None:
        """Refuse to read a page: no test here expects that."""
        raise NotImplementedError

    def show(self, job: TrackedJob, document: Model, sent_at: float) -> None:
        """Refuse to show a document: no test here expects that."""
        raise NotImplementedError


async def test_a_loop_may_fire_a_little_early() -> None:
    """What a timer was set for is done when it fires, even where the clock falls short of it by a trifle."""
    loop = asyncio.get_running_loop()
    limiter_uses = 0

    class AskedLimiter(RateLimiter):
        def waiting(self) -> list[int]:
            nonlocal limiter_uses
            limiter_uses += 1
            if limiter_uses > 100:
                raise RuntimeError("the timer is set for the same moment again and again, and time stands still")
            return super().waiting()

    scheduler = Scheduler(AskedLimiter(SlidingWindows(None, None)), random.Random())
    polled_at, began = [], loop.time()

    def poll(job: TrackedJob) -> None:
        polled_at.append(loop.time())
        loop.call_soon(scheduler.saw_running, job)

    # The clock of the loop moves in steps of a microsecond, and a timer within a nanosecond of it fires.
    policy = PollPolicy(min_interval=5.0000000002, max_interval=10.0)
    job = tracked_job(policy=policy, history=JobHistory(began))
    scheduler.add(job, Polls(poll))
    scheduler.hasten(job, "because")
    await asyncio.sleep(5.5)
    scheduler.drop(job)
    assert len(polled_at) == 1
    assert polled_at[0] < began + policy.min_interval
    assert limiter_uses < 20


async def test_a_job_that_cannot_be_polled_holds_up_no_other_job(caplog: pytest.LogCaptureFixture) -> None:
    """When the poll of one job cannot begin, those that are due with it are polled, and it is tried again."""
    scheduler = Scheduler(RateLimiter(SlidingWindows(None, None)), random.Random())
    polled: list[TrackedJob] = []
    broken = True

    def poll(job: TrackedJob) -> None:
        if job is jobs[0] and broken:
            raise RuntimeError("no poll today")
        polled.append(job)
        asyncio.get_running_loop().call_soon(scheduler.saw_running, job)

    jobs = [tracked_job(target=str(number)) for number in range(3)]
    poller = Polls(poll)
    for job in jobs:
        scheduler.add(job, poller, at_once=True)
    await asyncio.sleep(1.0)
    assert polled == jobs[1:]
    assert "no poll today" in caplog.text
    broken = False
    await asyncio.sleep(30.0)
    assert {polled.count(job) > 1 for job in jobs} == {True}
    for job in jobs:
        scheduler.drop(job)
