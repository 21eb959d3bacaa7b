"""A sandbox that audits web pages: the twin of `tests/support/audits.py`, written without it."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import attrs

from cmsapi.sandbox import Sandbox
from cmsapi.sandbox.interface.routes import PAGING, ROUTES, Route
from cmsapi.sandbox.messages.call import Call
from cmsapi.sandbox.randomness.distributions import Fixed
from cmsapi.sandbox.service.job_kinds import JOB_KINDS, JobKind
from cmsapi.sandbox.world.billing import ANALYSIS, Purchase
from cmsapi.sandbox.world.jobs import SUCCESS, Job
from cmsapi.sandbox.world.refusal import Refusal
from cmsapi.sandbox.world.world import World

KIND = "page_audit"
REMARKS = ("The title is long.", "The page has no description.")


@attrs.define(eq=False)
class Audit:
    """An audit."""

    id: str
    workspace_id: str
    page_id: str
    status: str = "running"


_AUDITS: WeakKeyDictionary[World, dict[str, Audit]] = WeakKeyDictionary()


def audit_page(call: Call) -> dict[str, Any]:
    """Launch an audit; it costs an analysis credit."""
    page = call.find(call.store.pages, "pageId")
    workspace = call.store.workspaces[page.workspace_id]
    audit = Audit(call.store.new_id("aud"), workspace.id, page.id)
    call.world.launch(KIND, audit, Purchase(ANALYSIS, 1, call.user, workspace, ""))
    _audits(call)[audit.id] = audit
    return _show(audit)


def get_page_audit(call: Call) -> dict[str, Any]:
    """Show the newest audit of a page."""
    page = call.find(call.store.pages, "pageId")
    own = [audit for audit in _audits(call).values() if audit.page_id == page.id]
    if not own:
        raise Refusal(404, "the page has no audit")
    return _show(own[-1])


def get_audit(call: Call) -> dict[str, Any]:
    """Show an audit."""
    return _show(call.find(_audits(call), "auditId"))


def list_audits(call: Call) -> dict[str, Any]:
    """List the audits of a workspace."""
    workspace = call.workspace()
    return call.page([audit for audit in _audits(call).values() if audit.workspace_id == workspace.id], _show)


def list_remarks(call: Call) -> dict[str, Any]:
    """List what an audit has found."""
    audit = call.find(_audits(call), "auditId")
    return call.page(REMARKS, lambda text: {"id": f"{audit.id}_{REMARKS.index(text)}", "text": text})


def _audits(call: Call) -> dict[str, Audit]:
    return _AUDITS.setdefault(call.world, {})


def _complete(world: World, job: Job) -> None:
    _AUDITS[world][job.target_id].status = "done" if job.outcome == SUCCESS else "failed"


def _show(audit: Audit) -> dict[str, Any]:
    return {"id": audit.id, "workspaceId": audit.workspace_id, "pageId": audit.page_id, "status": audit.status}


class AuditSandbox(Sandbox):
    """A sandbox that audits web pages."""

    routes = (
        *ROUTES,
        Route("POST", "/v1/pages/{pageId}/audit", audit_page, "Audit", 202),
        Route("GET", "/v1/pages/{pageId}/audit", get_page_audit, "Audit"),
        Route("GET", "/v1/audits/{auditId}", get_audit, "Audit"),
        Route("GET", "/v1/workspaces/{workspaceId}/audits", list_audits, "page of Audit", query=PAGING),
        Route("GET", "/v1/audits/{auditId}/remarks", list_remarks, "page of Remark", query=PAGING),
    )
    job_kinds = {**JOB_KINDS, KIND: JobKind(Fixed(20.0), _complete)}  # noqa: RUF012 - a frozen table

    @property
    def audits(self) -> list[str]:
        """The audits that were launched."""
        return [job.target_id for job in self.jobs if job.kind == KIND]
