"""Learn how long jobs take, from looks that found them running or over.

Nothing is known of the service's durations, so they are learned, kind by kind. A look at a job tells only that it still
runs at an age, or that it ended between two ages. Two models weigh what looks tell:

- *One shape for all.* A few hundred lognormal and Weibull distributions stand side by side, and each observation
  multiplies the weight of each by how probable it made what was seen. That is exact, needs no samples, and is right
  after a handful of jobs. With little evidence a distribution spread over all of them would be so wide that nobody
  would ever be looked at, so the likely ones count more than their share at first.
- *A mixture.* Populations with two humps fit no single shape. Their parts are found by expectation maximisation, which
  needs many observations before it is better than a guess.

Both foretell each observation before they learn from it. The mixture is believed as far as it has foretold better.

Ages are counted on a fixed scale whose steps grow by 9 %, so that seconds and hours take the same effort.
"""

from __future__ import annotations

import functools
import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeAlias

import attrs

AGES: tuple[float, ...] = (0.0, *(2.0 * 1.09**step for step in range(119)))
#: Stands for an age beyond all others.
NEVER = len(AGES)

Row: TypeAlias = Sequence[float]
#: How many jobs ended between two steps of the scale.
Seen: TypeAlias = "Counter[tuple[int, int]]"

_MEDIANS = tuple(2.0 * 1.3**step for step in range(35))
# Deviations of the logarithm, and what is thought of each before anything is seen.
_SPREADS = {0.15: 0.5, 0.3: 1.0, 0.5: 1.5, 0.75: 1.0, 1.1: 0.6, 1.6: 0.3}
_SHAPES = {0.8: 0.25, 1.2: 0.25, 1.8: 0.25, 3.0: 0.25}
_PARTS = (0.2, 0.5)
# Before anything is seen, medians are thought to lie within a factor of four of the guess, as a rule.
_WIDTH = 1.4
# Likely distributions count as if all had been seen so many times; this fades with so many ends.
_SHARPNESS, _FADES = 6.0, 10.0
# Weight of the guess in the mixture, in jobs.
_GUESS = 0.3
# The mixture has to foretell so much better, in nats, before it is believed: it has more to fit with.
_DOUBT = 20.0
_LARGEST_LEAD = 30.0
# Of more ends than this, half of the evidence is forgotten, so that a service that changes is followed.
_MEMORY = 400.0
_SWEEPS = 3
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

    def lateness(self, step: int, age: float) -> float:
        """Return for how many seconds a job that ran at a step is expected to have been over at an age.

        It counts jobs that still run with 0.
        """
        at = step_before(age)
        if at <= step or self.running(step) < _NOTHING:
            return 0.0 if at <= step else age - AGES[step]
        beyond = (age - AGES[at]) * self.ended[at]
        area = self.area[at] - self.area[step] + beyond
        return max(0.0, area - self.ended[step] * (age - AGES[step])) / self.running(step)

    def remaining(self, step: int, within: float = math.inf) -> float:
        """Return how many of the next seconds a job that runs at a step is expected to go on for."""
        running = self.running(step)
        if running < _NOTHING:
            return min(AGES[step] * 0.5, within)
        until = min(AGES[step] + within, AGES[-1])
        end = max(step_before(until), step)
        whole = AGES[end] - AGES[step] - self.area[end] + self.area[step]
        return min((whole + (until - AGES[end]) * self.running(end)) / running, within)

    def quantile(self, share: float, step: int = 0) -> float:
        """Return the age at which a share of the jobs that ran at a step is over."""
        wanted = self.ended[step] + share * self.running(step)
        return AGES[min(bisect_right(self.ended, wanted, lo=step), NEVER - 1)]


