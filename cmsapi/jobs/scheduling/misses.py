"""Spend the requests that the jobs of one load have beyond one poll and the result of each: their misses.

Each end has to be seen once, so that a poll that finds its job finished costs nothing; one that finds it running is a
miss. A plan is as good as what is believed of the durations, and that may be wrong for all jobs at once.

Many jobs that wait for the same moment teach nothing until then. So a part of the misses is spent early, evenly over
the logarithm of the jobs' age until requests come back: a service that is ten times as slow as believed uses no more of
them than any other. Jobs that are most likely to be finished go first, and each takes what it is expected to lose until
its answer tells what it lost, nothing or one request. So where the first are found finished, the others follow at once.

When the service pauses or has become slower, all jobs are late together, and each planned poll is one more miss,
although the first few have told it. So misses are counted, less those that were expected. When they are too many for
chance, planned polls are put off, and one job at a time is polled, at ages that grow and when requests come back, until
one is found finished.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import attrs

from cmsapi.jobs.planning.budget import FIRST_AGE
from cmsapi.jobs.planning.durations import Curve
from cmsapi.jobs.planning.schedule import HOUR
from cmsapi.jobs.timing import Timing
from cmsapi.jobs.tracked import TrackedJob

# Half of the misses may be spent early, and half of that after 50 ends; the rest is the plan's.
_PART, _ENOUGH_ENDS = 0.5, 50.0
# Surprises are chance up to three, and up to this part of the misses; much more while few ends were seen.
_CHANCE, _CHANCE_PART = 3.0, 1.0 / 8.0
# While polls are put off, one comes when the jobs are older by this part of their age than at the last one.
_GROWTH = 0.25


@attrs.define(eq=False)
class Misses:
    """Count the misses of one load, and choose the jobs to poll although no poll is planned.

    Args:
        extra: Requests of these jobs beyond one poll and the result of each.
        returns: In how many seconds requests come back, as of the last plan.
        age: Age of the oldest job at the last plan, in seconds.
        early: What may be lost to early polls now.
        unanswered: What each job that is polled early has taken of that.
        surprises: Misses so far, less those that were expected.
        probe_at: Loop time of the next poll while planned ones are put off; None while they are not.
    """

    extra: float = 0.0
    returns: float = HOUR
    age: float = 0.0
    early: float = 0.0
    unanswered: dict[TrackedJob, float] = attrs.field(factory=dict)
    surprises: float = 0.0
    probe_at: float | None = None

    def allow(self, age: float, extra: float, returns: float, learned: float) -> None:
        """Allow as many more early misses as the time since the last plan is worth.

        Args:
            age: Age of the oldest job in seconds.
            extra: Requests of these jobs beyond one poll and the result of each.
            returns: In how many seconds requests come back.
            learned: Ends that were seen of such jobs.
        """
        if age > self.age >= FIRST_AGE:
            part = _PART * _ENOUGH_ENDS / (_ENOUGH_ENDS + learned)
            self.early += part * extra * math.log(age / self.age) / max(0.1, math.log1p(min(returns, HOUR) / age))
        self.early = min(self.early, max(1.0, extra / 4.0), extra - sum(self.unanswered.values()))
        self.age, self.extra, self.returns = age, extra, returns

    def chosen(self, curve: Curve, waiting: Mapping[TrackedJob, Timing], now: float) -> Iterator[TrackedJob]:
        """Give the jobs to poll now although no poll is planned.

        Args:
            curve: How long the jobs take.
            waiting: The jobs that may be polled.
            now: Time of the loop.
        """
        # Of jobs alike those are polled that lots name, which are on several pages of lists where these show them.
        may_be_polled = (
            (_running(curve, timing, now), job)
            for job, timing in waiting.items()
            if timing.age_known and now >= timing.polled_at + job.settings.policy.min_interval
        )
        likeliest = sorted(may_be_polled, key=lambda each: (round(each[0], 2), waiting[each[1]].lot))
        for running, job in likeliest:
            # Each poll that is under way may be a miss.
            if self.early < running or len(self.unanswered) + 1 > self.extra:
                break
            self.early -= running
            self.unanswered[job] = running
            yield job
        if self.probe_at is not None and now >= self.probe_at:
            probe = next((job for _, job in likeliest if job not in self.unanswered), None)
            if probe is None:
                # Jobs of unknown age cannot tell; their polls go on as planned.
                self.probe_at = None
            else:
                self._probe_later(waiting[probe], probe, now)
                yield probe

    def answered(
        self, job: TrackedJob, timing: Timing, now: float, *, finished: bool, curve: Curve, learned: float
    ) -> None:
        """Note what a poll of a job has shown.

        Args:
            job: The job.
            timing: When it was polled before.
            now: Time of the loop.
            finished: Whether it was found finished.
            curve: How long the jobs take.
            learned: Ends that were seen of such jobs.
        """
        if timing.age_known:
            self.surprises = max(0.0, self.surprises - _running(curve, timing, now) + (not finished))
        chance = max(_CHANCE, _CHANCE_PART * self.extra * (_ENOUGH_ENDS + learned) / (1.0 + learned))
        if self.probe_at is not None and finished:
            self.probe_at, self.surprises = None, self.surprises / 2.0
        elif not finished and (self.probe_at is not None or self.surprises > chance):
            self._probe_later(timing, job, now)

    def returned(self, job: TrackedJob, *, finished: bool) -> None:
        """Note that a poll of a job has ended, as far as requests are concerned."""
        if (cost := self.unanswered.pop(job, None)) is not None:
            self.early += cost if finished else cost - 1.0

    def _probe_later(self, timing: Timing, job: TrackedJob, now: float) -> None:
        wait = min(_GROWTH * (now - timing.started_at), self.returns)
        self.probe_at = now + max(job.settings.policy.min_interval, wait)


def _running(curve: Curve, timing: Timing, now: float) -> float:
    """Return how likely it is that a job that ran at its last poll still runs."""
    (before, _), (over, _) = curve.at(timing.polled_age), curve.at(now - timing.started_at)
    return min(1.0, (1.0 - over) / max(1.0 - before, 1e-9))
