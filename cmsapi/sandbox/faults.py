"""What networks and gateways do: delays, errors and connections that break, before or after the effect."""

from __future__ import annotations

import fnmatch
import random
from collections.abc import Callable, Iterable
from typing import Literal

import attrs

from cmsapi.sandbox.seeded import dice

Latency = tuple[float, float] | Callable[[random.Random], float] | None


@attrs.frozen(kw_only=True)
class Fault:
    """Break some requests.

    Args:
        match: Method and path with wildcards, for example `POST /v1/keywords/*/analyze`.
        status: Status to answer with instead.
        drop: Whether to break the connection instead of answering.
        retry_after: Seconds for a `Retry-After` header.
        when: `before` the request reaches the service, or `after` it took effect.
        times: How many requests to break; None for all that match.
        probability: Chance of each matching request, from 0 to 1.
    """

    match: str = "* *"
    status: int | None = attrs.field(default=None, validator=attrs.validators.optional(attrs.validators.ge(400)))
    drop: bool = False
    retry_after: int | None = None
    when: Literal["before", "after"] = attrs.field(
        default="before", validator=attrs.validators.in_(("before", "after"))
    )
    times: int | None = 1
    probability: float = 1.0

    def __attrs_post_init__(self) -> None:
        """Refuse a fault that breaks nothing or in two ways.

        Raises:
            ValueError: It has neither a status nor a drop, or both.
        """
        if self.drop == (self.status is not None):
            raise ValueError("a fault has either a status or drop=True")


def _rules(rules: Iterable[Fault]) -> tuple[Fault, ...]:
    return tuple(rules)


@attrs.frozen(kw_only=True)
class Faults:
    """Make the way to the service imperfect.

    Args:
        latency: One-way delay in seconds, drawn in each direction: a range, or a callable `(random.Random) -> float`.
        rules: Faults; the first that matches a request breaks it.
    """

    latency: Latency = None
    rules: tuple[Fault, ...] = attrs.field(default=(), converter=_rules)


def as_faults(setting: Faults | Fault | Iterable[Fault] | None) -> Faults:
    """Complete a setting: nothing, one fault, several, or all of it."""
    if isinstance(setting, Faults):
        return setting
    return Faults(rules=(setting,) if isinstance(setting, Fault) else tuple(setting or ()))


class Weather:
    """Decide the delays and faults of each request, reproducibly.

    Args:
        faults: What may happen.
        seed: Seed of the choices.
    """

    def __init__(self, faults: Faults, seed: object) -> None:
        self._latency = faults.latency
        self._rules = [(rule, dice(seed, "fault", index)) for index, rule in enumerate(faults.rules)]
        self._left = [rule.times for rule in faults.rules]
        self._delays = dice(seed, "latency")

    def delay(self) -> float:
        """Draw the seconds of one way."""
        if self._latency is None:
            return 0.0
        if callable(self._latency):
            return self._latency(self._delays)
        return self._delays.uniform(*self._latency)

    def strike(self, method: str, path: str) -> Fault | None:
        """Return the fault that breaks a request, if any, and count it."""
        for index, (rule, rng) in enumerate(self._rules):
            left = self._left[index]
            if left == 0 or not fnmatch.fnmatchcase(f"{method} {path}", rule.match):
                continue
            if rng.random() < rule.probability:
                self._left[index] = None if left is None else left - 1
                return rule
        return None
