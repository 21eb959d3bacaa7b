"""Keep when each job is due, so that a new plan moves cohorts and not jobs.

Jobs of one kind whose last polls came at the same age form a cohort, in the order of those polls, and wait equally
long: a cohort is due when its first job is. A job that does not fit into a cohort (a first poll, a repeat after a
failure, a scout) has a time of its own; a job with both is due at the earlier one.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable

import attrs

from cmsapi.jobs.kinds.kind import Kind
from cmsapi.jobs.tracked import LoadKey, TrackedJob

# Polls that are due within so many seconds of each other are begun together.
_SLOT = 0.05
# Of scouts: the age of the first ones, its growth, how many have one age, and how many there are of a kind.
_FIRST_AGE, _GROWTH, _AT_ONE_AGE, _MOST = 8.0, 1.4, 3, 75
# Ends of a kind that are enough to plan by.
_ENOUGH_ENDS = 15


@attrs.define(eq=False)
class Cohort:
    """Hold jobs that wait equally long after their last poll, in the order of those polls.

    Args:
        key: The load whose pace it follows.
        step: Age of the jobs at the last poll, on the scale of ages.
        group: Share of the price.
        gap: Seconds to wait.
        jobs: The jobs.
        queued: When the poll queue checks next whether it is due.
    """

    key: LoadKey
    step: int
    group: int
    gap: float
    jobs: OrderedDict[TrackedJob, None] = attrs.field(factory=OrderedDict)
    queued: float = math.inf

    @property
    def due(self) -> float:
        """When its first job is due."""
        return next(iter(self.jobs)).polled_at + self.gap if self.jobs else math.inf

    def add(self, job: TrackedJob) -> None:
        """Add a job, as a rule the one that was polled last."""
        last = next(reversed(self.jobs), job)
        self.jobs[job] = None
        if job.polled_at < last.polled_at:
            # It had no waiters for a while.
            self.jobs = OrderedDict.fromkeys(sorted(self.jobs, key=lambda job: job.polled_at))


class PollQueue:
    """Keep the due times of all jobs of an account.

    Args:
        gap: Says how many seconds the jobs of a load wait after a poll at a step, for each share of the price.
    """

    def __init__(self, gap: Callable[[LoadKey, int, int], float]) -> None:
        self._gap = gap
        self._cohorts: dict[tuple[LoadKey, int, int], Cohort] = {}
        # For each cohort a time that is not later than its first job; checked again when it is reached.
        self._queue: list[tuple[float, int, Cohort]] = []
        self._own: list[tuple[float, int, TrackedJob]] = []
        # Jobs with a time of their own and without a cohort, each with the step under which it is counted.
        self._alone: dict[TrackedJob, int] = {}
        self._counts: defaultdict[LoadKey, Counter[int]] = defaultdict(Counter)
        self._order = itertools.count()

    def enter_cohort(self, job: TrackedJob) -> None:
        """Put a job into the cohort of its last poll."""
        key = (job.load_key, job.step, job.group)
        cohort = self._cohorts.get(key)
        if cohort is None:
            cohort = self._cohorts[key] = Cohort(*key, gap=self._gap(*key))
        cohort.add(job)
        job.cohort = cohort
        if (due := cohort.due) < cohort.queued:
            self._check_at(cohort, due)
        self._uncount(job)

    def set(self, job: TrackedJob, due: float, why: str) -> None:
        """Give a job a time of its own, with or without a cohort."""
        job.due, job.why = due, why
        heapq.heappush(self._own, (due, next(self._order), job))
        if job.cohort is None and job not in self._alone:
            self._alone[job] = job.seen_running
            self._counts[job.load_key][job.seen_running] += 1

    def remove(self, job: TrackedJob) -> None:
        """Take a job out."""
        job.due = None
        self._uncount(job)
        cohort: Cohort | None = job.cohort
        if cohort is not None:
            job.cohort = None
            del cohort.jobs[job]
            if not cohort.jobs:
                del self._cohorts[cohort.key, cohort.step, cohort.group]

    def next_poll(self, job: TrackedJob) -> float:
        """Return when a job is due by itself, infinity when it is not."""
        in_cohort = job.polled_at + job.cohort.gap if job.cohort is not None else math.inf
        return in_cohort if job.due is None else min(in_cohort, job.due)

    def replan(self) -> None:
        """Set all gaps anew."""
        self._queue.clear()
        for key, cohort in self._cohorts.items():
            cohort.gap = self._gap(*key)
            self._check_at(cohort, cohort.due)

    def earliest(self) -> float:
        """Return when something is due next, infinity when nothing is."""
        return min(self._earliest_own(), self._earliest_cohort())

    def take(self, now: float, room: float = math.inf) -> list[TrackedJob]:
        """Take out the jobs that are due, first those that have been due for longest.

        Args:
            now: The time.
            room: At most so many.
        """
        taken: list[TrackedJob] = []
        ripe = [
            (cohort.due, next(self._order), cohort)
            for cohort in self._cohorts.values()
            if cohort.due <= now + _early(cohort)
        ]
        heapq.heapify(ripe)
        while len(taken) < room:
            due, _, cohort = ripe[0] if ripe else (math.inf, 0, None)
            if cohort is not None and cohort.due != due:
                # Its first job was taken.
                heapq.heappop(ripe)
                if cohort.due <= now + _early(cohort):
                    heapq.heappush(ripe, (cohort.due, next(self._order), cohort))
                continue
            if self._earliest_own() <= min(now, due):
                job = heapq.heappop(self._own)[2]
            elif cohort is not None:
                job = next(iter(cohort.jobs))
            else:
                break
            taken.append(job)
            self.remove(job)
        return taken

    def running(self) -> defaultdict[LoadKey, Counter[int]]:
        """Count the jobs of each load by the step of their last poll."""
        counts: defaultdict[LoadKey, Counter[int]] = defaultdict(Counter)
        for cohort in self._cohorts.values():
            counts[cohort.key][cohort.step] += len(cohort.jobs)
        for key, alone in self._counts.items():
            if alone:
                counts[key].update(alone)
        return counts

    def _uncount(self, job: TrackedJob) -> None:
        """Stop counting a job as one without a cohort."""
        counted = self._alone.pop(job, None)
        if counted is not None:
            counts = self._counts[job.load_key]
            counts[counted] -= 1
            if not counts[counted]:
                del counts[counted]

    def _check_at(self, cohort: Cohort, when: float) -> None:
        cohort.queued = when
        heapq.heappush(self._queue, (when, next(self._order), cohort))

    def _earliest_cohort(self) -> float:
        queue = self._queue
        while queue:
            when, _, cohort = queue[0]
            due = cohort.due
            if when == cohort.queued == due:
                return due
            heapq.heappop(queue)
            # Its first job or all of them have left since, or there is an earlier entry.
            if when == cohort.queued and cohort.jobs:
                self._check_at(cohort, due)
        return math.inf

    def _earliest_own(self) -> float:
        own = self._own
        # Entries of jobs that were taken out, or set to another time since.
        while own and own[0][2].due != own[0][0]:
            heapq.heappop(own)
        return own[0][0] if own else math.inf


class Scouts:
    """Choose the first poll of the first jobs of each kind, to learn how long such jobs take.

    As long as next to nothing is known of a kind, three jobs are polled after 8 s, three others after 11 s, three after
    16 s and so on. They are different jobs, because each teaches something new, and a job that has ended by then needed
    that poll anyway.
    """

    def __init__(self) -> None:
        self._chosen: Counter[Kind] = Counter()

    def choose(self, job: TrackedJob, ends: float) -> float | None:
        """Return the loop time of the first poll of a job that is a scout, None for any other job.

        Args:
            job: The job.
            ends: The ends that were seen of its kind.
        """
        number = self._chosen[job.kind]
        if not job.age_known or job.step or ends >= _ENOUGH_ENDS or number >= _MOST:
            return None
        self._chosen[job.kind] += 1
        age = _FIRST_AGE * _GROWTH ** (number // _AT_ONE_AGE)
        return max(job.started_at + age, job.polled_at + job.settings.policy.min_interval)


def _early(cohort: Cohort) -> float:
    return _SLOT if cohort.gap >= cohort.key[1].min_interval + _SLOT else 0.0
