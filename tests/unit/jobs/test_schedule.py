"""When jobs are polled, in a simulation without a network: each request counts for an hour and responses at once."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings, strategies as st

from cmsapi.config import HOUR
from cmsapi.jobs.schedule import Schedule
from cmsapi.limits.limiter import Forecast

LIMIT = 1000


def hour_at(sent: list[float], now: float) -> Forecast:
    """Return the state of the hour after some requests."""
    counted = [at for at in sent[-LIMIT:] if at > now - HOUR]
    back = counted[(len(counted) - 1) // 2] + HOUR - now if counted else HOUR

    def returning(ahead: float) -> int:
        return sum(1 for at in counted if at <= now + ahead - HOUR)

    return Forecast(LIMIT, LIMIT - len(counted), returning, lambda: back)


def simulate(durations: Sequence[float], result: int = 0, seconds: float = 4 * HOUR) -> tuple[list[float], list[float]]:
    """Launch all jobs as soon as they fit, and return when each end was noticed and the times of all requests."""
    schedule: Schedule[int] = Schedule({"job": float(result)}, 5.0, 10.0)
    sent: list[float] = []
    launched: dict[int, float] = {}
    noticed: dict[int, float] = {}
    waiting, now = list(range(len(durations)))[::-1], 0.0

    def used() -> int:
        return sum(1 for at in sent[-LIMIT:] if at > now - HOUR)

    while len(noticed) < len(durations) and now < seconds:
        if now % 4 == 0:
            schedule.plan(now, hour_at(sent, now), {"job": len(waiting)} if waiting else {})
        for job in sorted(schedule.jobs, key=schedule.due):
            if schedule.due(job) > now or used() >= LIMIT or not schedule.may_poll(job, now, LIMIT - used()):
                continue
            sent.append(now)
            if now - launched[job] >= durations[job]:
                schedule.ended(job, now)
                sent.extend([now] * result)
                noticed[job] = now
            else:
                schedule.running(job, now)
        while waiting and used() < LIMIT and schedule.may_launch(2 + schedule.results["job"], LIMIT - used()):
            job = waiting.pop()
            launched[job] = now
            sent.append(now)
            schedule.add(job, "job", now, now)
        now += 1.0
    return [noticed.get(job, math.inf) - launched.get(job, 0.0) for job in range(len(durations))], sent


@pytest.mark.parametrize("seconds", [20.0, 200.0, 7200.0])
def test_a_few_jobs_are_polled_at_the_advised_intervals(seconds: float) -> None:
    """While the hour allows it, a job is polled every 5 to 10 seconds, so that its end is noticed within ten."""
    (late,), sent = simulate([seconds])
    assert late - seconds <= 11
    intervals = [after - before for before, after in pairwise(sent[1:])]
    assert all(5 <= interval <= 11 for interval in intervals)


def test_three_hundred_searches_fit_into_one_hour() -> None:
    """Three hundred one-minute jobs, each with a result, neither wait for the next hour nor lose much time."""
    draw = random.Random(3)
    durations = [draw.lognormvariate(math.log(60), 0.5) for _ in range(300)]
    turnaround, sent = simulate(durations, result=1)
    lateness = [seen - seconds for seen, seconds in zip(turnaround, durations, strict=True)]
    assert len(sent) <= LIMIT
    assert max(lateness) < 600
    assert sum(lateness) / 300 < 150


def test_more_jobs_than_the_hour_holds_wait_for_their_launch() -> None:
    """No job is launched whose end could not be noticed: those that do not fit wait, and none is an hour late."""
    turnaround, sent = simulate([60.0] * 700, seconds=2.5 * HOUR)
    assert max(turnaround) < 1200
    assert all(sum(1 for other in sent if at - HOUR < other <= at) <= LIMIT for at in sent[::50])


@given(
    durations=st.lists(st.sampled_from([8.0, 30.0, 100.0, 400.0, 1500.0]), min_size=1, max_size=40),
    result=st.integers(0, 2),
)
@settings(max_examples=6)
def test_every_end_is_noticed_and_no_limit_exceeded(durations: list[float], result: int) -> None:
    """Whatever the durations, each end is noticed soon if there is little work, and the hourly limit is kept."""
    turnaround, sent = simulate(durations, result)
    assert all(seen - seconds <= 120 for seen, seconds in zip(turnaround, durations, strict=True))
    assert len(sent) <= LIMIT


def test_a_job_polled_a_moment_ago_is_not_due() -> None:
    """A failed poll says nothing about the job, and the next one keeps its distance."""
    schedule: Schedule[str] = Schedule({"job": 0.0}, 5.0, 10.0)
    schedule.add("a", "job", 0.0, 0.0)
    schedule.failed("a", 100.0)
    assert schedule.due("a") >= 105.0
