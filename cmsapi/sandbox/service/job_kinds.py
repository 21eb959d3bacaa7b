"""The kinds of jobs: their durations and their ends.

The real durations are not known, so each of them is a setting. A job's duration depends on the seed, its kind, its
target and the number of earlier launches on that target. Two clients with the same seed therefore meet the same
durations, in whatever order they launch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import attrs

from cmsapi.sandbox.domain import generations, ideas, keywords, knowledge, prompts
from cmsapi.sandbox.randomness.distributions import Distribution, Fixed, Lognormal

if TYPE_CHECKING:
    from cmsapi.sandbox.world.jobs import Job
    from cmsapi.sandbox.world.world import World

Durations = Mapping[str, Distribution | float] | Distribution | float


@attrs.frozen
class JobKind:
    """A kind of job.

    Args:
        duration: Distribution of the duration, unless the sandbox is given another.
        complete: Applies the end of a job to the world.
    """

    duration: Distribution
    complete: Callable[[World, Job], None]


JOB_KINDS: Mapping[str, JobKind] = {
    keywords.KIND: JobKind(Lognormal(60.0), keywords.complete),
    prompts.KIND: JobKind(Lognormal(60.0), prompts.complete),
    ideas.KIND: JobKind(Lognormal(60.0), ideas.complete),
    generations.KIND: JobKind(Lognormal(120.0), generations.complete),
    knowledge.KIND: JobKind(Lognormal(20.0), knowledge.complete),
}


def durations_by_kind(kinds: Mapping[str, JobKind], setting: Durations | None) -> dict[str, Distribution]:
    """Return the distribution of each kind.

    Args:
        kinds: The kinds by name.
        setting: None for the defaults, one distribution for all kinds, or a mapping that overrides some of them.

    Raises:
        ValueError: The mapping names a kind that does not exist.
        TypeError: A value is neither a number nor a distribution.
    """
    if setting is not None and not isinstance(setting, Mapping):
        return dict.fromkeys(kinds, _distribution(setting))
    overrides = setting or {}
    check_kinds(kinds, overrides)
    defaults = {name: kind.duration for name, kind in kinds.items()}
    return defaults | {name: _distribution(override) for name, override in overrides.items()}


def check_kinds(kinds: Mapping[str, JobKind], setting: Mapping[str, object]) -> None:
    """Check that a mapping names only kinds that exist.

    Raises:
        ValueError: It names another one; the message lists the kinds.
    """
    if unknown := set(setting) - set(kinds):
        raise ValueError(f"a kind of job must be one of {', '.join(kinds)}, got {', '.join(sorted(unknown))}")


def _distribution(setting: Distribution | float) -> Distribution:
    if callable(setting):
        return setting
    if isinstance(setting, bool) or not isinstance(setting, int | float):
        raise TypeError(
            f"a duration must be a number of seconds or a distribution such as Lognormal(60), got {setting!r}"
        )
    return Fixed(float(setting))
