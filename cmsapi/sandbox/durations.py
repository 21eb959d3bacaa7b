"""How long jobs take: distributions of durations in seconds, sampled with a seeded generator."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from random import Random
from typing import TypeAlias

from attrs import field, frozen
from attrs.validators import ge, gt


@frozen
class Fixed:
    """The same duration for all jobs.

    Args:
        seconds: Duration of each job in seconds.
    """

    seconds: float = field(validator=ge(0))

    def draw(self, rng: Random) -> float:
        """Return the duration in seconds; ``rng`` is not used."""
        return self.seconds


@frozen
class Lognormal:
    """Durations whose logarithm is normally distributed.

    Args:
        median: Median in seconds.
        spread: Standard deviation of the natural logarithm of the durations.
    """

    median: float = field(validator=gt(0))
    spread: float = field(validator=ge(0))

    def draw(self, rng: Random) -> float:
        """Return a random duration in seconds, drawn with ``rng``."""
        return rng.lognormvariate(log(self.median), self.spread)


@frozen
class Mixture:
    """Durations sampled from a weighted mixture of distributions.

    Args:
        parts: Pairs of a weight and a distribution.
    """

    parts: Sequence[tuple[float, Distribution]]

    def draw(self, rng: Random) -> float:
        """Choose one of the parts by weight, and return a duration in seconds drawn from it."""
        weights = [weight for weight, _ in self.parts]
        return rng.choices(self.parts, weights)[0][1].draw(rng)


Distribution: TypeAlias = Fixed | Lognormal | Mixture
