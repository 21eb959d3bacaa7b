"""How long jobs take: drawn once for a batch, and known as a distribution to a strategy that plans with it.

The n-th launch of a run takes the n-th duration, in each strategy: an identifier would not do as a name, because that
of a search depends on how many there were before. Each item has a distribution of its own, so that they may drift.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import attrs

from cmsapi.sandbox import Fixed, Lognormal, Mixture, Weibull


@attrs.frozen
class Uniform:
    """Draw a duration that may with equal chance be any between two.

    Args:
        low: The shortest in seconds.
        high: The longest in seconds.
    """

    low: float
    high: float

    def __call__(self, rng: random.Random) -> float:
        """Draw one duration in seconds."""
        return rng.uniform(self.low, self.high)


Distribution: TypeAlias = Fixed | Lognormal | Weibull | Mixture | Uniform


def finished(distribution: Distribution, age: float) -> float:
    """Return the probability that a job is over at an age in seconds."""
    if age <= 0:
        return 0.0
    match distribution:
        case Fixed(seconds):
            return float(age >= seconds)
        case Lognormal(median, sigma):
            return 0.5 * math.erfc(-math.log(age / median) / (sigma * math.sqrt(2)))
        case Weibull(scale, shape):
            return -math.expm1(-((age / scale) ** shape))
        case Uniform(low, high):
            return min(1.0, max(0.0, (age - low) / (high - low)))
        case Mixture(parts):
            # The sandbox's mixtures hold any function; ours hold only what has a distribution function.
            shares = [(weight, finished(part, age)) for weight, part in parts if isinstance(part, Distribution)]
            return sum(weight * share for weight, share in shares) / sum(weight for weight, _ in shares)


def age_at(distribution: Distribution, probability: float) -> float:
    """Return the age in seconds at which a job is over with a probability."""
    low, high = 1e-6, 1e9
    while high / low > 1.0001:
        middle = math.sqrt(low * high)
        if finished(distribution, middle) < probability:
            low = middle
        else:
            high = middle
    return high


def draw(jobs: Iterable[Distribution], *name: object) -> list[float]:
    """Draw a duration in seconds for each job; the same name gives the same durations."""
    rng = random.Random(":".join(map(str, name)))
    return [distribution(rng) for distribution in jobs]


class Script:
    """Give durations out in the order of the launches.

    Args:
        seconds: The durations.
    """

    def __init__(self, seconds: Iterable[float]) -> None:
        self._seconds: Iterator[float] = iter(seconds)

    def __call__(self, rng: random.Random) -> float:
        """Return the next duration in seconds."""
        return next(self._seconds)
