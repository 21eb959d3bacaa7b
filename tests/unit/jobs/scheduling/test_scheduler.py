"""The scheduler alone on a loop."""

from __future__ import annotations

import asyncio
import random

import pytest

from cmsapi import PollPolicy
from cmsapi.jobs.kinds.observation import JobHistory
from cmsapi.jobs.scheduling.scheduler import PollCallbacks, Scheduler
from cmsapi.jobs.tracked import TrackedJob
from cmsapi.observability.hooks import Hooks
from cmsapi.ratelimit.limiter import Priority, RateLimiter
from cmsapi.ratelimit.sliding_windows import SlidingWindows
from tests.support.jobs import tracked_job

pytestmark = pytest.mark.looptime


async def test_a_loop_may_fire_a_little_early() -> None:
    """What a timer was set for is done when it fires, even where the clock falls short of it by a trifle."""
    loop = asyncio.get_running_loop()
    limiter_uses = 0

    class AskedLimiter(RateLimiter):
        def queue(self, priority: Priority) -> int:
            nonlocal limiter_uses
            limiter_uses += 1
            if limiter_uses > 100:
                raise RuntimeError("the timer is set for the same moment again and again, and time stands still")
            return super().queue(priority)

    scheduler = Scheduler(AskedLimiter(SlidingWindows(None, None)), random.Random())
    polled_at, began = [], loop.time()

    def poll(job: TrackedJob) -> None:
        polled_at.append(loop.time())
        loop.call_soon(scheduler.saw_running, job)

    def never(*_: object) -> None:
        raise NotImplementedError

    # The clock of the loop moves in steps of a microsecond, and a timer within a nanosecond of it fires.
    policy = PollPolicy(min_interval=5.0000000002, max_interval=10.0)
    job = tracked_job(policy=policy, history=JobHistory(began))
    scheduler.add(job, PollCallbacks(Hooks(), poll, never, never))
    scheduler.hasten(job, "because")
    await asyncio.sleep(5.5)
    scheduler.drop(job)
    assert len(polled_at) == 1
    assert polled_at[0] < began + policy.min_interval
    assert limiter_uses < 20
