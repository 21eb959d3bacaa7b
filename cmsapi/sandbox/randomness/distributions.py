"""Distributions of durations and delays."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

import attrs

Distribution = Callable[[random.Random], float]


@attrs.frozen
class Lognormal:
    """Draw a duration whose logarithm is normal: a long tail to the right.

    Args:
        median: Median in seconds.
        sigma: Standard deviation of the logarithm.
    """

    median: float = attrs.field(validator=attrs.validators.gt(0))
    sigma: float = attrs.field(default=0.6, validator=attrs.validators.ge(0))

    def __call__(self, rng: random.Random) -> float:
        """Draw one duration in seconds."""
        return self.median * float(rng.lognormvariate(0.0, self.sigma))


@attrs.frozen
class Fixed:
    """Return the same duration each time.

    Args:
        seconds: The duration.
    """

    seconds: float = attrs.field(validator=attrs.validators.ge(0))

    def __call__(self, rng: random.Random) -> float:
        """Return the duration in seconds."""
        return self.seconds


@attrs.frozen
class Weibull:
    """Draw a duration from a Weibull distribution.

    Args:
        scale: Scale in seconds.
        shape: Below 1 the tail is heavy, above 1 the hazard rises with time.
    """

    scale: float = attrs.field(validator=attrs.validators.gt(0))
    shape: float = attrs.field(validator=attrs.validators.gt(0))

    def __call__(self, rng: random.Random) -> float:
        """Draw one duration in seconds."""
        return float(rng.weibullvariate(self.scale, self.shape))


def _parts(parts: Iterable[tuple[float, Distribution]]) -> tuple[tuple[float, Distribution], ...]:
    return tuple(parts)


@attrs.frozen
class Mixture:
    """Draw from one of several distributions, by weight.

    Args:
        parts: Pairs of weight and distribution.
    """

    parts: tuple[tuple[float, Distribution], ...] = attrs.field(converter=_parts, validator=attrs.validators.min_len(1))

    def __call__(self, rng: random.Random) -> float:
        """Draw one duration in seconds."""
        (part,) = rng.choices([part for _, part in self.parts], [weight for weight, _ in self.parts])
        return part(rng)
