"""Keep when each job is due that is polled alone.

As a rule a job waits as long as the plan says for its age at the last poll, and a new plan changes that. Some have a
time of their own (an early poll, a repeat after a failure), which no plan changes.

Jobs that were launched together draw lots: where that keeps to the advice of the service, they wait a little longer or
shorter than planned, so that their polls do not all come at the same moment (specification 8, rule 5).
"""

from __future__ import annotations

import heapq
import itertools
import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import TypeAlias

import attrs

from cmsapi.jobs.tracked import LoadKey, TrackedJob

# Polls that are due within so many seconds of each other are begun together.
_SLOT = 0.05
# Between the shortest and the longest advised interval, a lot changes an interval by up to this part.
_LOT = 0.2

#: Says how many seconds the jobs of a load wait after a poll at a step.
Interval: TypeAlias = Callable[[LoadKey, int], float]


@attrs.define(eq=False)
class Wait:
    """Hold for when a job waits.

    Args:
        factor: What it drew, by which the planned interval changes; None where it has a time of its own.
        why: Why it has a time of its own.
        due: When it is due.
        soonest: When it may be polled with others that are due then.
    """

    factor: float | None
    why: str | None
    due: float = 0.0
    soonest: float = 0.0


class PollQueue:
    """Keep the due times of all jobs of an account that are polled alone.

    Args:
        rng: Source of chance.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        # Before the first plan every poll is as late as the policy allows.
        self._interval: Interval = lambda key, step: key[1].max_interval
        self._waits: dict[TrackedJob, Wait] = {}
        # Entries of jobs that have left, or that wait for another time by now, stay until their time.
        self._heap: list[tuple[float, int, TrackedJob, Wait]] = []
        self._order = itertools.count()

    def wait_as_planned(self, job: TrackedJob) -> None:
        """Have a job wait for as long as planned after its last poll."""
        wait = self._waits[job] = Wait(self._rng.uniform(1.0 - _LOT, 1.0 + _LOT), None)
        self._time(job, wait)
        heapq.heappush(self._heap, (wait.due, next(self._order), job, wait))

    def set(self, job: TrackedJob, due: float, why: str) -> None:
        """Have a job wait until a time of its own."""
        wait = self._waits[job] = Wait(None, why, due, due)
        heapq.heappush(self._heap, (due, next(self._order), job, wait))

    def remove(self, job: TrackedJob) -> None:
        """Take a job out of the queue."""
        self._waits.pop(job, None)

    def next_poll(self, job: TrackedJob) -> float:
        """Return when a job is due, infinity when it does not wait here."""
        wait = self._waits.get(job)
        return math.inf if wait is None else wait.due

    def why(self, job: TrackedJob) -> str | None:
        """Say why a job has a time of its own, None when it has none."""
        wait = self._waits.get(job)
        return None if wait is None else wait.why

    def replan(self, interval: Interval) -> None:
        """Set the times of all jobs anew that have none of their own."""
        self._interval = interval
        for job, wait in self._waits.items():
            self._time(job, wait)
        self._heap = [(wait.due, next(self._order), job, wait) for job, wait in self._waits.items()]
        heapq.heapify(self._heap)

    def earliest(self) -> float:
        """Return when something is due next, infinity when nothing is."""
        heap = self._heap
        while heap and self._waits.get(heap[0][2]) is not heap[0][3]:
            heapq.heappop(heap)
        return heap[0][0] if heap else math.inf

    def take(self, now: float, room: float = math.inf) -> dict[TrackedJob, str]:
        """Take out the jobs that are due, first those that have been due for longest.

        Args:
            now: The time.
            room: At most so many.

        Returns:
            The jobs, each with why it had a time of its own, or an empty string.
        """
        taken: dict[TrackedJob, str] = {}
        while len(taken) < room and self.earliest() < math.inf and self._heap[0][3].soonest <= now:
            *_, job, wait = heapq.heappop(self._heap)
            taken[job] = wait.why or ""
            del self._waits[job]
        return taken

    def running(self) -> defaultdict[LoadKey, Counter[int]]:
        """Count the jobs of each load by the step of their last poll, or at which they were last seen running."""
        counts: defaultdict[LoadKey, Counter[int]] = defaultdict(Counter)
        for job, wait in self._waits.items():
            counts[job.load_key][job.step if wait.why is None else job.seen_running] += 1
        return counts

    def planned(self, key: LoadKey) -> list[TrackedJob]:
        """Return the jobs of a load that have no time of their own."""
        return [job for job, wait in self._waits.items() if wait.why is None and job.load_key == key]

    def _time(self, job: TrackedJob, wait: Wait) -> None:
        """Set when a job is due that has no time of its own."""
        if wait.factor is None:
            return
        policy, interval = job.settings.policy, self._interval(job.load_key, job.step)
        if interval <= policy.max_interval:
            interval = min(policy.max_interval, max(policy.min_interval, interval * wait.factor))
        wait.due = job.polled_at + interval
        wait.soonest = min(wait.due, max(wait.due - _SLOT, job.polled_at + policy.min_interval))
