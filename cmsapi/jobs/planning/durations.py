"""Learn how long jobs take, from polls that found them running or finished.

Nothing is known of the service's durations, so they are learned, kind by kind. A poll tells only that a job still runs
at an age, or that it ended between two ages. The model is a life table: at each age, how many jobs were observed to
run, and how many of them ended before the next age. An end between two polls is spread over the ages in between, in
proportion to what is believed. A life table takes jobs that still run, and jobs that were given up, for what they are.

The table starts with a prior, a lognormal distribution that weighs as much as a few jobs. Its location and spread
follow the observations. So a handful of jobs gives a sensible shape, and many jobs show any shape, also one with two
humps. One part in a hundred of the prior is spread widely, and never weighs less, at whatever age: a job that has
outlived the others is not expected to end at any moment, but after a time in proportion to its age.

Ages are counted on a fixed scale whose steps grow by 9 %, so that seconds and hours take the same effort.
"""

from __future__ import annotations

import functools
import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import TypeAlias

import attrs

AGES: tuple[float, ...] = (0.0, *(2.0 * 1.09**step for step in range(119)))
#: Stands for an age beyond all others.
NEVER = len(AGES)

Row: TypeAlias = Sequence[float]
#: How many jobs ended between two steps of the scale.
Seen: TypeAlias = "Counter[tuple[int, int]]"

# The guess of the median weighs as much as one job, and the usual spread of the logarithm as much as six.
_GUESS, _USUAL_SPREAD, _SPREAD = 1.0, 6.0, 0.5
# The prior weighs as much as 15 jobs in the life table.
_PRIOR = 15.0
# This share of the prior has a long tail.
_TAIL, _TAIL_SPREAD = 0.01, 2.0
#: Of more ends than this, half of the evidence is forgotten, so that a service that changes is followed.
MEMORY = 400.0
_NOTHING = 1e-9


def step_before(age: float) -> int:
    """Return the last step of the scale that is not above an age."""
    return bisect_right(AGES, max(0.0, age)) - 1


def step_after(age: float) -> int:
    """Return the first step of the scale that is not below an age; the last one for ages beyond it."""
    before = step_before(age)
    return before if AGES[before] >= age else min(before + 1, NEVER - 1)


@attrs.frozen(eq=False)
class Curve:
    """Hold a distribution of durations on the scale of ages.

    Args:
        ended: Share of jobs that are over at each age.
        area: Integral of `ended` from 0 to each age, in seconds.
    """

    ended: Row
    area: Row

    @classmethod
    def of(cls, ended: Row) -> Curve:
        """Make a curve from the share of jobs that are over at each age."""
        area = [0.0]
        for step in range(1, NEVER):
            area.append(area[-1] + 0.5 * (ended[step] + ended[step - 1]) * (AGES[step] - AGES[step - 1]))
        return cls(ended, area)

    def running(self, step: int) -> float:
        """Return the share of jobs that still run at a step."""
        return max(0.0, 1.0 - self.ended[step])

    def at(self, age: float) -> tuple[float, float]:
        """Return the share of jobs that are over at an age, and the integral of it from 0; ends are even in a step."""
        step = step_before(age)
        past, before = age - AGES[step], self.ended[step]
        if step == NEVER - 1:
            return before, self.area[step] + past * before
        slope = (self.ended[step + 1] - before) / (AGES[step + 1] - AGES[step])
        return before + past * slope, self.area[step] + past * (before + 0.5 * past * slope)

    def lateness(self, seen: float, age: float) -> float:
        """Return for how many seconds a job that ran at an age is expected to have been over at a later one.

        It counts jobs that still run with 0.
        """
        if age <= seen:
            return 0.0
        (before, area), (_, until) = self.at(seen), self.at(age)
        if 1.0 - before < _NOTHING:
            return age - seen
        return max(0.0, until - area - before * (age - seen)) / (1.0 - before)

    def remaining(self, step: int, within: float = math.inf) -> float:
        """Return how many of the next seconds a job that runs at a step is expected to go on for."""
        running = self.running(step)
        if running < _NOTHING:
            return min(AGES[step] * 0.5, within)
        until = min(AGES[step] + within, AGES[-1])
        over = self.at(until)[1] - self.area[step]
        return min(max(0.0, until - AGES[step] - over) / running, within)

    def quantile(self, share: float, step: int = 0) -> float:
        """Return the age at which a share of the jobs that ran at a step is over."""
        wanted = self.ended[step] + share * self.running(step)
        return AGES[min(bisect_right(self.ended, wanted, lo=step), NEVER - 1)]


