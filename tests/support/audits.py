"""A sixth kind of job as a maintainer would add it: the audit of a web page, with its models, operations and resource.

The sandbox has the twin in `tests/support/audit_sandbox.py`. Nothing else knows this kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import attrs

import cmsapi
from cmsapi.api.model import Model, OpenEnum
from cmsapi.api.operations import Operation, OperationTable, Replay
from cmsapi.api.page import Page
from cmsapi.api.pagination import Paginator
from cmsapi.config import WordMap
from cmsapi.errors import NotFoundError
from cmsapi.jobs import Job, JobKind
from cmsapi.jobs.kinds.analysis import CREDITS
from cmsapi.jobs.kinds.evidence import Finding, Verdict
from cmsapi.jobs.kinds.kind import NO_WORDS, JobHistory, Kind
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.jobs.launching.launcher import Launcher
from cmsapi.jobs.launching.request import LaunchRequest
from cmsapi.runtime.lazy import lazy
from cmsapi.state.entry import Entry, Fact
from cmsapi.transport.call import CallOptions
from cmsapi.transport.caller import LARGEST_PAGE, OperationCaller

WORD = JobKind("page_audit")


class AuditStatus(OpenEnum):
    """List the states of an audit."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@attrs.frozen(kw_only=True)
class Audit(Model):
    """Describe an audit; a page shows only its newest one."""

    id: str
    workspace_id: str
    page_id: str
    status: AuditStatus


@attrs.frozen(kw_only=True)
class Remark(Model):
    """Describe something that an audit has found."""

    id: str
    text: str


@attrs.frozen
class AuditReport:
    """Hold the result of an audit."""

    audit: Audit
    remarks: tuple[Remark, ...]


class PageAudit(Kind):
    """Describe the audit of a web page; the page is the launch's target, the audit the job's."""

    name = WORD
    operation, parameter, model = "get_audit", "auditId", Audit
    running, succeeded, failed = (AuditStatus.RUNNING,), (AuditStatus.DONE,), (AuditStatus.FAILED,)
    polled_by_id = True
    initial_duration = 20.0
    list_operation, list_parameter = "list_audits", "workspaceId"
    result_requests = 1.0
    launch_operation = "audit_page"
    answer = Audit
    balance = CREDITS
    where_to_look = "client.audits.current shows whether there is one."

    def list_of(self, document: Audit) -> str:
        return document.workspace_id

    async def read_result(
        self, caller: OperationCaller, target: str, document: Audit, history: JobHistory, options: CallOptions
    ) -> AuditReport:
        remarks = caller.paginate(Remark, "list_remarks", {"auditId": target}, limit=LARGEST_PAGE, options=options)
        return AuditReport(document, tuple([remark async for remark in remarks]))

    async def read_baseline(self, caller: OperationCaller, target: str) -> Mapping[str, Fact]:
        current = await current_audit(caller, target)
        return {"baseline": None if current is None else current.id}

    async def read_evidence(self, caller: OperationCaller, entry: Entry) -> Audit | None:
        return await current_audit(caller, entry.target)

    def judge_shown(
        self, entry: Entry, document: Audit | None, now: datetime | None, words: WordMap = NO_WORDS
    ) -> Finding:
        if "baseline" not in entry.facts:
            return Finding.unknown("it was not read which audit the page had before")
        if document is None or document.id == entry.facts["baseline"]:
            return Finding(verdict=Verdict.ABSENT, why="the page has no new audit")
        return Finding(verdict=Verdict.LAUNCHED, why="the page has a new audit", job_id=document.id)


async def current_audit(caller: OperationCaller, page_id: str) -> Audit | None:
    """Read the newest audit of a page, None when it has none."""
    try:
        return await caller.call(Audit, "get_page_audit", {"pageId": page_id})
    except NotFoundError:
        return None


OPERATIONS = OperationTable(
    {
        **cmsapi.OPERATIONS,
        "audit_page": Operation("audit_page", "POST", "/v1/pages/{pageId}/audit", Replay.COSTS_CREDIT),
        "get_page_audit": Operation("get_page_audit", "GET", "/v1/pages/{pageId}/audit"),
        "get_audit": Operation("get_audit", "GET", "/v1/audits/{auditId}"),
        "list_audits": Operation("list_audits", "GET", "/v1/workspaces/{workspaceId}/audits"),
        "list_remarks": Operation("list_remarks", "GET", "/v1/audits/{auditId}/remarks"),
    }
)


class Audits:
    """Audit web pages."""

    def __init__(self, caller: OperationCaller, open_launcher: Callable[[], Launcher]) -> None:
        self._caller = caller
        self._open_launcher = open_launcher

    async def launch(self, page_id: str) -> Job[AuditReport]:
        """Launch the audit of a page; one analysis credit."""
        return await self._open_launcher().launch(
            LaunchRequest(kind=KINDS[WORD], target=page_id, path={"pageId": page_id})
        )

    def list(self, workspace_id: str) -> Paginator[Audit, Page[Audit]]:
        """List the audits of a workspace."""
        return self._caller.paginate(Audit, "list_audits", {"workspaceId": workspace_id}, limit=LARGEST_PAGE)

    async def current(self, page_id: str) -> Audit | None:
        """Read the newest audit of a page, None when it has none."""
        return await current_audit(self._caller, page_id)


class AuditClient(cmsapi.Client):
    """Talk to a service that audits pages."""

    audits: Audits = lazy("tests.support.audits", "Audits", "_caller", "_open_launcher")

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, operations=OPERATIONS, **options)


@contextmanager
def known_audits() -> Iterator[None]:
    """Let the package know the kind for a while."""
    KINDS[WORD] = PageAudit()
    try:
        yield
    finally:
        KINDS.pop(WORD, None)
