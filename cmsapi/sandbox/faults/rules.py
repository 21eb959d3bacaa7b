"""What networks, gateways and services do: delays, errors, broken connections and answers, before or after the effect.

A plan of faults is a value. The sandbox follows it in the same process and on its socket; a `FaultProxy` follows it
byte by byte.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable
from typing import Any, Literal

import attrs

from cmsapi.sandbox.faults.spoiling import NAMES

Latency = tuple[float, float] | Callable[[random.Random], float] | None
When = Literal["before", "within", "after"]
Spoiled = Literal[
    "truncated",
    "oversized",
    "empty",
    "html",
    "nested",
    "digits",
    "garbage",
    "null status",
    "unknown status",
    "superseded",
]


def _span(instance: Fault, attribute: attrs.Attribute[Any], span: tuple[float, float]) -> None:
    if not span[0] < span[1]:
        raise ValueError(f"between is (begin, end) in seconds, the begin first, not {span!r}")


@attrs.frozen(kw_only=True)
class Fault:
    """Break some requests in one of five ways: `status`, `drop`, `spoil`, `slow` or `late`.

    Args:
        match: Method and path with wildcards, for example `POST /v1/keywords/*/analyze`.
        status: Status to answer with instead.
        drop: Whether to break the connection instead of answering.
        spoil: What to make of a good answer: `truncated`, `oversized` (40 MiB), `empty`, `html` (a page of some
            gateway), `nested` and `digits` (bombs), `garbage` (no HTTP at all), `null status`, `unknown status`, or
            `superseded` (another identifier). The request has taken effect then; errors of the service are not spoiled.
        slow: Seconds by which the bytes of the answer come later.
        late: Seconds after which the request reaches the service, although its client may have gone by then. Together
            with `status` or `drop` and `when="after"` the client is told at once, and the effect comes afterwards.
        retry_after: Seconds for a `Retry-After` header.
        when: `before` the request reaches the service, or `after` it took effect; a connection may also break
            `within` the answer, which only a `FaultProxy` shows as bytes.
        times: How many requests to break; None for all that match.
        probability: Chance of each matching request, from 0 to 1.
        between: Seconds since the first request during which it strikes: a burst, an outage, a key that is refused for
            a while.
    """

    match: str = "* *"
    status: int | None = attrs.field(default=None, validator=attrs.validators.optional(attrs.validators.ge(400)))
    drop: bool = False
    spoil: Spoiled | None = attrs.field(default=None, validator=attrs.validators.optional(attrs.validators.in_(NAMES)))
    slow: float | None = attrs.field(default=None, validator=attrs.validators.optional(attrs.validators.gt(0)))
    late: float | None = attrs.field(default=None, validator=attrs.validators.optional(attrs.validators.gt(0)))
    retry_after: int | None = None
    when: When = attrs.field(default="before", validator=attrs.validators.in_(("before", "within", "after")))
    times: int | None = 1
    probability: float = 1.0
    between: tuple[float, float] = attrs.field(default=(0.0, math.inf), validator=_span)

    def __attrs_post_init__(self) -> None:
        """Refuse a fault that breaks nothing or in two ways.

        Raises:
            ValueError: It has none of status, drop, spoil, slow and late, or several that do not go together.
        """
        ways = (self.status is not None, self.drop, self.spoil is not None, self.slow is not None)
        if sum(ways) > 1 or (sum(ways) == 0 and self.late is None):
            raise ValueError("a fault has exactly one of a status or drop=True, spoil, slow or late")
        if self.late is not None and any(ways) and not (self.when == "after" and self.replaces_answer):
            raise ValueError("late goes with a status or drop=True that comes when='after', or stands alone")
        if self.when == "within" and not self.drop:
            raise ValueError("only a dropped connection breaks within an answer: when is 'before' or 'after'")

    @property
    def replaces_answer(self) -> bool:
        """Whether the client is told something else than the service's answer."""
        return self.drop or self.status is not None

    @property
    def kind(self) -> str:
        """A word or two for a table."""
        if self.late is not None:
            return f"{self.status or 'dropped'} before a late effect" if self.replaces_answer else "late"
        if self.status is not None:
            told = " with Retry-After" if self.retry_after is not None else ""
            return f"{self.status}{told}{' after the effect' if self.when == 'after' else ''}"
        if self.drop:
            place = {"before": "before the request", "within": "within the answer", "after": "after the effect"}
            return f"dropped {place[self.when]}"
        return self.spoil or "slow"


def _rules(rules: Iterable[Fault]) -> tuple[Fault, ...]:
    return tuple(rules)


def _steps(steps: Iterable[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    return tuple(sorted(steps))


@attrs.frozen(kw_only=True)
class Faults:
    """Make the way to the service imperfect, and its clock.

    Args:
        latency: One-way delay in seconds, drawn in each direction: a range, or a callable `(random.Random) -> float`
            such as `Lognormal(0.1, 1.0)` for a heavy tail.
        rules: Faults; the first that matches a request breaks it.
        clock_steps: Pairs of seconds since the first request and seconds by which the service's clock is set forward,
            or back where they are negative. A `FaultProxy` leaves clocks alone.
    """

    latency: Latency = None
    rules: tuple[Fault, ...] = attrs.field(default=(), converter=_rules)
    clock_steps: tuple[tuple[float, float], ...] = attrs.field(default=(), converter=_steps)


def as_faults(setting: Faults | Fault | Iterable[Fault] | None) -> Faults:
    """Complete a setting: nothing, one fault, several, or all of it."""
    if isinstance(setting, Faults):
        return setting
    return Faults(rules=(setting,) if isinstance(setting, Fault) else tuple(setting or ()))
