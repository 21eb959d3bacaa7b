"""Work drawn at random: families of durations, sizes and kinds, so that no constant can be tuned to listed work."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence

import attrs

from benchmarks.fanout.durations import Distribution, Uniform, age_at
from benchmarks.fanout.work import Kind, Work
from cmsapi.sandbox import Lognormal, Mixture, Weibull

DRAWS = 200
MEDIANS = 12.0, 300.0
_JOBS = 60, 480
_STEPS = 10


@attrs.frozen
class Draw:
    """Hold work that was drawn.

    Args:
        number: Its number, which is the seed that it was drawn with.
        family: The family of its durations.
        told: What its durations are like.
        work: The work.
    """

    number: int
    family: str
    told: str
    work: Work


def draws(count: int = DRAWS) -> list[Draw]:
    """Draw work, the same every time."""
    return [_draw(number) for number in range(count)]


def _draw(number: int) -> Draw:
    rng = random.Random(f"random {number}")
    kind = rng.choice(list(Kind))
    count, median = rng.randint(*_JOBS), between(rng, *MEDIANS)
    family = list(FAMILIES)[number % len(FAMILIES)]
    told, jobs = FAMILIES[family](rng, count, median)
    return Draw(
        number, family, told, Work(name=f"random {number}", kind=kind, jobs=tuple(jobs), once=True, forecast=True)
    )


def between(rng: random.Random, low: float, high: float) -> float:
    """Draw a number whose logarithm is even."""
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def _lognormal(rng: random.Random, count: int, median: float) -> tuple[str, Sequence[Distribution]]:
    each = Lognormal(round(median, 1), round(rng.uniform(0.2, 1.0), 2))
    return f"lognormal, median {each.median:g} s, sigma {each.sigma:g}", [each] * count


def _weibull(rng: random.Random, count: int, median: float) -> tuple[str, Sequence[Distribution]]:
    shape = round(between(rng, 0.6, 3.0), 2)
    each = Weibull(round(median / math.log(2.0) ** (1.0 / shape), 1), shape)
    return f"Weibull, scale {each.scale:g} s, shape {each.shape:g}", [each] * count


def _two_humps(rng: random.Random, count: int, median: float) -> tuple[str, Sequence[Distribution]]:
    share, apart = rng.uniform(0.3, 0.7), between(rng, 3.0, 15.0)
    return _mixed(count, median, [(share, 1.0, rng.uniform(0.1, 0.4)), (1.0 - share, apart, rng.uniform(0.1, 0.4))])


def _three_humps(rng: random.Random, count: int, median: float) -> tuple[str, Sequence[Distribution]]:
    parts, at = [], 1.0
    for _ in range(3):
        parts.append((rng.uniform(0.2, 1.0), at, rng.uniform(0.1, 0.4)))
        at *= between(rng, 2.0, 6.0)
    return _mixed(count, median, parts)


def _spike_and_tail(rng: random.Random, count: int, median: float) -> tuple[str, Sequence[Distribution]]:
    share = rng.uniform(0.5, 0.9)
    tail = (1.0 - share, between(rng, 1.5, 6.0), rng.uniform(0.6, 1.0))
    return _mixed(count, median, [(share, 1.0, rng.uniform(0.05, 0.15)), tail])


def _mixed(
    count: int, median: float, parts: Sequence[tuple[float, float, float]]
) -> tuple[str, Sequence[Distribution]]:
    """Mix lognormals, each given as a weight, a median and a sigma, with another median of the whole."""
    whole = sum(weight for weight, _, _ in parts)
    scale = median / age_at(Mixture([(weight, Lognormal(at, sigma)) for weight, at, sigma in parts]), 0.5)
    scaled = [(round(weight / whole, 2), round(at * scale, 1), round(sigma, 2)) for weight, at, sigma in parts]
    told = ", ".join(f"{weight:.0%} {at:g} s / {sigma:g}" for weight, at, sigma in scaled)
    mixture = Mixture([(weight, Lognormal(at, sigma)) for weight, at, sigma in scaled])
    return f"lognormals: {told}", [mixture] * count


def _uniform(rng: random.Random, count: int, median: float) -> tuple[str, Sequence[Distribution]]:
    width = rng.uniform(0.2, 1.0)
    each = Uniform(round(median * (1.0 - width), 1), round(median * (1.0 + width), 1))
    return f"uniform, {each.low:g} to {each.high:g} s", [each] * count


def _drift(rng: random.Random, count: int, median: float) -> tuple[str, Sequence[Distribution]]:
    """Drift the median over the batch, up or down, by a factor of 2 to 5 around the one that is asked for."""
    sigma, growth = round(rng.uniform(0.2, 0.8), 2), rng.uniform(2.0, 5.0) ** rng.choice((-1, 1))
    steps = [Lognormal(round(median * growth ** (step / (_STEPS - 1) - 0.5), 1), sigma) for step in range(_STEPS)]
    told = f"lognormal, median from {steps[0].median:g} to {steps[-1].median:g} s in {_STEPS} steps, sigma {sigma:g}"
    return told, [steps[number * _STEPS // count] for number in range(count)]


FAMILIES: Mapping[str, Callable[[random.Random, int, float], tuple[str, Sequence[Distribution]]]] = {
    "lognormal": _lognormal,
    "Weibull": _weibull,
    "two humps": _two_humps,
    "three humps": _three_humps,
    "spike and tail": _spike_and_tail,
    "uniform": _uniform,
    "drift": _drift,
}
