"""Kinds of jobs: a subclass of the sandbox adds operations and kinds."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cmsapi.sandbox import Sandbox
from cmsapi.sandbox.domain import contents
from cmsapi.sandbox.interface.routes import ROUTES, Route
from cmsapi.sandbox.messages.call import Call
from cmsapi.sandbox.randomness.distributions import Fixed
from cmsapi.sandbox.service.job_kinds import JOB_KINDS, JobKind
from cmsapi.sandbox.world.jobs import Job
from cmsapi.sandbox.world.world import World
from tests.support.calling import Caller

pytestmark = pytest.mark.looptime


def audit_content(call: Call) -> dict[str, Any]:
    """Launch an audit of a content."""
    content = call.find(call.store.contents, "contentId")
    call.world.jobs.launch("audit", content.id, call.world.clock.seconds())
    return contents.show_content(call.world, call.view(content))


def complete_audit(world: World, job: Job) -> None:
    """End an audit: the title of the content has a mark."""
    world.store.contents[job.target_id].title += " (audited)"


class AuditingSandbox(Sandbox):
    """A sandbox whose contents can be audited."""

    routes = (*ROUTES, Route("POST", "/v1/contents/{contentId}/audit", audit_content, "Content", 202))
    job_kinds = {**JOB_KINDS, "audit": JobKind(Fixed(30.0), complete_audit)}  # noqa: RUF012 - a frozen table


async def test_a_subclass_adds_an_operation_and_its_kind_of_job() -> None:
    """The operation launches a job, which ends after its duration, and the description contains the operation."""
    box = AuditingSandbox()
    call, path = Caller(box), f"/v1/contents/{box.content_ids[0]}"
    launched = await call("POST", f"{path}/audit")
    assert (launched.status, box.durations_of("audit")) == (202, [30.0])
    assert launched.json["title"] == (await call.get(path))["title"]
    await asyncio.sleep(31)
    assert (await call.get(path))["title"] == f"{launched.json['title']} (audited)"
    assert "audit_content" in str(await call.get("/openapi.json"))
    assert "audit_content" not in str(await Caller(Sandbox()).get("/openapi.json"))


def test_settings_may_name_the_added_kind() -> None:
    """A duration of the added kind is valid for the subclass, and refused without it."""
    assert AuditingSandbox(durations={"audit": 5}, failures={"audit": 1.0}).jobs == ()
    with pytest.raises(ValueError, match="got audit"):
        Sandbox(durations={"audit": 5})
