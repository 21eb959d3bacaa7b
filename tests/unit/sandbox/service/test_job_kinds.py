"""Kinds of jobs: a subclass of the sandbox adds operations and kinds."""

from __future__ import annotations

import asyncio

import pytest

from cmsapi.sandbox import Sandbox
from tests.support.audit_sandbox import KIND, AuditSandbox
from tests.support.calling import Caller

pytestmark = pytest.mark.looptime


async def test_a_subclass_adds_an_operation_and_its_kind_of_job() -> None:
    """The operation launches a job, which ends after its duration, and the description contains the operation."""
    box = AuditSandbox()
    call, path = Caller(box), f"/v1/pages/{box.page_ids[0]}/audit"
    launched = await call("POST", path)
    assert (launched.status, box.durations_of(KIND)) == (202, [20.0])
    assert launched.json == await call.get(path)
    await asyncio.sleep(21)
    assert (launched.json["status"], (await call.get(path))["status"]) == ("running", "done")
    assert "audit_page" in str(await call.get("/openapi.json"))
    assert "audit_page" not in str(await Caller(Sandbox()).get("/openapi.json"))


def test_settings_may_name_the_added_kind() -> None:
    """A duration of the added kind is valid for the subclass, and refused without it."""
    assert AuditSandbox(durations={KIND: 5}, failures={KIND: 1.0}).jobs == ()
    with pytest.raises(ValueError, match=f"got {KIND}"):
        Sandbox(durations={KIND: 5})
