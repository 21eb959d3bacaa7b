"""Poll a few jobs sooner than planned: what they show decides when the others are worth a poll.

A plan is as good as what is believed of the durations, and many jobs that wait for the same moment teach nothing until
then. A poll that finds its job finished was needed anyway; only one that finds it running costs a request more. So the
requests that are *extra*, beyond one poll and the result of every job, are what may be lost.

A part of them is spread evenly over the logarithm of the jobs' age, until requests come back: a service that is ten
times as slow as believed uses no more of them than any other. Jobs that are most likely to be finished go first. Each
takes what it is expected to lose until its answer tells what it lost, nothing or one request. So where the first are
found finished, the others follow at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import attrs

from cmsapi.jobs.planning.durations import Curve
from cmsapi.jobs.planning.schedule import HOUR
from cmsapi.jobs.tracked import TrackedJob

#: Why such a poll comes when it does.
WHY = "a few jobs that are polled early show how long the others take"
# Half of the extra requests may be lost so, and half of that after 50 ends; the rest is the plan's.
_PART, _ENOUGH_ENDS = 0.5, 50.0
# No job is explored before this age, in seconds.
_FIRST_AGE = 8.0
# However certain an end seems, a poll takes so much of what may be lost until it is answered.
_LEAST_COST = 0.1
# The last jobs can be polled, one after the other, at ages that grow by this factor until requests come back.
_GROWTH = 2.0


def kept_for_the_last(age: float, returns: float) -> float:
    """Return how many requests a plan leaves to its last jobs, whatever is believed of durations.

    Args:
        age: Age of the oldest job in seconds.
        returns: In how many seconds requests come back.
    """
    return math.log1p(min(returns, HOUR) / max(age, _FIRST_AGE)) / math.log(_GROWTH)


def likeliest(curve: Curve, jobs: Iterable[TrackedJob], now: float) -> tuple[TrackedJob | None, float]:
    """Return the job that is most likely to be found finished, and how likely that is.

    Args:
        curve: How long the jobs take.
        jobs: The jobs.
        now: Time of the loop.
    """
    best, likely = None, -1.0
    for job in jobs:
        if job.age_known and now >= job.polled_at + job.settings.policy.min_interval:
            chance = 1.0 - expected_running(curve, job, now)
            if chance > likely:
                best, likely = job, chance
    return best, likely


def expected_running(curve: Curve, job: TrackedJob, now: float) -> float:
    """Return how likely it is that a job that ran at its last poll still runs."""
    (before, _), (over, _) = curve.at(job.polled_at - job.started_at), curve.at(now - job.started_at)
    return min(1.0, (1.0 - over) / max(1.0 - before, 1e-9))


@attrs.define(eq=False)
class Exploration:
    """Hold what the jobs of one load may lose to early polls.

    Args:
        age: Age of the oldest job when that was counted last, in seconds.
        extra: Requests of these jobs beyond one poll and the result of each.
        allowed: What of them may be lost now.
        unanswered: What each job that is polled now has taken of that.
    """

    age: float
    extra: float = 0.0
    allowed: float = 0.0
    unanswered: dict[TrackedJob, float] = attrs.field(factory=dict)

    def allow(self, age: float, extra: float, returns: float, learned: float) -> None:
        """Allow as much more as the time since then is worth.

        Args:
            age: Age of the oldest job in seconds.
            extra: Requests of these jobs beyond one poll and the result of each.
            returns: In how many seconds requests come back.
            learned: Ends that were seen of such jobs.
        """
        if age > self.age >= _FIRST_AGE:
            part = _PART * _ENOUGH_ENDS / (_ENOUGH_ENDS + learned)
            self.allowed += part * extra * math.log(age / self.age) / max(0.1, math.log1p(min(returns, HOUR) / age))
        self.allowed = min(self.allowed, max(1.0, extra / 4.0), extra - sum(self.unanswered.values()))
        self.age, self.extra = age, extra

    def jobs(self, curve: Curve, waiting: Iterable[TrackedJob], now: float) -> Iterator[TrackedJob]:
        """Give the jobs to poll now.

        Args:
            curve: How long the jobs take.
            waiting: The jobs that may be polled.
            now: Time of the loop.
        """
        left = dict.fromkeys(waiting)
        # Each poll that is under way may be lost.
        while self.allowed >= _LEAST_COST and len(self.unanswered) + 1 <= self.extra:
            job, chance = likeliest(curve, left, now)
            cost = max(_LEAST_COST, 1.0 - chance)
            if job is None or self.allowed < cost:
                return
            self.allowed -= cost
            self.unanswered[job] = cost
            del left[job]
            yield job

    def answered(self, job: TrackedJob, *, finished: bool) -> None:
        """Note what a poll of a job has shown."""
        if (cost := self.unanswered.pop(job, None)) is not None:
            self.allowed += cost if finished else cost - 1.0
