"""Unlisted work: distributions and sizes drawn at random, so that no constant can be tuned to those listed."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

import attrs

from benchmarks.fanout.durations import Distribution
from benchmarks.fanout.work import Kind, Work
from cmsapi.sandbox import Lognormal, Mixture, Weibull

DRAWS = 12
# Searches take three requests at least: more of them would not fit into an hour.
_MOST = {Kind.SEARCH: 300, Kind.ANALYSIS: 450}
_LEAST = 50
_STEPS = 10


@attrs.frozen
class Draw:
    """Hold work that was drawn.

    Args:
        told: What its durations are like.
        work: The work.
    """

    told: str
    work: Work


def draws() -> list[Draw]:
    """Draw work, the same every time."""
    return [_draw(number) for number in range(DRAWS)]


def _draw(number: int) -> Draw:
    rng = random.Random(f"unlisted {number}")
    kind = rng.choice(list(_MOST))
    count = rng.randint(_LEAST, _MOST[kind])
    told, jobs = _SHAPES[number % len(_SHAPES)](rng, count)
    return Draw(told, Work(name=f"unlisted {number}", kind=kind, jobs=tuple(jobs)))


def _between(rng: random.Random, low: float, high: float) -> float:
    """Draw a number whose logarithm is even."""
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def _one_lognormal(rng: random.Random) -> Lognormal:
    return Lognormal(round(_between(rng, 15, 900), 1), round(rng.uniform(0.2, 1.0), 2))


def _lognormal(rng: random.Random, count: int) -> tuple[str, Sequence[Distribution]]:
    each = _one_lognormal(rng)
    return f"lognormal, median {each.median:g} s, sigma {each.sigma:g}", [each] * count


def _weibull(rng: random.Random, count: int) -> tuple[str, Sequence[Distribution]]:
    each = Weibull(round(_between(rng, 20, 900), 1), round(_between(rng, 0.6, 3.0), 2))
    return f"Weibull, scale {each.scale:g} s, shape {each.shape:g}", [each] * count


def _mixture(rng: random.Random, count: int) -> tuple[str, Sequence[Distribution]]:
    parts = [(round(rng.uniform(0.2, 1.0), 2), _one_lognormal(rng)) for _ in range(rng.choice((2, 3)))]
    whole = sum(weight for weight, _ in parts)
    told = ", ".join(f"{weight / whole:.0%} {part.median:g} s / {part.sigma:g}" for weight, part in parts)
    return f"lognormals: {told}", [Mixture(parts)] * count


def _drifting(rng: random.Random, count: int) -> tuple[str, Sequence[Distribution]]:
    first, sigma, growth = _between(rng, 15, 300), round(rng.uniform(0.2, 0.8), 2), rng.uniform(2, 5)
    steps = [Lognormal(round(first * growth ** (step / (_STEPS - 1)), 1), sigma) for step in range(_STEPS)]
    told = f"lognormal, median from {steps[0].median:g} to {steps[-1].median:g} s in {_STEPS} steps, sigma {sigma:g}"
    return told, [steps[number * _STEPS // count] for number in range(count)]


_SHAPES: tuple[Callable[[random.Random, int], tuple[str, Sequence[Distribution]]], ...] = (
    _lognormal,
    _weibull,
    _mixture,
    _drifting,
)
