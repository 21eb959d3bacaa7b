"""What has jobs looked at in time, alone on a loop."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from cmsapi import PollPolicy
from cmsapi.jobs.kinds.kind import JobKind
from cmsapi.jobs.scheduling.scheduler import Scheduler
from cmsapi.observability.hooks import Hooks
from cmsapi.ratelimit.limiter import Priority, RateLimiter
from cmsapi.ratelimit.sliding_windows import SlidingWindows

pytestmark = pytest.mark.looptime


class Subject:
    """Find a job running as soon as it is looked at."""

    hooks = Hooks()

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.looks: list[float] = []
        self.watch: Any = None

    def look(self) -> None:
        """Look."""
        loop = asyncio.get_running_loop()
        self.looks.append(loop.time())
        loop.call_soon(self.scheduler.saw_running, self.watch)

    def show(self, document: object, sent_at: float) -> None:
        """Never asked."""
        raise NotImplementedError

    def read_page(self, listing: object) -> None:
        """Never asked."""
        raise NotImplementedError


async def test_a_loop_may_ring_a_little_early() -> None:
    """What a timer rings for is done then, even where the clock falls short of it by less than it can tell."""
    loop = asyncio.get_running_loop()
    rings = 0

    class AskedLimiter(RateLimiter):
        def queue(self, priority: Priority) -> int:
            nonlocal rings
            rings += 1
            if rings > 100:
                raise RuntimeError("the timer is set for the same moment again and again, and time stands still")
            return super().queue(priority)

    scheduler = Scheduler(AskedLimiter(SlidingWindows(None, None)), random.Random())
    subject, began = Subject(scheduler), loop.time()
    # The clock of the loop moves in steps of a microsecond, and a timer within a nanosecond of it rings.
    policy = PollPolicy(min_interval=5.0000000002, max_interval=10.0)
    subject.watch = scheduler.watch(JobKind.IDEA_SEARCH, "srch_1", policy, subject, began, launched=False)
    scheduler.add(subject.watch)
    scheduler.hasten(subject.watch, "because")
    await asyncio.sleep(5.5)
    scheduler.drop(subject.watch)
    assert len(subject.looks) == 1
    assert subject.looks[0] < began + policy.min_interval
    assert rings < 20
