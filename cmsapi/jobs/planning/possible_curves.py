"""Give the distributions of durations that the observations allow, as a handful of equally likely curves.

One curve says how long jobs take; several say how well that is known. Each is a life table whose prior is a lognormal
distribution of its own location and spread. Before an end was seen, they lie as far apart as durations of unknown jobs
do; with every job seen they move together. What happens beyond the oldest age that was observed is told by the ages
just before it, more than by those long before: where all jobs of a first hump are over, the others are not expected to
be like them.
"""

from __future__ import annotations

import functools
import itertools
import math
from bisect import bisect_left

from cmsapi.jobs.planning.durations import AGES, NEVER, Curve, Observed, Row

# How far the logarithm of the median lies from its guess, before anything was observed.
_GUESS_SPREAD = 1.2
# The spreads of the logarithm that are thought of, and how likely each is before anything was observed.
_SPREADS = {0.1: 1.0, 0.2: 1.0, 0.35: 2.0, 0.6: 2.0, 1.0: 1.0, 1.6: 0.1}
# Ages count the less the further they are from the oldest one that was observed, in logarithms.
_NEAR = 0.5
# The lognormal weighs as much as ten jobs in the life table.
_WEIGHT = 10.0
# Three of ten ends are of no kind that is thought of.
_STRANGE = 0.3
_GROWTH = math.log(AGES[2] / AGES[1])
_NOTHING = 1e-12
# The lognormals that are thought of, by the spread and the step of the median.
_LOGNORMALS = [(spread, location) for spread in _SPREADS for location in range(-4, NEVER, 2)]


@functools.lru_cache(maxsize=2048)
def _lasting(step: int, until: int) -> list[float]:
    """Return for each lognormal the share of the jobs that run at a step that still run at a later one."""

    def share(spread: float, location: int) -> float:
        before = _running(spread, step - location) if step else 1.0
        return _running(spread, until - location) / before if before > 0.0 else 0.0

    return [share(*lognormal) for lognormal in _LOGNORMALS]


@functools.cache
def _running(spread: float, step: int) -> float:
    """Return the share of the jobs of a lognormal that still run a number of steps after the median."""
    return 0.5 * math.erfc(step * _GROWTH / spread / math.sqrt(2))


@functools.lru_cache(maxsize=2048)
def _ending(before: int, now: int) -> list[float]:
    """Return for each lognormal the logarithm of the chance that a job that ran at a step ended before a later one."""
    strange = _STRANGE * (now - before) / NEVER
    return [math.log(strange + (1.0 - _STRANGE) * (1.0 - share)) for share in _lasting(before, now)]


@functools.cache
def _staying(step: int) -> list[float]:
    """Return for each lognormal the logarithm of the chance that a job that ran at a step runs at the next one."""
    return [math.log(max(_NOTHING, share)) for share in _lasting(step, step + 1)]


def possible_curves(guess: float, observed: Observed, count: int = 12) -> list[Curve]:
    """Return equally likely curves, from the one with the shortest durations to the one with the longest.

    Args:
        guess: Median in seconds that is expected before anything was observed.
        observed: What was observed.
        count: How many curves.
    """
    ends, beyond = observed.ends, observed.beyond
    oldest = max([now for _, now in ends] + [step for step, jobs in enumerate(beyond) if jobs > 0.5], default=0)
    middle = math.log(guess / AGES[1]) / _GROWTH + 1.0
    likely = [
        math.log(_SPREADS[spread]) - ((location - middle) * _GROWTH / _GUESS_SPREAD) ** 2 / 2.0
        for spread, location in _LOGNORMALS
    ]
    for (before, now), jobs in ends.items():
        weight = jobs * math.exp((now - oldest) * _GROWTH / _NEAR)
        if weight > 1e-3:
            likely = [so_far + weight * each for so_far, each in zip(likely, _ending(before, now), strict=True)]
    for step, jobs in enumerate(beyond[: oldest + 1]):
        weight = jobs * math.exp((step - oldest) * _GROWTH / _NEAR)
        if weight > 1e-3:
            likely = [so_far + weight * each for so_far, each in zip(likely, _staying(step), strict=True)]
    best = max(likely)
    order = sorted(
        (location * _GROWTH + 2.0 * spread, math.exp(each - best), spread, location)
        for each, (spread, location) in zip(likely, _LOGNORMALS, strict=True)
    )
    chances = [*itertools.accumulate(chance for _, chance, *_ in order)]
    curves = []
    for number in range(count):
        *_, spread, location = order[bisect_left(chances, (number + 0.5) / count * chances[-1])]
        curves.append(_life_table(spread, location, observed))
    return curves


@functools.lru_cache(maxsize=256)
def _over(spread: float, location: int) -> Row:
    """Return the share of the jobs of a lognormal that are over at each step."""
    return [0.0, *(1.0 - _running(spread, step - location) for step in range(1, NEVER + 1))]


def _life_table(spread: float, location: int, observed: Observed) -> Curve:
    """Return the curve of a life table that begins with a lognormal."""
    over = _over(spread, location)
    ended, exposed = [0.0] * NEVER, list(observed.beyond)
    for (before, now), jobs in observed.ends.items():
        # An end that this lognormal rules out may lie anywhere between its two steps.
        rate = jobs / (over[now] - over[before] + _NOTHING * (now - before))
        left = float(jobs)
        for step in range(before, now):
            exposed[step] += left
            end = rate * (over[step + 1] - over[step] + _NOTHING)
            ended[step] += end
            left -= end
    running, table = 1.0, [0.0]
    for was_over, is_over, seen, exposure in zip(over, over[1:-1], ended, exposed, strict=False):
        share = (_WEIGHT * (is_over - was_over) + seen) / (_WEIGHT * (1.0 - was_over) + exposure + _NOTHING)
        running *= max(0.0, 1.0 - share)
        table.append(1.0 - running)
    return Curve.of(table)
