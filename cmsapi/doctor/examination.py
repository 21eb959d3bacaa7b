"""Ask the service a few harmless questions, and judge the answers. Nothing here changes or costs anything."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from statistics import median
from typing import TypeVar
from urllib.parse import urlsplit

import attrs

from cmsapi.api.models import Member, Role, User, Workspace
from cmsapi.api.operations import Operation
from cmsapi.api.wire.drift import Deviation
from cmsapi.doctor.diagnosis import Check, Diagnosis, Verdict
from cmsapi.doctor.routes import RouteCheck, compare
from cmsapi.errors import CMSError, ForbiddenError, TransportError
from cmsapi.ratelimit.limiter import RateLimit
from cmsapi.transport.call import CallOptions
from cmsapi.transport.caller import LARGEST_PAGE, OperationCaller

T = TypeVar("T")

DESCRIPTION = Operation("openapi", "GET", "/openapi.json", section="9")
# Times that differ by more, in seconds, confuse people who compare logs.
_LARGE_OFFSET = 60.0
_SLOW = 2.0
_DAY = 86_400.0
# With a smaller part of the hour left than this, calls soon wait.
_FEW = 0.1
CONNECTION = "connection"


@attrs.define
class Examination:
    """Examine a client; four requests at the most, none of which changes anything.

    Args:
        caller: Calls the operations.
        rate_limit: Shows the limits.
        drift: Shows what differed in all answers that the client has read.
    """

    caller: OperationCaller
    rate_limit: Callable[[], RateLimit]
    drift: Callable[[], tuple[Deviation, ...]]
    _checks: list[Check] = attrs.field(factory=list, init=False)
    _took: list[float] = attrs.field(factory=list, init=False)

    async def run(self) -> Diagnosis:
        """Ask and judge."""
        user = await self._asked("key", self.caller.call(User, "get_me"))
        if any(check.name == CONNECTION for check in self._checks):
            # Nothing else can be found out, and each try would take as long and say the same.
            return self._diagnosis(None, None, ())
        if user is not None:
            self._note("key", found=f"{user.first_name} {user.last_name}, {user.organization.name}")
            await self._permissions(user)
            self._balances(user)
        routes = await self._routes()
        offset = self._clock()
        if self._took:
            slow = median(self._took) > _SLOW
            self._note("latency", slow, f"{median(self._took) * 1000:.0f} ms a request", "The way there is slow.")
        self._limits(self.rate_limit())
        self._drift(self.drift(), read=user is not None)
        return self._diagnosis(user, offset, routes)

    def _diagnosis(self, user: User | None, offset: float | None, routes: tuple[RouteCheck, ...]) -> Diagnosis:
        return Diagnosis(
            checks=tuple(self._checks),
            user=user,
            rate_limit=self.rate_limit(),
            latency=median(self._took) if self._took else None,
            clock_offset=offset,
            routes=routes,
            drift=self.drift(),
            operations=self.caller.operations,
        )

    async def _permissions(self, user: User) -> None:
        workspaces = await self._asked(
            "permissions", self.caller.page(Workspace, "list_workspaces", number=1, limit=LARGEST_PAGE)
        )
        if workspaces is None:
            return
        seen = workspaces.total if workspaces.total is not None else len(workspaces)
        total = user.organization.workspaces_count
        try:
            members = await self._timed(self.caller.page(Member, "list_users", number=1, limit=LARGEST_PAGE))
            role = next((member.role for member in members if member.id == user.id), None)
        except ForbiddenError:
            role = Role.MEMBER
        except CMSError:
            role = None
        limited = role is not None and role != Role.ADMIN
        self._note(
            "permissions",
            limited or not seen,
            f"role {role or 'not known'}, sees {seen} of {total} workspaces",
            "Without the role Admin some actions are refused, such as deleting pages and folders."
            if limited
            else "The key's user belongs to no workspace.",
        )

    def _balances(self, user: User) -> None:
        balances = user.organization.credits
        left = {
            "analyses": balances.analysis,
            "articles": balances.ai_writing,
            "idea searches": balances.content_ideas_searches,
        }
        empty = [name for name, count in left.items() if not count]
        found = ", ".join(f"{count if count is not None else '?'} {name}" for name, count in left.items())
        self._note("balances", bool(empty), f"{found} left", f"No credits for {' and '.join(empty)}.")

    async def _routes(self) -> tuple[RouteCheck, ...]:
        request = self.caller.builder.build(DESCRIPTION.method, DESCRIPTION.path)
        try:
            exchange = await self._timed(self.caller.pipeline.send(DESCRIPTION, request, CallOptions()))
            routes = compare(self.caller.operations, exchange.document)
        except CMSError as error:
            first = str(error).splitlines()[0]
            self._checks.append(
                Check("operations", Verdict.UNKNOWN, f"{DESCRIPTION.path}: {first}", "Routes are used as listed.")
            )
            return ()
        missing = [route for route in routes if not route.listed]
        advice = f"Not described: {', '.join(route.name for route in missing)}. "
        if adopted := [route for route in missing if route.adopted]:
            changes = ", ".join(f"{route.name}={route.adopted!r}" for route in adopted)
            advice += f"Look at the candidates, then use Client(operations=OPERATIONS.override({changes}))."
        else:
            advice += "Ask the service's people for these routes."
        found = f"{len(routes) - len(missing)} of {len(routes)} routes are as the service describes them"
        self._note("operations", bool(missing), found, advice)
        return routes

    def _clock(self) -> float | None:
        theirs = self.caller.pipeline.clock.at(asyncio.get_running_loop().time())
        if theirs is None:
            self._checks.append(Check("clock", Verdict.UNKNOWN, "no answer told the service's time"))
            return None
        offset = (theirs - datetime.now(UTC)).total_seconds()
        found = f"the service's is {_span(abs(offset))} {'ahead of' if offset > 0 else 'behind'} this machine's"
        if abs(offset) < 1:
            found = "same as this machine's"
        if self._in_process:
            self._note("clock", found=f"{found}, because a sandbox in the same process has a time of its own")
            return offset
        advice = "The SDK goes by the service's clock; logs of both cannot be compared directly."
        if abs(offset) > _DAY:
            advice += " One of the two clocks is wrong: set this machine's, or tell the service's people."
        self._note("clock", abs(offset) > _LARGE_OFFSET, found, advice)
        return offset

    @property
    def _in_process(self) -> bool:
        """Whether the service is a sandbox without a socket: no network has a name that ends in `.invalid`."""
        host = urlsplit(self.caller.builder.build(DESCRIPTION.method, DESCRIPTION.path).url).hostname or ""
        return host.endswith(".invalid")

    def _limits(self, limit: RateLimit) -> None:
        if limit.limit is None:
            self._note("limits", found="no limit is kept")
            return
        if not self._took:
            self._checks.append(Check("limits", Verdict.UNKNOWN, "no answer told what is left"))
            return
        left, advice = limit.remaining or 0, []
        found = f"{limit.limit - left} of {limit.limit} requests of this hour are used, "
        found += f"{limit.foreign} of them made elsewhere" if limit.foreign else "no sign of others"
        if left < limit.limit * _FEW:
            found += f"; {left} are left, and the first comes back in {_span(limit.reset_in)}"
            advice.append("Calls wait for requests to come back, and jobs are polled less often meanwhile.")
        if limit.paused_for > 0:
            found += f"; the service asked for a pause of {_span(limit.paused_for)}"
            advice.append("Calls wait until it is over.")
        if limit.foreign * 10 > limit.limit:
            advice.append(
                "Other programs, other people or earlier runs use this key; a key of its own has a limit of its own."
            )
        self._note("limits", bool(advice), found, " ".join(advice))

    def _drift(self, drift: tuple[Deviation, ...], *, read: bool) -> None:
        if not drift and not read:
            self._checks.append(Check("drift", Verdict.UNKNOWN, "no answer was read that could differ"))
            return
        found = "; ".join(f"{each.where}: {each.kind.value} ({each.count})" for each in drift[:3])
        found += f"; and {len(drift) - 3} more" if len(drift) > 3 else ""
        advice = "Answers are read all the same. "
        if self._in_process:
            advice += "This sandbox was told to answer so."
        else:
            advice += "The interface may have moved: see whether there is a newer SDK."
        self._note("drift", bool(drift), found or "answers are as the specification shows", advice)

    async def _asked(self, name: str, call: Awaitable[T]) -> T | None:
        try:
            return await self._timed(call)
        except CMSError as error:
            first, *rest = str(error).splitlines()
            what = CONNECTION if isinstance(error, TransportError) else name
            self._checks.append(Check(what, Verdict.PROBLEM, first, " ".join(rest)))
            return None

    async def _timed(self, call: Awaitable[T]) -> T:
        began = asyncio.get_running_loop().time()
        result = await call
        self._took.append(asyncio.get_running_loop().time() - began)
        return result

    def _note(self, name: str, worrying: bool = False, found: str = "", advice: str = "") -> None:
        verdict = Verdict.WARNING if worrying else Verdict.OK
        self._checks.append(Check(name, verdict, found, advice if worrying else ""))


def _span(seconds: float) -> str:
    """Write a time in the unit that a person would use."""
    for unit, length in (("days", _DAY), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"
