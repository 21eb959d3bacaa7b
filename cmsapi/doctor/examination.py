"""Examine the connection to the service with a few requests. No request changes anything or costs a credit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from datetime import UTC, datetime
from statistics import median
from typing import TypeVar
from urllib.parse import urlsplit

import attrs

from cmsapi.api.models.user import Member, Role, User
from cmsapi.api.models.workspace import Workspace
from cmsapi.api.operations import Operation
from cmsapi.api.wire.drift import Deviation, DriftKind
from cmsapi.api.wire.shape import wire_name
from cmsapi.doctor.diagnosis import Check, Diagnosis, Verdict
from cmsapi.doctor.routes import RouteCheck, compare
from cmsapi.errors import (
    CMSError,
    ForbiddenError,
    OutcomeUnknownError,
    RateLimitedError,
    RateLimitWaitError,
    TransportError,
)
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.jobs.status import Phase
from cmsapi.ratelimit.rate_limit import RateLimit
from cmsapi.transport.call import CallOptions
from cmsapi.transport.caller import LARGEST_PAGE, OperationCaller

T = TypeVar("T")

_DESCRIPTION = Operation("openapi", "GET", "/openapi.json", section="9")
# A larger difference between two clocks, in seconds, confuses readers who compare logs.
_LARGE_OFFSET = 60.0
_SLOW = 2.0
_DAY = 86_400.0
# If a smaller part of the hour is left, calls will soon wait.
_LOW = 0.1
# Seconds for a request's permit, and for its answer, and how often it is made: another program may use the limit of a
# second. At most two requests are waited for in vain, which ends within half a minute.
_PATIENCE = 6.0
_ATTEMPTS = 2
_CONNECTION = "connection"


def _impatient(caller: OperationCaller) -> OperationCaller:
    """Return a caller that waits for seconds and repeats a request once: what fails is what the doctor is to find."""
    usual = caller.pipeline
    timeouts = attrs.evolve(usual.timeouts, request=min(_PATIENCE, usual.timeouts.request))
    retry = attrs.evolve(usual.retry, max_attempts=min(_ATTEMPTS, usual.retry.max_attempts))
    return attrs.evolve(caller, pipeline=attrs.evolve(usual, timeouts=timeouts, retry=retry, max_wait=_PATIENCE))


@attrs.define
class Examination:
    """Examine a client with at most four requests."""

    caller: OperationCaller = attrs.field(converter=_impatient)
    _checks: list[Check] = attrs.field(factory=list, init=False)
    _durations: list[float] = attrs.field(factory=list, init=False)

    async def run(self) -> Diagnosis:
        """Make the requests and check the answers."""
        user = await self._try("key", self.caller.call(User, "get_me"))
        if any(check.name == _CONNECTION for check in self._checks):
            # Each further request would take as long, and fail for the same reason.
            return self._diagnosis(None, None, ())
        if user is not None:
            self._add("key", f"{user.first_name} {user.last_name}, {user.organization.name}")
            await self._check_permissions(user)
            self._check_balances(user)
        routes = await self._check_routes()
        offset = self._check_clock()
        if self._durations:
            latency = median(self._durations)
            advice = "The connection is slow." if latency > _SLOW else ""
            self._add("latency", f"{latency * 1000:.0f} ms a request", advice)
        self._check_limits(self.caller.open().snapshot())
        drift = self.caller.converter.drift.deviations()
        self._check_drift(drift, user)
        self._check_words(drift)
        return self._diagnosis(user, offset, routes)

    def _diagnosis(self, user: User | None, offset: float | None, routes: tuple[RouteCheck, ...]) -> Diagnosis:
        return Diagnosis(
            checks=tuple(self._checks),
            user=user,
            rate_limit=self.caller.open().snapshot(),
            latency=median(self._durations) if self._durations else None,
            clock_offset=offset,
            routes=routes,
            drift=self.caller.converter.drift.deviations(),
            operations=self.caller.operations,
        )

    async def _check_permissions(self, user: User) -> None:
        page = self.caller.page(Workspace, "list_workspaces", number=1, limit=LARGEST_PAGE)
        if (workspaces := await self._try("permissions", page)) is None:
            return
        visible = workspaces.total if workspaces.total is not None else len(workspaces)
        try:
            members = await self._timed(self.caller.page(Member, "list_users", number=1, limit=LARGEST_PAGE))
            role = next((member.role for member in members if member.id == user.id is not None), None)
        except ForbiddenError:
            role = Role.MEMBER
        except CMSError:
            role = None
        advice = ""
        if role is not None and role != Role.ADMIN:
            advice = "Without the role Admin the service refuses some actions, such as deleting pages and folders."
        elif not visible:
            advice = "The key's user belongs to no workspace."
        found = f"role {role or 'not known'}, sees {visible} of {user.organization.workspaces_count} workspaces"
        self._add("permissions", found, advice)

    def _check_balances(self, user: User) -> None:
        balances = user.organization.credits
        left = {
            "analyses": balances.analysis,
            "articles": balances.ai_writing,
            "idea searches": balances.content_ideas_searches,
        }
        empty = [name for name, count in left.items() if not count]
        found = ", ".join(f"{count if count is not None else '?'} {name}" for name, count in left.items())
        self._add("balances", f"{found} left", f"No credits for {' and '.join(empty)}." if empty else "")

    async def _check_routes(self) -> tuple[RouteCheck, ...]:
        request = self.caller.builder.build(_DESCRIPTION.method, _DESCRIPTION.path)
        try:
            limiter = self.caller.open()
            call = await self._timed(self.caller.pipeline.send(_DESCRIPTION, request, CallOptions(), limiter))
            routes = compare(self.caller.operations, call.document)
        except CMSError as error:
            reason = str(error).splitlines()[0]
            self._add_unknown("operations", f"{_DESCRIPTION.path}: {reason}", "The SDK uses its own table of routes.")
            return ()
        missing = [route for route in routes if not route.listed]
        advice = f"Not described: {', '.join(route.name for route in missing)}. " if missing else ""
        if adopted := [route for route in missing if route.adopted]:
            changes = ", ".join(f"{route.name}={route.adopted!r}" for route in adopted)
            advice += f"Check the candidates, then use Client(operations=OPERATIONS.override({changes}))."
        elif missing:
            advice += "Ask the operators of the service for these routes."
        found = f"{len(routes) - len(missing)} of {len(routes)} routes are as the service describes them"
        self._add("operations", found, advice)
        return routes

    def _check_clock(self) -> float | None:
        service_time = self.caller.pipeline.clock.at(asyncio.get_running_loop().time())
        if service_time is None:
            self._add_unknown("clock", "no answer had the service's time")
            return None
        offset = (service_time - datetime.now(UTC)).total_seconds()
        found = f"the service's is {_span(abs(offset))} {'ahead of' if offset > 0 else 'behind'} this machine's"
        if abs(offset) < 1:
            found = "same as this machine's"
        advice = ""
        if self._is_in_process:
            found += ", because a sandbox in the same process has its own time"
        elif abs(offset) > _LARGE_OFFSET:
            advice = "The SDK uses the service's clock; times in the logs of both cannot be compared directly."
            if abs(offset) > _DAY:
                advice += " One of the two clocks is wrong: set this machine's, or tell the operators of the service."
        self._add("clock", found, advice)
        return offset

    @property
    def _is_in_process(self) -> bool:
        """Whether the service is a sandbox without a socket: no real host has a name that ends in `.invalid`."""
        host = urlsplit(self.caller.builder.build(_DESCRIPTION.method, _DESCRIPTION.path).url).hostname or ""
        return host.endswith(".invalid")

    def _check_limits(self, limit: RateLimit) -> None:
        if limit.limit is None:
            self._add("limits", "the client keeps no limit")
            return
        if not self._durations:
            self._add_unknown("limits", "no answer had the remaining requests")
            return
        left, advice = limit.remaining or 0, []
        found = f"{limit.limit - left} of {limit.limit} requests of this hour are used, "
        found += f"{limit.foreign} of them by foreign usage" if limit.foreign else "no foreign usage"
        if left < limit.limit * _LOW:
            found += f"; {left} are left, and the first comes back in {_span(limit.reset_in)}"
            advice.append("Calls wait for requests to come back, and jobs are polled less often meanwhile.")
        if limit.paused_for > 0:
            found += f"; the service asked for a pause of {_span(limit.paused_for)}"
            advice.append("Calls wait until the pause ends.")
        if limit.foreign * 10 > limit.limit:
            advice.append(
                "Other programs, other people or earlier runs use this key. A separate key has a separate limit."
            )
        self._add("limits", found, " ".join(advice))

    def _check_drift(self, drift: tuple[Deviation, ...], user: User | None) -> None:
        if not drift and user is None:
            self._add_unknown("drift", "the client has read no answer that could differ")
            return
        found = "; ".join(f"{each.where}: {each.kind.value} ({each.count})" for each in drift[:3])
        found += f"; and {len(drift) - 3} more" if len(drift) > 3 else ""
        advice = "The client reads such answers. "
        if self._is_in_process:
            advice += "The settings of this sandbox cause the differences."
        else:
            advice += "The service may have changed: check for a newer SDK."
        self._add("drift", found or "answers are as the specification shows", advice if drift else "")

    def _check_words(self, drift: tuple[Deviation, ...]) -> None:
        """Name the words for states of jobs that the specification does not show, and how to map them."""
        seen: list[str] = []
        unknown: dict[str, list[str]] = {}
        for kind in KINDS.values():
            field = f"{kind.model.__name__}.{wire_name(kind.state_field)}"
            for each in drift:
                if each.kind is not DriftKind.UNKNOWN_WORD or each.where != field:
                    continue
                phase = kind.of_word(each.example, self.caller.words).phase
                understood = "not understood" if phase is Phase.UNKNOWN else f"read as {phase}"
                seen.append(f"{kind} {each.example!r}: {understood} ({each.count})")
                if phase is Phase.UNKNOWN:
                    unknown.setdefault(str(kind), []).append(f"{each.example!r}: …")
        advice = ""
        if unknown:
            words = ", ".join(f"{kind!r}: {{{', '.join(words)}}}" for kind, words in unknown.items())
            advice = (
                f"Say what these words mean: use Client(polling=PollPolicy(words={{{words}}})). Put for each … "
                "'running', 'succeeded', 'failed' or, for a generation, 'review'."
            )
        self._add("words", "; ".join(seen) or "no job has shown a word that the specification does not show", advice)

    async def _try(self, name: str, call: Awaitable[T]) -> T | None:
        try:
            return await self._timed(call)
        except CMSError as error:
            first, *rest = str(error).splitlines()
            subject = _CONNECTION if isinstance(error, TransportError) else name
            # What a request waits for is a finding about the limits, which have a check of their own.
            waits = isinstance(error, RateLimitedError | RateLimitWaitError)
            verdict = Verdict.UNKNOWN if waits else Verdict.PROBLEM
            advice = " ".join(rest)
            if isinstance(error, OutcomeUnknownError):
                advice = (
                    f"The service, or a proxy before it, takes requests and does not answer them. {advice}".rstrip()
                )
            self._checks.append(Check(subject, verdict, first, advice))
            return None

    async def _timed(self, call: Awaitable[T]) -> T:
        began = asyncio.get_running_loop().time()
        result = await call
        self._durations.append(asyncio.get_running_loop().time() - began)
        return result

    def _add(self, name: str, found: str, advice: str = "") -> None:
        """Add a check; it is a warning if there is advice."""
        self._checks.append(Check(name, Verdict.WARNING if advice else Verdict.OK, found, advice))

    def _add_unknown(self, name: str, found: str, advice: str = "") -> None:
        self._checks.append(Check(name, Verdict.UNKNOWN, found, advice))


def _span(seconds: float) -> str:
    """Return a duration in the unit that a person would use."""
    for unit, length in (("days", _DAY), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"