@attrs.frozen(eq=False)
class Observed:
    """Hold what was observed of the durations of a kind.

    Args:
        ends: Between which steps how many jobs were seen to end.
        beyond: For each step, how many jobs were seen to run at the next one.
    """

    ends: Mapping[tuple[int, int], float]
    beyond: Row


class DurationModel:
    """Learn the durations of one kind of job.

    Args:
        guess: Median in seconds that is expected before anything was observed.
    """

    def __init__(self, guess: float) -> None:
        self._guess = math.log(guess)
        self._location, self._spread = self._guess, _SPREAD
        # Share of jobs that end between each step and the next, as it is believed; beyond the scale in the last one.
        self._shares: Row = _lognormal(self._location, self._spread)
        # For each step: jobs that were observed to run at it, and those of them that ended before the next one.
        self._exposed = [0.0] * NEVER
        self._ended = [0.0] * NEVER
        self._curve: Curve | None = None
        self._last: Curve | None = None
        # Between which steps jobs were seen to end.
        self._seen: dict[tuple[int, int], float] = defaultdict(float)
        #: Jobs whose end was observed.
        self.ends: float = 0.0
        #: Between which steps jobs ended whose end was observed here and was not written down yet.
        self.unwritten: Seen = Counter()

    def saw_running(self, before: int, now: int) -> None:
        """Learn that a job that ran at a step still ran at a later one."""
        if now > before:
            self._survive(before, now, 1.0)

    def saw_end(self, before: int, now: int) -> None:
        """Learn that a job that ran at a step was finished at a later one."""
        now = max(now, before + 1)
        self.unwritten[before, now] += 1
        self._end(before, now, 1.0)

    def learn(self, seen: Seen) -> None:
        """Learn what other processes observed: how many jobs ended between which steps."""
        for (before, now), jobs in seen.items():
            self._survive(0, before, jobs)
            self._end(before, now, jobs)

    def curve(self) -> Curve:
        """Return what is believed now."""
        if self._curve is None:
            if self.ends > MEMORY:
                self.ends /= 2
                self._seen = defaultdict(float, {steps: jobs / 2 for steps, jobs in self._seen.items() if jobs > 0.25})
                self._exposed = [jobs / 2 for jobs in self._exposed]
                self._ended = [jobs / 2 for jobs in self._ended]
            self._fit()
            self._curve = self._last = _believed((0.0, *accumulate(self._shares[:-1])))
        return self._curve

    @property
    def observed(self) -> Observed:
        """What was observed so far."""
        last_seen = [0.0] * (NEVER + 1)
        for (before, _), jobs in self._seen.items():
            last_seen[before] += jobs
        for step in range(1, NEVER):
            last_seen[step] += max(0.0, self._exposed[step - 1] - self._ended[step - 1] - self._exposed[step])
        beyond = [*accumulate(reversed(last_seen))][-2::-1]
        return Observed(self._seen, beyond)

    def ended_within(self, share: float) -> float:
        """Return the age at which a share of the ends that were seen had come; jobs that still run do not count.

        For a curve each of them counts, so that stuck jobs would pass for what is usual.
        """
        ended = [*accumulate(self._ended)]
        return AGES[min(bisect_left(ended, share * ended[-1]) + 1, NEVER - 1)]

    def last_curve(self) -> Curve:
        """Return what was believed when it was last asked for, without learning what was observed since.

        Plans learn once a second; what is asked for each job goes by the last plan.
        """
        return self._last or self.curve()

    def _survive(self, before: int, now: int, jobs: float) -> None:
        for step in range(before, now):
            self._exposed[step] += jobs
        self._curve = None

    def _end(self, before: int, now: int, jobs: float) -> None:
        self._seen[before, now] += jobs
        # An end that was thought to be impossible may lie anywhere between its two steps.
        shares = [share + _NOTHING for share in self._shares[before:now]]
        whole, running = sum(shares), jobs
        for step, share in enumerate(shares, before):
            ended = jobs * share / whole
            self._exposed[step] += running
            self._ended[step] += ended
            running -= ended
        self.ends += jobs
        self._curve = None

    def _fit(self) -> None:
        """Fit the prior to the observations, and take both together for the shares."""
        self._fit_prior()
        exposed, ended = _smooth(self._exposed), _smooth(self._ended)
        prior_running = running = 1.0
        shares = []
        for step, prior in enumerate(self._prior()):
            # However few are expected to reach an age, the tail says of it as much as of any other.
            weight = _PRIOR * max(prior_running, _TAIL)
            hazard = (weight * prior / max(prior_running, _NOTHING) + ended[step]) / (weight + exposed[step])
            shares.append(running * min(1.0, hazard))
            running -= shares[-1]
            prior_running -= prior
        self._shares = shares

    def _prior(self) -> Row:
        bulk, tail = _lognormal(self._location, self._spread), _lognormal(self._location, _TAIL_SPREAD)
        return [(1.0 - _TAIL) * usual + _TAIL * rare for usual, rare in zip(bulk, tail, strict=True)]

    def _fit_prior(self) -> None:
        # A job that was last observed to run ends, as it is believed, like others of its age. The oldest one may be
        # stuck, and says nothing of the others.
        last_seen, stuck = [0.0] * NEVER, 1.0
        for step in range(NEVER - 1, 0, -1):
            left = max(0.0, self._exposed[step - 1] - self._ended[step - 1] - self._exposed[step])
            last_seen[step] = max(0.0, left - stuck)
            stuck -= min(stuck, left)
        counts = list(self._ended)
        later = 0.0
        for step, share in enumerate(self._shares):
            later += last_seen[step] / max(sum(self._shares[step:]), _NOTHING)
            counts[step] += later * share
        jobs = sum(counts)
        self._location = (_GUESS * self._guess + _product(counts, _LOGARITHMS)) / (_GUESS + jobs)
        squares = _product(counts, ((at - self._location) ** 2 for at in _LOGARITHMS))
        self._spread = math.sqrt((_USUAL_SPREAD * _SPREAD**2 + squares) / (_USUAL_SPREAD + jobs))


# Clients that have seen the same believe the same, so that their schedules are computed once.
@functools.lru_cache(maxsize=16)
def _believed(ended: tuple[float, ...]) -> Curve:
    return Curve.of([min(1.0, share) for share in ended])


# Logarithm of the age in the middle of each step.
_LOGARITHMS = (math.log(1.0), *(math.log(2.0 * 1.09 ** (step + 0.5)) for step in range(NEVER - 1)))


def _lognormal(location: float, spread: float) -> list[float]:
    """Return the shares of a lognormal distribution that end between each step and the next."""
    ended = [0.0, *(0.5 * math.erfc((location - math.log(age)) / spread / math.sqrt(2)) for age in AGES[1:]), 1.0]
    return [upper - lower for lower, upper in pairwise(ended)]


def _product(counts: Row, values: Iterable[float]) -> float:
    return sum(map(float.__mul__, counts, values))


def _smooth(counts: Row) -> Row:
    """Spread each count over its neighbours, twice: chance makes humps, and a plan would make the most of them."""
    for _ in range(2):
        around = zip((counts[0], *counts), counts, (*counts[1:], counts[-1]), strict=False)
        counts = [(before + 2.0 * at + after) / 4.0 for before, at, after in around]
    return counts
