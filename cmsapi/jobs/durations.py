"""Estimate of how long each kind of job takes: a life table over a geometric scale of ages, built from polls.

A poll shows only that a job was running at one age, or that it ended between two ages. For each step of the scale, the
table keeps how many jobs reached the step and how many ended in it, as fractional weights. The table begins with a
guess that weighs as much as three jobs, so that the first fan-out can be planned; observed durations soon outweigh it.
"""

from __future__ import annotations

import bisect
import json
import math

_FIRST_AGE = 2.0  # seconds of the first step of the scale of ages
_RATIO = 1.1  # factor between two steps of the scale of ages
_STEPS = 110  # steps of the scale of ages, which ends at 18 hours
_GUESS = 60.0  # guessed median duration in seconds, before any job has been seen
_SPREAD = 1.4
"""Standard deviation of the logarithm of a duration, as guessed: 95 % of jobs take between 4 s and 16 min."""
_WEIGHT = 3.0  # weight of the guess, as a number of jobs
_HARDIEST = 1e-3  # smallest share of jobs assumed to outlive a step, so that no age is certain to be the last

AGES = tuple(_FIRST_AGE * _RATIO**step if step >= 0 else 0.0 for step in range(-1, _STEPS))
LAST = len(AGES) - 1


def step_of(age: float) -> int:
    """Return the index in `AGES` of the step that contains ``age``; `LAST` for all ages beyond the scale."""
    return bisect.bisect_right(AGES, age) - 1


class Durations:
    """Life table of one kind of job: how many jobs reached each step of age, and how many ended in it."""

    def __init__(self) -> None:
        over = [0.0, *(0.5 * math.erfc(math.log(_GUESS / age) / _SPREAD / math.sqrt(2)) for age in AGES[1:])]
        self._at_risk = [_WEIGHT] * LAST
        self._ended = [_WEIGHT * (over[step + 1] - over[step]) / (1 - over[step]) for step in range(LAST)]
        self.ends: int = 0  # number of ends that were seen
        self.alive: list[float] = []  # for each step, the share of all jobs still running when the step begins
        self.area: list[float] = []  # for each step, the integral of the share that has ended, from age 0 to the step
        self.refresh()

    def refresh(self) -> None:
        """Recompute ``alive`` and ``area`` from the guess and from all jobs seen so far."""
        self.alive, self.area = [1.0], [0.0]
        for step in range(LAST):
            self.alive.append(self.alive[-1] * max(_HARDIEST, 1 - self._ended[step] / self._at_risk[step]))
            width = AGES[step + 1] - AGES[step]
            self.area.append(self.area[-1] + width * (1 - (self.alive[-1] + self.alive[-2]) / 2))

    def load(self, learned: str) -> None:
        """Replace the table with ``learned``, the output of `dump`; do nothing if its number of steps is different."""
        at_risk, ended, ends = json.loads(learned)
        if len(at_risk) == len(ended) == LAST:
            self._at_risk, self._ended, self.ends = at_risk, ended, ends
            self.refresh()

    def dump(self) -> str:
        """Return the table, with rounded weights, as JSON text that `load` reads."""
        digits = 3
        rounded = [[round(weight, digits) for weight in weights] for weights in (self._at_risk, self._ended)]
        return json.dumps([*rounded, self.ends])

    def saw_running(self, since: float, age: float) -> None:
        """Account for a job seen running at ``age`` and last seen before at age ``since`` (0: at its launch)."""
        for step in range(step_of(since), step_of(age)):
            self._at_risk[step] += 1

    def saw_end(self, since: float, age: float) -> None:
        """Account for a job that ended between ``since`` and ``age``; distribute it over the steps by likelihood."""
        first = step_of(since)
        steps = range(first, min(LAST, max(step_of(age) + 1, first + 1)))
        weights = [self.alive[step] - self.alive[step + 1] + 1e-9 for step in steps]
        left = total = sum(weights)
        for step, weight in zip(steps, weights, strict=True):
            self._at_risk[step] += left / total
            self._ended[step] += weight / total
            left -= weight
        self.ends += 1

    def quantile(self, share: float, step: int) -> float:
        """Return the age by which ``share`` of the jobs that reached ``step`` have ended, at most ``AGES[LAST]``."""
        wanted = (1 - share) * self.alive[step]
        return next((AGES[later] for later in range(step, LAST) if self.alive[later] <= wanted), AGES[LAST])
