"""What the doctor found, as data."""

from __future__ import annotations

import enum

import attrs

from cmsapi.api.models import User
from cmsapi.api.operations import OperationTable
from cmsapi.api.wire.drift import Deviation
from cmsapi.display import markup
from cmsapi.doctor.routes import RouteCheck
from cmsapi.errors import ConfigError
from cmsapi.ratelimit.limiter import RateLimit


class Verdict(enum.StrEnum):
    """Say how a check went."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"
    UNKNOWN = "not known"


@attrs.frozen
class Check:
    """Describe one thing that was looked at.

    Args:
        name: What it is.
        verdict: How it is.
        found: What was found.
        advice: What to do about it; empty when there is nothing to do.
    """

    name: str
    verdict: Verdict
    found: str
    advice: str = ""


@attrs.frozen(kw_only=True)
class Diagnosis:
    """Show what the doctor found.

    Args:
        checks: Key, permissions, balances, operations, clock, latency, limits and drift, in this order; without a
            connection only that.
        user: Whose key it is, or None when that could not be read.
        rate_limit: The limits after the examination.
        latency: Seconds that a request took, the median of those that were made; None when none was answered.
        clock_offset: Seconds by which the service's clock is ahead of this machine's, exact to about one; or None.
        routes: How each operation of the table compares with the service's own description; empty without one.
        drift: Where answers that this client has read differ from the specification, most frequent first.
        operations: The table that was compared.
    """

    checks: tuple[Check, ...]
    user: User | None
    rate_limit: RateLimit
    latency: float | None
    clock_offset: float | None
    routes: tuple[RouteCheck, ...]
    drift: tuple[Deviation, ...]
    operations: OperationTable = attrs.field(repr=False)

    @property
    def ok(self) -> bool:
        """Whether no check found a problem."""
        return all(check.verdict is not Verdict.PROBLEM for check in self.checks)

    def adopt(self, *names: str) -> OperationTable:
        """Make a table with the routes that the service describes; for `Client(operations=…)` or `with_options`.

        Look at them first: a wrong route of an operation that costs may be paid for.

        Args:
            *names: Operations whose best candidate to take. Without names, all whose candidate is alike enough and
                without a rival.

        Raises:
            ConfigError: An operation has no candidate.
        """
        checks = {check.name: check for check in self.routes}
        if not names:
            chosen = {check.name: check.adopted for check in self.routes}
            return self.operations.override(**{name: route for name, route in chosen.items() if route is not None})
        routes = {}
        for name in names:
            if name not in checks or not checks[name].candidates:
                raise ConfigError(f"There is no candidate for {name!r}; .routes shows what was found.")
            routes[name] = checks[name].candidates[0].route
        return self.operations.override(**routes)

    def _repr_html_(self) -> str:
        unlisted = [check for check in self.routes if not check.listed]
        return (
            markup.listing("checks", self.checks)
            + (markup.listing("routes that the service does not describe", unlisted) if unlisted else "")
            + (markup.listing("drift", self.drift) if self.drift else "")
        )