class DurationModel:
    """Learn the durations of one kind of job.

    Args:
        guess: Median in seconds that is expected before anything was seen.
    """

    def __init__(self, guess: float) -> None:
        around = [math.exp(-0.5 * (math.log(median / guess) / _WIDTH) ** 2) for median in _MEDIANS]
        # Logarithms of weights: what has foretold badly for long would be nothing, and could never be believed again.
        self._shapes = [math.log(near * trust) for trust in (*_SPREADS.values(), *_SHAPES.values()) for near in around]
        self._guess = [_GUESS * weight for weight in _normal(around * len(_PARTS))]
        self._parts = _normal([1.0] * len(self._guess))
        # How much better than the other the mixture has foretold what was seen, in nats.
        self._lead = 0.0
        self._fresh: Counter[tuple[int, int]] = Counter()
        self._between: Counter[tuple[int, int]] = Counter()
        self._running: Counter[int] = Counter()
        self._curve: Curve | None = None
        self._last: Curve | None = None
        #: Jobs whose end was seen.
        self.ends: float = 0.0
        #: Between which steps jobs ended whose end was seen here and was not written down yet.
        self.unwritten: Seen = Counter()

    def saw_running(self, before: int, now: int) -> None:
        """Learn that a job that ran at a step still ran at a later one."""
        if now > before:
            self._fresh[before, -now] += 1
            self._forget(before)
            self._running[now] += 1
            self._curve = None

    def saw_end(self, before: int, now: int) -> None:
        """Learn that a job that ran at a step was over at a later one."""
        now = max(now, before + 1)
        self.unwritten[before, now] += 1
        self._fresh[before, now] += 1
        self._forget(before)
        self._between[before, now] += 1
        self.ends += 1
        self._curve = None

    def learn(self, seen: Seen) -> None:
        """Learn what others have seen: between which steps so many jobs ended."""
        for (before, now), count in seen.items():
            # It ran from its launch to the one step, and was over at the other.
            if before:
                self._fresh[0, -before] += count
            self._fresh[before, now] += count
            self._between[before, now] += count
            self.ends += count
        self._curve = None

    def curve(self) -> Curve:
        """Return what is believed now."""
        if self._curve is None:
            self._learn()
            self._curve = self._last = Curve.of(self._foretell())
        return self._curve

    def last_curve(self) -> Curve:
        """Return what was believed when it was last asked for, without learning what was seen since.

        Learning takes about a millisecond. Plans learn once a second; what is asked for each job goes by the last plan.
        """
        return self._last or self.curve()

    def _forget(self, step: int) -> None:
        # A job counts once in the mixture, with the last that is known of it.
        if self._running[step] > 1:
            self._running[step] -= 1
        else:
            del self._running[step]

    def _learn(self) -> None:
        fresh, self._fresh = self._fresh, Counter()
        if not fresh:
            return
        shapes, parts = _shapes(), _parts()
        for (before, now), count in fresh.items():
            # What still runs ends between now and never.
            low, high = (-now, NEVER) if now < 0 else (before, now)
            self._lead += count * math.log(_given(self._parts, parts, before, low, high))
            single = _share(shapes, before, low, high)
            before_it = _log_sum(self._shapes)
            self._shapes = [
                weight + count * math.log(share) for weight, share in zip(self._shapes, single, strict=True)
            ]
            self._lead -= _log_sum(self._shapes) - before_it
        self._lead = max(-_LARGEST_LEAD, min(_LARGEST_LEAD, self._lead))
        for _ in range(_SWEEPS):
            self._sweep(parts)
        if self.ends > _MEMORY:
            self._halve()

    def _sweep(self, parts: Sequence[Row]) -> None:
        seen = list(self._between.items())
        seen += [((step, NEVER), count) for step, count in self._running.items() if step]
        sums = list(self._guess)
        for (low, high), count in seen:
            shares = [
                weight * (upper - lower)
                for weight, lower, upper in zip(self._parts, parts[low], parts[high], strict=True)
            ]
            whole = sum(shares)
            if whole > _NOTHING:
                scale = count / whole
                sums = [total + scale * share for total, share in zip(sums, shares, strict=True)]
        self._parts = _normal(sums)

    def _halve(self) -> None:
        self.ends /= 2
        self._between = Counter({seen: count / 2 for seen, count in self._between.items()})
        self._running = Counter({step: count / 2 for step, count in self._running.items()})
        self._shapes = [weight / 2 for weight in self._shapes]

    def _foretell(self) -> list[float]:
        exponent = 1.0 + (_SHARPNESS - 1.0) * _FADES / (_FADES + self.ends)
        most = max(self._shapes)
        weights = _normal([math.exp(exponent * (weight - most)) for weight in self._shapes])
        # Nearly all of them are next to nothing.
        likely = [(cell, weight) for cell, weight in enumerate(weights) if weight > 1e-4]
        trust = 1.0 / (1.0 + math.exp(_DOUBT - self._lead))
        ended = []
        for shape_row, part_row in zip(_shapes()[:NEVER], _parts()[:NEVER], strict=True):
            share = sum(weight * shape_row[cell] for cell, weight in likely)
            if trust > 1e-3:
                # Written so that rounding cannot make it fall from one age to the next.
                share = (1.0 - trust) * share + trust * sum(map(float.__mul__, self._parts, part_row))
            ended.append(min(1.0, share))
        return ended


def _share(rows: Sequence[Row], before: int, low: int, high: int) -> list[float]:
    """Return what each distribution gives to an end between two steps, for jobs that run at a step."""
    return [
        (upper - lower + _NOTHING) / (1.0 - begun + _NOTHING)
        for begun, lower, upper in zip(rows[before], rows[low], rows[high], strict=True)
    ]


def _given(weights: Row, rows: Sequence[Row], before: int, low: int, high: int) -> float:
    """Return what a mixture gives to the same."""
    inside = sum(w * (upper - lower) for w, lower, upper in zip(weights, rows[low], rows[high], strict=True))
    running = sum(w * (1.0 - begun) for w, begun in zip(weights, rows[before], strict=True))
    return (inside + _NOTHING) / (running + _NOTHING)


def _log_sum(logarithms: Sequence[float]) -> float:
    most = max(logarithms)
    return most + math.log(sum(math.exp(each - most) for each in logarithms))


def _normal(weights: Sequence[float]) -> list[float]:
    whole = sum(weights)
    return [weight / whole for weight in weights]


def _lognormal(median: float, spread: float) -> Callable[[float], float]:
    return lambda age: 0.5 * math.erfc(-math.log(age / median) / spread / math.sqrt(2))


def _weibull(median: float, shape: float) -> Callable[[float], float]:
    return lambda age: 1.0 - 0.5 ** ((age / median) ** shape)


def _rows(distributions: Sequence[Callable[[float], float]]) -> list[Row]:
    """Tabulate distributions: one row for each step, one column for each distribution, and a last row of ones."""
    zero, one = [0.0] * len(distributions), [1.0] * len(distributions)
    return [zero, *([ended(age) for ended in distributions] for age in AGES[1:]), one]


@functools.cache
def _shapes() -> list[Row]:
    lognormal = [_lognormal(median, spread) for spread in _SPREADS for median in _MEDIANS]
    return _rows(lognormal + [_weibull(median, shape) for shape in _SHAPES for median in _MEDIANS])


@functools.cache
def _parts() -> list[Row]:
    return _rows([_lognormal(median, spread) for spread in _PARTS for median in _MEDIANS])
