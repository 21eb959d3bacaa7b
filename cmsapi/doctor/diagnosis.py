"""Hold the findings of the doctor."""

from __future__ import annotations

import enum

import attrs

from cmsapi.api.models.user import User
from cmsapi.api.operations import OperationTable
from cmsapi.api.wire.drift import Deviation
from cmsapi.display import markup
from cmsapi.doctor.routes import RouteCheck
from cmsapi.errors import ConfigError
from cmsapi.ratelimit.rate_limit import RateLimit


class Verdict(enum.StrEnum):
    """List the results of a check."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"
    UNKNOWN = "not known"


@attrs.frozen
class Check:
    """Describe one check.

    Args:
        name: What was checked.
        verdict: The result.
        found: The finding.
        advice: What to do about it; empty if there is nothing to do.
    """

    name: str
    verdict: Verdict
    found: str
    advice: str = ""


@attrs.frozen(kw_only=True)
class Diagnosis:
    """Show the findings of the doctor.

    Args:
        checks: Key, permissions, balances, operations, clock, latency, limits, drift and words, in this
            order; only `connection` if there is none.
        user: The user of the key, or None if the user could not be read.
        rate_limit: The limits after the examination.
        latency: Median duration of a request in seconds; None if no request was answered.
        clock_offset: Seconds by which the service's clock is ahead of this machine's, exact to about one; or None.
        routes: How each operation of the table compares with the service's own description; empty without one.
        drift: Differences between the specification and the answers that this client has read, most frequent first.
        operations: The table of operations that was compared.
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
        """Return a table with the routes that the service describes, for `Client(operations=…)` or `with_options`.

        Check the routes first: a wrong route of an operation that costs credits may be charged.

        Args:
            *names: The operations whose best candidate to adopt. Without names, adopt each candidate that is similar
                enough and has no close rival.

        Raises:
            ConfigError: An operation has no candidate.
        """
        if not names:
            return self.operations.override(**{check.name: check.adopted for check in self.routes if check.adopted})
        candidates = {check.name: check.candidates[0].route for check in self.routes if check.candidates}
        for name in names:
            if name not in candidates:
                raise ConfigError(f"There is no candidate for {name!r}; see .routes for the candidates.")
        return self.operations.override(**{name: candidates[name] for name in names})

    def _repr_html_(self) -> str:
        unlisted = [check for check in self.routes if not check.listed]
        return (
            markup.listing("checks", self.checks)
            + (markup.listing("routes missing from the service's description", unlisted) if unlisted else "")
            + (markup.listing("drift", self.drift) if self.drift else "")
        )
