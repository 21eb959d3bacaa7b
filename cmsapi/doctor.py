"""The checks that `Client.doctor` runs: key, credits, limits, clock, permissions and table of operations."""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from attrs import evolve, frozen

from cmsapi.config import MARGIN
from cmsapi.errors import CMSError, ConfigError, ForbiddenError, RateLimitedError, RateLimitWaitError, UnauthorizedError
from cmsapi.jobs.kinds import service_time
from cmsapi.limits.limiter import Limiter
from cmsapi.messages import Request, Response
from cmsapi.models import Credits, Member, Organization, User, Workspace
from cmsapi.transport.pipeline import Pipeline
from cmsapi.wire.converter import parse, to_dict
from cmsapi.wire.operations import OperationTable


@frozen
class Finding:
    """Result of one check. ``problem``: calls fail. ``warning``: calls may be affected, or the result is unknown."""

    level: Literal["ok", "warning", "problem"]
    subject: str  # service, key, credits, limits, clock, permissions or operations
    text: str


@frozen
class Diagnosis:
    """Findings of all checks, and corrected routes for ``OPERATIONS.override(**diagnosis.candidates)``."""

    findings: tuple[Finding, ...]
    candidates: Mapping[str, str]

    @property
    def ok(self) -> bool:
        """True if no finding is a ``problem``; there may be warnings."""
        return all(finding.level != "problem" for finding in self.findings)


async def examine(pipeline: Pipeline, seconds: float = 7.0) -> Diagnosis:
    """Run the checks of `Client.doctor`, and return the findings. Each of the four calls is limited to ``seconds``."""
    limiter, findings, candidates = pipeline.account().limiter, list[Finding](), dict[str, str]()
    timeouts, retry = evolve(pipeline.timeouts, deadline=seconds), evolve(pipeline.retry, max_retry_after=seconds)
    pipeline = evolve(pipeline, max_wait=seconds, timeouts=timeouts, retry=retry)
    try:
        async for finding in _account(pipeline, limiter):
            findings.append(finding)
    except CMSError as error:
        limited = isinstance(error, RateLimitedError | RateLimitWaitError)
        subject = "key" if isinstance(error, UnauthorizedError) else "limits" if limited else "service"
        findings.append(Finding("problem", subject, str(error)))
    try:
        request = Request("GET", f"{pipeline.base_url}/openapi.json", pipeline.headers)
        response = await pipeline.send(request, None, limited=False)
        findings += _operations(parse(response.body), pipeline.operations, candidates)
    except (CMSError, AttributeError, LookupError, TypeError) as error:
        findings.append(Finding("warning", "operations", f"unknown: /openapi.json cannot be read: {error}"))
    return Diagnosis(tuple(findings), candidates)


async def _account(pipeline: Pipeline, limiter: Limiter) -> AsyncIterator[Finding]:
    loop = asyncio.get_running_loop()
    began = loop.time()
    user = await pipeline.call("get_me", User)
    now, response, organization = datetime.now(UTC), user.response or Response(200), user.organization or Organization()
    yield Finding("ok", "key", f"of {user.email or user.id}, organization {organization.name}")
    left: dict[str, int | None] = to_dict(organization.credits or Credits())
    text = ", ".join(f"{name} {'unknown' if number is None else number}" for name, number in left.items())
    empty = 0 in left.values()
    yield Finding("warning" if empty else "ok", "credits", text + "; launches without credits are refused" * empty)
    kept, status, header = limiter.limits.per_hour, limiter.status(), response.headers.get("x-ratelimit-limit", "")
    allowed = int(header) if header.isdecimal() else None
    text = f"{kept:,} requests an hour, {status.free:,} left, {status.others:,} used by other programs"
    text += "; how many the service allows is unknown" if allowed is None else f"; the service allows {allowed:,}"
    if allowed is not None and allowed < kept:
        yield Finding("problem", "limits", f"{text}: RateLimits(per_hour={allowed})")
    else:
        yield Finding("warning" if allowed is None or status.others else "ok", "limits", text)
    date = service_time(response, loop.time()) or now
    if abs(now - date) > timedelta(seconds=MARGIN + loop.time() - began):  # Date was set before the response was read
        where = f"{str(abs(now - date)).partition('.')[0]} {'ahead of' if now > date else 'behind'} the service"
        yield Finding("warning", "clock", f"this machine is {where}")
    else:
        yield Finding("ok", "clock", "as the service's" if "date" in response.headers else "unknown: no Date is sent")
    seen = (await pipeline.list("list_workspaces", Workspace)).total
    text = f"sees {seen} of {organization.workspaces_count} workspaces"
    try:
        members = await pipeline.list("list_users", Member)
    except ForbiddenError:
        yield Finding("warning", "permissions", f"{text}; is no Admin: what only an Admin may do is refused")
    else:
        role = next((member.role for member in members if member.id == user.id), "may list the members")
        yield Finding("ok", "permissions", f"{text}; {role}")


def _operations(document: Any, table: OperationTable, candidates: dict[str, str]) -> Iterator[Finding]:
    """Yield findings on routes missing in ``document``. Add replacements found by ``operationId`` to ``candidates``."""
    named, there = defaultdict[str, list[str]](list), set[str]()
    for path, methods in document["paths"].items():
        for method, described in methods.items():
            if "/v1/" in path and isinstance(described, dict):
                route = f"{method.upper()} {path[path.find('/v1/') :].rstrip('/')}"
                there.add(re.sub(r"{\w+}", "{}", route))
                named[re.sub(r"\W|_", "", str(described.get("operationId"))).lower()].append(route)
    if not there:
        raise LookupError("it describes nothing under /v1/")
    missing = [row for row in table.values() if re.sub(r"{\w+}", "{}", f"{row.method} {row.path}") not in there]
    for row in missing:
        with suppress(ConfigError, ValueError):  # there is no such route, several, or one with other parameters
            (route,) = named[row.name.replace("_", "")]
            table.override(**{row.name: route})
            candidates[row.name] = route
            text = f'{row.name}: {row.method} {row.path} is not there: OPERATIONS.override({row.name}="{route}")'
            yield Finding("problem", "operations", text)
    if others := [row.name for row in missing if row.name not in candidates]:
        yield Finding("warning", "operations", f"not in /openapi.json: {', '.join(others)}")
    elif not missing:
        yield Finding("ok", "operations", f"all {len(table)} are where the service has them")
