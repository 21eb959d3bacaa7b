"""Faults between a client and the service: error responses, lost requests, lost or damaged responses, and delays."""

from __future__ import annotations

from fnmatch import fnmatchcase
from math import inf
from random import Random
from typing import Literal

from attrs import define, evolve, field, frozen
from attrs.validators import ge, in_, instance_of, le, optional

from cmsapi.messages import Response
from cmsapi.sandbox.refusal import Refusal

GATEWAY_PAGE = b"<html><head><title>Error</title></head><body><h1>The page cannot be shown</h1></body></html>"


@define(eq=False)
class Dropped(Exception):  # noqa: N818 - it is what a network does
    """Raised when there is no response because a fault closed or refused the connection."""

    sent: bool  # False if the connection was refused, so that no part of the request can have arrived


@frozen(kw_only=True, eq=False)
class Fault:
    """A fault that hits matching requests. If several faults apply to a request, only the first one hits it.

    Args:
        match: Name of an operation, such as ``get_keyword``, or a glob, such as ``get_*``.
        after: Number of matching requests to let pass before the first hit.
        times: Maximum number of requests that the fault hits; None for no maximum.
        share: Probability that the fault hits a matching request, sampled with the sandbox's seed.
        since: Time at which the fault begins, in seconds after the sandbox's time starts (see `Sandbox`).
        until: Time at which the fault ends, in seconds after the sandbox's time starts.
        status: HTTP status to send instead of the service's. If ``body`` is ``spec``, an invalid key still gets a 401.
        body: Format of the fault's response: ``spec`` as in specification 7, or ``foreign`` for a gateway's HTML page.
        effect: True if the service still carries out the request before the fault's response is sent.
        retry_after: Seconds in ``Retry-After`` of the fault's response; by default 1 for a 429, otherwise no header.
        refuse: True to refuse the connection, so that no part of the request arrives.
        drop: When to close the connection: ``before`` or ``after`` the service carries out the request; None for never.
        garbage: True to send only the first half of the response's body; a gateway's page is sent whole.
        slow: Seconds by which the response is delayed.
    """

    match: str = "*"
    after: int = field(default=0, validator=ge(0))
    times: int | None = field(default=None, validator=optional(ge(1)))
    share: float = field(default=1.0, validator=[ge(0), le(1)])
    since: float = 0.0
    until: float = inf
    status: int | None = field(default=None, validator=optional(instance_of(int)))
    body: Literal["spec", "foreign"] = field(default="spec", validator=in_(["spec", "foreign"]))
    effect: bool = False
    retry_after: float | None = None
    refuse: bool = False
    drop: Literal["before", "after"] | None = field(default=None, validator=in_([None, "before", "after"]))
    garbage: bool = False
    slow: float = field(default=0.0, validator=ge(0))

    @property
    def replaces_service(self) -> bool:
        """True if the request never reaches the service: it has no effect, and does not count against the limits."""
        foreign = self.status is not None and self.body == "foreign" and not self.effect
        return self.refuse or self.drop == "before" or foreign

    @property
    def refusal(self) -> Refusal | None:
        """The response with the fault's status, in the service's error format; None if the fault has no status."""
        if self.status is None:
            return None
        seconds = 1 if self.retry_after is None and self.status == 429 else self.retry_after
        headers = {} if seconds is None else {"retry-after": f"{seconds:g}"}
        return Refusal(self.status, "A fault of the sandbox.", headers)

    def spoil(self, response: Response | None) -> Response | None:
        """Return what the client receives in place of ``response``; None if the connection is refused or closed."""
        if self.refuse or self.drop:
            return None
        if self.body == "foreign" and (refusal := self.refusal):
            return Response(refusal.status, {"content-type": "text/html", **refusal.headers}, GATEWAY_PAGE)
        return (
            evolve(response, body=response.body[: len(response.body) // 2]) if self.garbage and response else response
        )


NO_FAULT = Fault()


@define
class Faults:
    """Faults and latency of a sandbox. Rules may be added and removed at any time.

    Args:
        rules: Faults in order of precedence; only the first that matches a request is applied.
        latency: Round-trip latency in seconds, half in each direction; a pair is a range, sampled for each direction.
    """

    rules: list[Fault] = field(factory=list)
    latency: float | tuple[float, float] = 0.0
    _counts: dict[Fault, tuple[int, int]] = field(factory=dict, init=False, repr=False)  # requests passed and hit

    def pick(self, operation: str, elapsed: float, rng: Random) -> Fault:
        """Return the fault for a request made ``elapsed`` seconds after the start, or `NO_FAULT`; update the counts."""
        for fault in self.rules:
            if not (fault.since <= elapsed < fault.until and fnmatchcase(operation, fault.match)):
                continue
            passed, hit = self._counts.get(fault, (0, 0))
            if passed < fault.after:
                self._counts[fault] = (passed + 1, hit)
            elif (fault.times is None or hit < fault.times) and rng.random() < fault.share:
                self._counts[fault] = (passed, hit + 1)
                return fault
        return NO_FAULT

    def delay(self, rng: Random) -> float:
        """Return the one-way latency in seconds, sampled with ``rng`` if `latency` is a range."""
        least, most = self.latency if isinstance(self.latency, tuple) else (self.latency, self.latency)
        return rng.uniform(least, most) / 2 if most else 0.0
