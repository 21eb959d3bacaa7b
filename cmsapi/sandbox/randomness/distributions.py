"""How long jobs take. Nothing is known of the real durations, so every one of them is a setting.

A job's duration depends on the seed, its kind, its target and on how often that target was launched before: two
strategies run against the same seed meet the same durations, in whatever order they launch.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping

import attrs

KEYWORD_ANALYSIS = "keyword_analysis"
PROMPT_ANALYSIS = "prompt_analysis"
IDEA_SEARCH = "idea_search"
GENERATION = "generation"
KNOWLEDGE_DOCUMENT = "knowledge_document"
KINDS = (KEYWORD_ANALYSIS, PROMPT_ANALYSIS, IDEA_SEARCH, GENERATION, KNOWLEDGE_DOCUMENT)

Distribution = Callable[[random.Random], float]
Durations = Mapping[str, Distribution | float] | Distribution | float


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
    """Take the same time always.

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
        shape: Below 1 a heavy tail, above 1 an ageing process.
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


DEFAULTS: Mapping[str, Distribution] = {
    KEYWORD_ANALYSIS: Lognormal(60.0),
    PROMPT_ANALYSIS: Lognormal(60.0),
    IDEA_SEARCH: Lognormal(60.0),
    GENERATION: Lognormal(120.0),
    KNOWLEDGE_DOCUMENT: Lognormal(20.0),
}


def by_kind(durations: Durations | None) -> dict[str, Distribution]:
    """Complete a setting: nothing, one distribution for all kinds, or a mapping that overrides some.

    Raises:
        ValueError: The mapping names a kind that does not exist.
        TypeError: Something is neither a number nor a distribution.
    """
    if durations is None:
        return dict(DEFAULTS)
    if not isinstance(durations, Mapping):
        return dict.fromkeys(KINDS, _distribution(durations))
    known_kinds(durations)
    return {**DEFAULTS, **{kind: _distribution(each) for kind, each in durations.items()}}


def _distribution(setting: Distribution | float) -> Distribution:
    if callable(setting):
        return setting
    if isinstance(setting, bool) or not isinstance(setting, int | float):
        raise TypeError(f"a duration is a number of seconds or a distribution such as Lognormal(60), not {setting!r}")
    return Fixed(float(setting))


def known_kinds(setting: Mapping[str, object]) -> None:
    """Refuse a mapping that names a kind of job that does not exist.

    Raises:
        ValueError: It does; the message lists the kinds.
    """
    if unknown := set(setting) - set(KINDS):
        raise ValueError(f"no such kind of job: {', '.join(sorted(unknown))}; kinds are {', '.join(KINDS)}")
