"""Keep when each job is due, so that a new plan moves cohorts and not jobs.

Jobs of one kind whose last polls came at the same age form a cohort, in the order of those polls, and wait equally
long: a cohort is due when its first job is. A job that does not fit into a cohort (an early poll, a repeat after a
failure) has a time of its own.

Jobs that were launched together are drawn into several cohorts, and those wait a little longer than each other where
that keeps to the advice of the service, so that the polls do not all come at the same moment (specification 8, rule 5).
"""

from __future__ import annotations

import heapq
import itertools
import math
import operator
import random
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from typing import TypeAlias

import attrs

from cmsapi.jobs.tracked import LoadKey, TrackedJob

# Polls that are due within so many seconds of each other are begun together.
_SLOT = 0.05
# Between the shortest and the longest advised interval, each draw from -2 to 2 changes an interval by this part.
_DRAWS, _PART = (-2, -1, 0, 1, 2), 0.1

#: Says how many seconds the jobs of a load wait after a poll at a step.
Interval: TypeAlias = Callable[[LoadKey, int], float]


@attrs.define(eq=False)
class Cohort:
    """Hold jobs that wait equally long after their last poll, in the order of those polls.

    Args:
        key: The load, the step of the last poll on the scale of ages, and what was drawn.
        interval: Seconds to wait.
        jobs: The jobs.
    """

    key: tuple[LoadKey, int, int]
    interval: float
    jobs: OrderedDict[TrackedJob, None] = attrs.field(factory=OrderedDict)

    @property
    def first(self) -> TrackedJob:
        """The job that was polled first."""
        return next(iter(self.jobs))

    @property
    def due(self) -> float:
        """When its first job is due."""
        return self.first.polled_at + self.interval

    def add(self, job: TrackedJob) -> None:
        """Add a job, as a rule the one that was polled last."""
        last = next(reversed(self.jobs), job)
        self.jobs[job] = None
        if job.polled_at < last.polled_at:
            # It had no waiters for a while.
            self.jobs = OrderedDict.fromkeys(sorted(self.jobs, key=lambda job: job.polled_at))

    def due_jobs(self, now: float) -> Iterator[tuple[float, TrackedJob]]:
        """Give the jobs that are due; each has to be taken out before the next one is asked for."""
        until = now + (_SLOT if self.interval >= self.key[0][1].min_interval + _SLOT else 0.0)
        while self.jobs and (due := self.due) <= until:
            yield due, self.first


@attrs.frozen
class OwnTime:
    """Hold the time at which a job is due that is in no cohort.

    Args:
        due: The time.
        why: Why then.
        counted: The load, and the step of the age at which it was last seen running.
    """

    due: float
    why: str
    counted: tuple[LoadKey, int]


