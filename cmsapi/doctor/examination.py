"""Ask the service a few harmless questions, and judge the answers. Nothing here changes or costs anything."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from statistics import median
from typing import TypeVar

import attrs

from cmsapi.core import LARGEST_PAGE, Core
from cmsapi.doctor.diagnosis import Check, Diagnosis, Verdict
from cmsapi.doctor.routes import RouteCheck, compare
from cmsapi.errors import CMSError, ForbiddenError
from cmsapi.models import Member, Role, User, Workspace
from cmsapi.operations import Operation
from cmsapi.transport.pipeline import Demand
from cmsapi.transport.ratelimit import RateLimit
from cmsapi.wire.drift import Deviation

T = TypeVar("T")

DESCRIPTION = Operation("openapi", "GET", "/openapi.json", section="9")
# Times that differ by more, in seconds, confuse people who compare logs.
_LARGE_OFFSET = 60.0
_SLOW = 2.0


@attrs.define
class Examination:
    """Examine a client; four requests at the most, none of which changes anything.

    Args:
        core: Calls the operations.
        rate_limit: Shows the limits.
        drift: Shows what differed in all answers that the client has read.
    """

    core: Core
    rate_limit: Callable[[], RateLimit]
    drift: Callable[[], tuple[Deviation, ...]]
    _checks: list[Check] = attrs.field(factory=list, init=False)
    _took: list[float] = attrs.field(factory=list, init=False)

    async def run(self) -> Diagnosis:
        """Ask and judge."""
        user = await self._asked("key", self.core.call(User, "get_me"))
        if user is not None:
            self._note("key", found=f"{user.first_name} {user.last_name}, {user.organization.name}")
            await self._permissions(user)
            self._balances(user)
        routes = await self._routes()
        offset = self._clock()
        if self._took:
            slow = median(self._took) > _SLOW
            self._note("latency", slow, f"{median(self._took) * 1000:.0f} ms a request", "The way there is slow.")
        limit, drift = self.rate_limit(), self.drift()
        self._limits(limit)
        self._drift(drift)
        return Diagnosis(
            checks=tuple(self._checks),
            user=user,
            rate_limit=limit,
            latency=median(self._took) if self._took else None,
            clock_offset=offset,
            routes=routes,
            drift=drift,
            operations=self.core.operations,
        )

    async def _permissions(self, user: User) -> None:
        workspaces = await self._asked(
            "permissions", self.core.page(Workspace, "list_workspaces", number=1, limit=LARGEST_PAGE)
        )
        if workspaces is None:
            return
        seen = workspaces.total if workspaces.total is not None else len(workspaces)
        total = user.organization.workspaces_count
        try:
            members = await self._timed(self.core.page(Member, "list_users", number=1, limit=LARGEST_PAGE))
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
        request = self.core.builder.build(DESCRIPTION.method, DESCRIPTION.path)
        try:
            exchange = await self._timed(self.core.pipeline.send(DESCRIPTION, request, Demand()))
            routes = compare(self.core.operations, exchange.document)
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
        theirs = self.core.pipeline.clock.at(asyncio.get_running_loop().time())
        if theirs is None:
            self._checks.append(Check("clock", Verdict.UNKNOWN, "no answer told the service's time"))
            return None
        offset = (theirs - datetime.now(UTC)).total_seconds()
        found = f"the service's is {abs(offset):.0f} s {'ahead of' if offset > 0 else 'behind'} this machine's"
        advice = "The SDK goes by the service's clock; logs of both cannot be compared directly."
        self._note("clock", abs(offset) > _LARGE_OFFSET, found, advice)
        return offset

    def _limits(self, limit: RateLimit) -> None:
        if limit.limit is None:
            self._note("limits", found="no limit is kept")
            return
        if not self._took:
            self._checks.append(Check("limits", Verdict.UNKNOWN, "no answer told what is left"))
            return
        others = f"{limit.foreign} of them made elsewhere" if limit.foreign else "no sign of others"
        self._note(
            "limits",
            limit.foreign * 10 > limit.limit or limit.paused_for > 0 or not limit.remaining,
            f"{limit.limit - (limit.remaining or 0)} of {limit.limit} requests of this hour are used, {others}",
            "Other programs, other people or earlier runs use this key; a key of its own has a limit of its own.",
        )

    def _drift(self, drift: tuple[Deviation, ...]) -> None:
        found = "; ".join(f"{each.where}: {each.kind.value} ({each.count})" for each in drift[:3])
        found += f"; and {len(drift) - 3} more" if len(drift) > 3 else ""
        advice = "Answers are read all the same. The interface may have moved: see whether there is a newer SDK."
        self._note("drift", bool(drift), found or "answers are as the specification shows", advice)

    async def _asked(self, name: str, call: Awaitable[T]) -> T | None:
        try:
            return await self._timed(call)
        except CMSError as error:
            first, *rest = str(error).splitlines()
            self._checks.append(Check(name, Verdict.PROBLEM, first, " ".join(rest)))
            return None

    async def _timed(self, call: Awaitable[T]) -> T:
        began = asyncio.get_running_loop().time()
        result = await call
        self._took.append(asyncio.get_running_loop().time() - began)
        return result

    def _note(self, name: str, worrying: bool = False, found: str = "", advice: str = "") -> None:
        verdict = Verdict.WARNING if worrying else Verdict.OK
        self._checks.append(Check(name, verdict, found, advice if worrying else ""))
