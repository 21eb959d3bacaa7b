"""When each job is due, next to a plain list of all of them."""

from __future__ import annotations

import math
from typing import Any

import attrs
import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from cmsapi.config import PollPolicy
from cmsapi.jobs.kinds.kind import JobKind
from cmsapi.jobs.scheduling.queue import LoadKey, PollQueue, ScheduledPoll

KIND = JobKind.IDEA_SEARCH
ADVISED = PollPolicy()
SLOW = PollPolicy(min_interval=30.0, max_interval=60.0)
# Looks that are due so soon may be begun together with others.
TOGETHER = 0.05


def watch_of(polled_at: float = 0.0, step: int = 0, group: int = 0, policy: PollPolicy = ADVISED) -> ScheduledPoll:
    """Make the place of a job that was looked at."""
    subject: Any = None
    return ScheduledPoll(
        KIND, "target", policy, subject, 0.0, launched=True, group=group, polled_at=polled_at, step=step
    )


def even(seconds: float) -> PollQueue:
    """Make a timetable in which all jobs wait equally long."""
    return PollQueue(lambda key, step, group: seconds)


@attrs.define
class Entry:
    """Hold what the plain list knows of a job: when it was looked at, and the time of its own."""

    polled_at: float
    lined_up: bool = False
    own: float = math.inf


class NaiveTimetable(RuleBasedStateMachine):
    """Do at random what the pacer does, to a timetable and to a plain list."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 100.0
        self.gaps: dict[tuple[LoadKey, int, int], float] = {}
        self.factor = 10.0
        self.poll_queue = PollQueue(self.gap)
        self.inside: dict[ScheduledPoll, Entry] = {}

    def gap(self, key: LoadKey, step: int, group: int) -> float:
        """Plan the wait after a look."""
        return max(key[1].min_interval, self.factor * (1 + step % 5) - group)

    def due(self, watch: ScheduledPoll) -> float:
        """Say when a job is due, from the plain list."""
        entry = self.inside[watch]
        in_row = entry.polled_at + self.gaps[watch.key, watch.step, watch.group] if entry.lined_up else math.inf
        return min(in_row, entry.own)

    @initialize()
    def nothing_yet(self) -> None:
        """Begin empty."""
        assert self.poll_queue.earliest() == math.inf

    @rule(
        ago=st.sampled_from([0.0, 3.0, 40.0]),
        step=st.integers(0, 1),
        group=st.integers(0, 1),
        policy=st.sampled_from([ADVISED, SLOW]),
    )
    def line_up(self, ago: float, step: int, group: int, policy: PollPolicy) -> None:
        """A job waits for its next look, after a look that may be long ago."""
        watch = watch_of(self.now - ago, step, group, policy)
        self.inside[watch] = Entry(watch.polled_at, lined_up=True)
        self.gaps.setdefault((watch.key, step, group), self.gap(watch.key, step, group))
        self.poll_queue.line_up(watch)

    @rule(wait=st.floats(0.0, 60.0))
    def stand_apart(self, wait: float) -> None:
        """A job gets a time of its own and stands in no row."""
        watch = watch_of(self.now)
        self.inside[watch] = Entry(self.now, own=self.now + wait)
        self.poll_queue.set(watch, self.now + wait, "asked for")

    @precondition(lambda self: self.inside)
    @rule(data=st.data(), wait=st.sampled_from([0.0, 1.0, 1.0, 25.0]))
    def give_a_time(self, data: st.DataObject, wait: float) -> None:
        """A job that waits already gets a time, or another one."""
        watch = data.draw(st.sampled_from(list(self.inside)))
        self.inside[watch].own = self.now + wait
        self.poll_queue.set(watch, self.now + wait, "asked for")

    @precondition(lambda self: self.inside)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        """A job is waited for no more."""
        watch = data.draw(st.sampled_from(list(self.inside)))
        del self.inside[watch]
        self.poll_queue.remove(watch)

    @rule(factor=st.sampled_from([1.0, 5.0, 10.0, 100.0]))
    def replan(self, factor: float) -> None:
        """All waits change."""
        self.factor = factor
        self.gaps = {key: self.gap(*key) for key in self.gaps}
        self.poll_queue.replan()

    @rule(later=st.floats(0.0, 20.0), room=st.sampled_from([0, 1, 2, 5, math.inf]))
    def take(self, later: float, room: float) -> None:
        """Time passes, and what is due is taken: the longest due first, and no more than there is room for."""
        self.now += later
        taken = self.poll_queue.take(self.now, room)
        due = {watch: self.due(watch) for watch in self.inside}
        must = [watch for watch in due if due[watch] <= self.now]
        assert len(set(taken)) == len(taken) <= room
        assert all(due[watch] <= self.now + TOGETHER for watch in taken)
        assert [due[watch] for watch in taken] == sorted(due[watch] for watch in taken)
        assert len(taken) == room or set(must) <= set(taken)
        left = [due[watch] for watch in must if watch not in taken]
        assert max((due[watch] for watch in taken), default=0.0) <= min(left, default=math.inf)
        for watch in taken:
            assert (
                self.now >= self.inside[watch].polled_at + watch.policy.min_interval
                or self.inside[watch].own <= self.now
            )
            del self.inside[watch]

    @invariant()
    def nothing_is_lost(self) -> None:
        """Every job is there once, is due when the list says, and is counted."""
        assert sorted(map(id, self.poll_queue.watches())) == sorted(map(id, self.inside))
        assert self.poll_queue.earliest() == min(map(self.due, self.inside), default=math.inf)
        assert all(watch.next_poll == self.due(watch) for watch in self.inside)
        assert sum(sum(counts.values()) for counts in self.poll_queue.running().values()) == len(self.inside)


TestNaiveTimetable = NaiveTimetable.TestCase
TestNaiveTimetable.settings = settings(max_examples=60, stateful_step_count=30, deadline=None, derandomize=True)


def test_a_job_that_waits_for_longer_is_due_first() -> None:
    """A job that is waited for again long after its last look does not queue behind those looked at since."""
    poll_queue = even(60.0)
    for polled_at in (100.0, 20.0, 110.0, 30.0):
        poll_queue.line_up(watch_of(polled_at))
    assert poll_queue.earliest() == 80.0
    assert [watch.polled_at for watch in poll_queue.take(95.0)] == [20.0, 30.0]
    assert poll_queue.earliest() == 160.0


@pytest.mark.parametrize(("gap", "taken"), [(5.0, 1), (5.1, 2)])
def test_jobs_due_together_are_begun_together_but_not_too_soon(gap: float, taken: int) -> None:
    """A look may come a twentieth of a second early to join others, unless that breaks the least interval."""
    poll_queue = even(gap)
    for polled_at in (0.0, 0.04):
        poll_queue.line_up(watch_of(polled_at))
    assert len(poll_queue.take(gap)) == taken