class PollQueue:
    """Keep the due times of all jobs of an account.

    Args:
        rng: Source of chance.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        # Before the first plan every poll is as late as the policy allows.
        self._interval: Interval = lambda key, step: key[1].max_interval
        self._cohorts: dict[tuple[LoadKey, int, int], Cohort] = {}
        # The cohort in which a job waits, or its own time.
        self._cohort_of: dict[TrackedJob, Cohort] = {}
        self._own_of: dict[TrackedJob, OwnTime] = {}
        # Jobs with a time of their own, by it; entries of jobs that have left or got another time stay until then.
        self._own: list[tuple[float, int, TrackedJob]] = []
        self._order = itertools.count()
        self._counts: Counter[tuple[LoadKey, int]] = Counter()

    def enter_cohort(self, job: TrackedJob) -> None:
        """Have a job wait in the cohort of its last poll."""
        self.remove(job)
        key = (job.load_key, job.step, self._rng.choice(_DRAWS))
        cohort = self._cohorts.get(key)
        if cohort is None:
            cohort = self._cohorts[key] = Cohort(key, self._wait(*key))
        cohort.add(job)
        self._cohort_of[job] = cohort

    def set(self, job: TrackedJob, due: float, why: str) -> None:
        """Have a job wait until a time of its own."""
        self.remove(job)
        own = self._own_of[job] = OwnTime(due, why, (job.load_key, job.seen_running))
        heapq.heappush(self._own, (due, next(self._order), job))
        self._counts[own.counted] += 1

    def remove(self, job: TrackedJob) -> None:
        """Take a job out of the queue."""
        if (own := self._own_of.pop(job, None)) is not None:
            self._counts[own.counted] -= 1
        if (cohort := self._cohort_of.pop(job, None)) is not None:
            del cohort.jobs[job]
            if not cohort.jobs:
                del self._cohorts[cohort.key]

    def next_poll(self, job: TrackedJob) -> float:
        """Return when a job is due, infinity when it does not wait here."""
        if (cohort := self._cohort_of.get(job)) is not None:
            return job.polled_at + cohort.interval
        own = self._own_of.get(job)
        return own.due if own is not None else math.inf

    def waits(self, job: TrackedJob) -> bool:
        """Tell whether a job waits here."""
        return job in self._cohort_of or job in self._own_of

    def why(self, job: TrackedJob) -> str | None:
        """Say why a job has a time of its own, None when it has none."""
        own = self._own_of.get(job)
        return own.why if own is not None else None

    def replan(self, interval: Interval) -> None:
        """Set all intervals anew."""
        self._interval = interval
        for key, cohort in self._cohorts.items():
            cohort.interval = self._wait(*key)

    def earliest(self) -> float:
        """Return when something is due next, infinity when nothing is."""
        return min([self._earliest_own(), *(cohort.due for cohort in self._cohorts.values())])

    def take(self, now: float, room: float = math.inf) -> dict[TrackedJob, str]:
        """Take out the jobs that are due, first those that have been due for longest.

        Args:
            now: The time.
            room: At most so many.

        Returns:
            The jobs, each with why it had a time of its own, or an empty string.
        """
        taken: dict[TrackedJob, str] = {}
        cohorts = [cohort.due_jobs(now) for cohort in self._cohorts.values() if cohort.due <= now + _SLOT]
        for _, job in heapq.merge(self._due_own(now), *cohorts, key=operator.itemgetter(0)):
            if len(taken) >= room:
                break
            taken[job] = self.why(job) or ""
            self.remove(job)
        return taken

    def running(self) -> defaultdict[LoadKey, Counter[int]]:
        """Count the jobs of each load by the step of their last poll."""
        counts: defaultdict[LoadKey, Counter[int]] = defaultdict(Counter)
        for (key, step, _), cohort in self._cohorts.items():
            counts[key][step] += len(cohort.jobs)
        for (key, step), count in self._counts.items():
            if count:
                counts[key][step] += count
        return counts

    def cohorts(self, key: LoadKey) -> list[Cohort]:
        """Return the cohorts of a load."""
        return [cohort for (load, _, _), cohort in self._cohorts.items() if load == key]

    def oldest(self, key: LoadKey, now: float) -> float:
        """Return the age in seconds of about the oldest job in the cohorts of a load, 0 without one."""
        return max((now - cohort.first.started_at for cohort in self.cohorts(key)), default=0.0)

    def _wait(self, key: LoadKey, step: int, draw: int) -> float:
        interval, policy = self._interval(key, step), key[1]
        if interval > policy.max_interval:
            return interval
        return min(policy.max_interval, max(policy.min_interval, interval * (1.0 + _PART * draw)))

    def _due_own(self, now: float) -> Iterator[tuple[float, TrackedJob]]:
        """Give the jobs with a time of their own that are due; each has to be taken out before the next one."""
        while (due := self._earliest_own()) <= now:
            yield due, self._own[0][2]

    def _earliest_own(self) -> float:
        own = self._own
        while own and ((time := self._own_of.get(own[0][2])) is None or time.due != own[0][0]):
            heapq.heappop(own)
        return own[0][0] if own else math.inf
