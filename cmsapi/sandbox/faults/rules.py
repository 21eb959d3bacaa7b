"""Rules for faults: delays, errors, broken connections and spoiled answers, before or after the effect of a request.

The rules are plain values. The sandbox applies them to answers, in the same process and on its socket; a `FaultProxy`
applies them to bytes.
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
    "empty id",
    "dots id",
]


def _span(instance: Fault, attribute: attrs.Attribute[Any], span: tuple[float, float]) -> None:
    if not span[0] < span[1]:
        raise ValueError(f"`between` must be (begin, end) in seconds with begin < end, got {span!r}")


@attrs.frozen(kw_only=True)
class Fault:
    """Break some requests in one of five ways: `status`, `drop`, `spoil`, `slow` or `late`.

    Args:
        match: Method and path with wildcards, for example `POST /v1/keywords/*/analyze`.
        status: Status to answer with instead, from 300 to 599; below 400 the answer has no body.
        drop: Whether to break the connection instead of answering.
        spoil: Change to a good answer: `truncated`, `oversized` (40 MiB), `empty`, `html` (the page of a gateway),
            `nested` and `digits` (JSON bombs), `garbage` (not HTTP), `null status`, `unknown status`, `superseded`
            (another identifier), `empty id` or `dots id` (the identifier `""` or `".."`). The request has taken effect;
            errors of the service are not spoiled.
        slow: Seconds by which the answer is delayed.
        late: Seconds after which the request reaches the service, even if its client has stopped waiting. Together with
            `status` or `drop` and `when="after"` the client gets that answer at once, and the effect comes later.
        retry_after: Seconds for a `Retry-After` header.
        when: `before` the request reaches the service, or `after` its effect; a connection may also break `within` the
            answer, which only a `FaultProxy` does to bytes.
        times: Number of requests to break; None for all that match, for ever.
        probability: Chance of each matching request, from 0 to 1.
        between: Seconds since the first request, as (begin, end), during which the fault strikes.
    """

    match: str = "* *"
    status: int | None = attrs.field(
        default=None, validator=attrs.validators.optional(attrs.validators.in_(range(300, 600)))
    )
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
        """Check that the fault breaks requests in exactly one way.

        Raises:
            ValueError: The fault has none of status, drop, spoil, slow and late, or several that exclude each other.
        """
        ways = (self.status is not None, self.drop, self.spoil is not None, self.slow is not None)
        if sum(ways) > 1 or (sum(ways) == 0 and self.late is None):
            raise ValueError("a fault must have exactly one of `status`, `drop`, `spoil`, `slow` or `late`")
        if self.late is not None and any(ways) and not (self.when == "after" and self.replaces_answer):
            raise ValueError("`late` must be alone, or beside `status` or `drop` with when='after'")
        if self.when == "within" and not self.drop:
            raise ValueError(
                "`when` must be 'before' or 'after', because only `drop` breaks a connection within an answer"
            )

    @property
    def replaces_answer(self) -> bool:
        """Whether the client gets another answer than the service's, or none."""
        return self.drop or self.status is not None

    @property
    def kind(self) -> str:
        """A short description for tables."""
        if self.late is not None:
            return f"{self.status or 'dropped'} before a late effect" if self.replaces_answer else "late"
        if self.status is not None:
            header = " with Retry-After" if self.retry_after is not None else ""
            return f"{self.status}{header}{' after the effect' if self.when == 'after' else ''}"
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
    """The delays and faults between client and service, and the steps of the service's clock.

    Args:
        latency: One-way delay in seconds, drawn in each direction: a range, or a callable `(random.Random) -> float`
            such as `Lognormal(0.1, 1.0)` for a heavy tail.
        rules: Faults; the first one that matches a request breaks it.
        clock_steps: Pairs of seconds since the first request and seconds by which the service's clock steps forward, or
            back if they are negative. A `FaultProxy` does not change clocks.
    """

    latency: Latency = None
    rules: tuple[Fault, ...] = attrs.field(default=(), converter=_rules)
    clock_steps: tuple[tuple[float, float], ...] = attrs.field(default=(), converter=_steps)


def as_faults(setting: Faults | Fault | Iterable[Fault] | None) -> Faults:
    """Return the faults of a setting: None, one fault, several, or complete faults."""
    if isinstance(setting, Faults):
        return setting
    return Faults(rules=(setting,) if isinstance(setting, Fault) else tuple(setting or ()))
