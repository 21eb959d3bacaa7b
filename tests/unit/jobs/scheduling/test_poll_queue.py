"""When each job is due, next to a plain list of all of them."""

from __future__ import annotations

import math
import random

import attrs
import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from cmsapi.config import PollPolicy
from cmsapi.jobs.scheduling.poll_queue import PollQueue
from cmsapi.jobs.tracked import LoadKey, TrackedJob
from tests.support.jobs import tracked_job

ADVISED = PollPolicy()
SLOW = PollPolicy(min_interval=30.0, max_interval=60.0)
# Polls that are due so soon may be begun together with others.
TOGETHER = 0.05


class Middle(random.Random):
    """Draw the lot in the middle, which changes no interval."""

    def uniform(self, a: float, b: float) -> float:
        """Draw a lot."""
        return (a + b) / 2.0


def even(seconds: float, rng: random.Random | None = None) -> PollQueue:
    """Make a queue in which all jobs wait equally long."""
    poll_queue = PollQueue(rng or Middle())
    poll_queue.replan(lambda key, step: seconds)
    return poll_queue


@attrs.define
class Entry:
    """Hold what the plain list knows of a job: when it was polled, and the time of its own."""

    polled_at: float
    in_cohort: bool = False
    own: float = math.inf


class NaiveQueue(RuleBasedStateMachine):
    """Do at random what the scheduler does, to a queue and to a plain list."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 100.0
        self.gaps: dict[tuple[LoadKey, int], float] = {}
        self.factor = 10.0
        self.poll_queue = PollQueue(Middle())
        self.poll_queue.replan(self.gap)
        self.inside: dict[TrackedJob, Entry] = {}

    def gap(self, key: LoadKey, step: int) -> float:
        """Plan the wait after a poll."""
        return max(key[1].min_interval, self.factor * (1 + step % 5))

    def due(self, job: TrackedJob) -> float:
        """Say when a job is due, from the plain list."""
        entry = self.inside[job]
        return entry.polled_at + self.gaps[job.load_key, job.step] if entry.in_cohort else entry.own

    @initialize()
    def nothing_yet(self) -> None:
        """Begin empty."""
        assert self.poll_queue.earliest() == math.inf

    @rule(
        ago=st.sampled_from([0.0, 3.0, 40.0]),
        step=st.integers(0, 1),
        policy=st.sampled_from([ADVISED, SLOW]),
    )
    def wait_as_planned(self, ago: float, step: int, policy: PollPolicy) -> None:
        """A job waits for its next poll, after a poll that may be long ago."""
        job = tracked_job(policy=policy, polled_at=self.now - ago, step=step)
        self.inside[job] = Entry(job.polled_at, in_cohort=True)
        self.gaps.setdefault((job.load_key, step), self.gap(job.load_key, step))
        self.poll_queue.wait_as_planned(job)

    @rule(wait=st.floats(0.0, 60.0))
    def stand_apart(self, wait: float) -> None:
        """A job gets a time of its own and has no cohort."""
        job = tracked_job(polled_at=self.now)
        self.inside[job] = Entry(self.now, own=self.now + wait)
        self.poll_queue.set(job, self.now + wait, "asked for")

    @precondition(lambda self: self.inside)
    @rule(data=st.data(), wait=st.sampled_from([0.0, 1.0, 1.0, 25.0]))
    def give_a_time(self, data: st.DataObject, wait: float) -> None:
        """A job that waits already gets a time of its own in place of the one it had."""
        job = data.draw(st.sampled_from(list(self.inside)))
        self.inside[job] = Entry(job.polled_at, own=self.now + wait)
        self.poll_queue.set(job, self.now + wait, "asked for")

    @precondition(lambda self: self.inside)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        """A job is waited for no more."""
        job = data.draw(st.sampled_from(list(self.inside)))
        del self.inside[job]
        self.poll_queue.remove(job)

    @rule(factor=st.sampled_from([1.0, 5.0, 10.0, 100.0]))
    def replan(self, factor: float) -> None:
        """All waits change."""
        self.factor = factor
        self.gaps = {key: self.gap(*key) for key in self.gaps}
        self.poll_queue.replan(self.gap)

    @rule(later=st.floats(0.0, 20.0), room=st.sampled_from([0, 1, 2, 5, math.inf]))
    def take(self, later: float, room: float) -> None:
        """Time passes, and what is due is taken: the longest due first, and no more than there is room for."""
        self.now += later
        taken = self.poll_queue.take(self.now, room)
        due = {job: self.due(job) for job in self.inside}
        must = [job for job in due if due[job] <= self.now]
        assert len(set(taken)) == len(taken) <= room
        assert all(due[job] <= self.now + TOGETHER for job in taken)
        assert [due[job] for job in taken] == sorted(due[job] for job in taken)
        assert len(taken) == room or set(must) <= set(taken)
        left = [due[job] for job in must if job not in taken]
        assert max((due[job] for job in taken), default=0.0) <= min(left, default=math.inf)
        for job in taken:
            assert (
                self.now >= self.inside[job].polled_at + job.settings.policy.min_interval
                or self.inside[job].own <= self.now
            )
            del self.inside[job]

    @invariant()
    def nothing_is_lost(self) -> None:
        """Every job is due when the list says, and is counted."""
        assert self.poll_queue.earliest() == min(map(self.due, self.inside), default=math.inf)
        assert all(self.poll_queue.next_poll(job) == self.due(job) for job in self.inside)
        assert sum(sum(counts.values()) for counts in self.poll_queue.running().values()) == len(self.inside)


TestNaiveQueue = NaiveQueue.TestCase
TestNaiveQueue.settings = settings(max_examples=60, stateful_step_count=30, deadline=None, derandomize=True)


def test_a_job_that_waits_for_longer_is_due_first() -> None:
    """A job that is waited for again long after its last poll does not queue behind those polled since."""
    poll_queue = even(60.0)
    for polled_at in (100.0, 20.0, 110.0, 30.0):
        poll_queue.wait_as_planned(tracked_job(polled_at=polled_at))
    assert poll_queue.earliest() == 80.0
    assert [job.polled_at for job in poll_queue.take(95.0)] == [20.0, 30.0]
    assert poll_queue.earliest() == 160.0


@pytest.mark.parametrize(("gap", "taken"), [(5.0, 1), (5.1, 2)])
def test_jobs_due_together_are_begun_together_but_not_too_soon(gap: float, taken: int) -> None:
    """A poll may come a twentieth of a second early to join others, unless that breaks the least interval."""
    poll_queue = even(gap)
    for polled_at in (0.0, 0.04):
        poll_queue.wait_as_planned(tracked_job(polled_at=polled_at))
    assert len(poll_queue.take(gap)) == taken


def test_equal_intervals_are_spread_as_far_as_the_service_advises() -> None:
    """Jobs polled together wait for times between the two advised intervals, and rarer polls for what was planned."""
    for planned, shortest, longest in ((7.0, 5.6, 8.4), (5.0, 5.0, 6.0), (10.0, 8.0, 10.0), (30.0, 30.0, 30.0)):
        poll_queue = even(planned, random.Random(0))
        jobs = [tracked_job() for _ in range(40)]
        for job in jobs:
            poll_queue.wait_as_planned(job)
        waits = [poll_queue.next_poll(job) - job.polled_at for job in jobs]
        assert shortest - 1e-9 <= min(waits) <= max(waits) <= longest + 1e-9
        assert len(set(waits)) > 10 or planned > ADVISED.max_interval
