"""The sandbox describes itself in `/openapi.json`."""

from __future__ import annotations

from typing import Any

import pytest
from openapi_spec_validator import validate

from cmsapi.sandbox import Behaviour, Fault, Limits, Sandbox
from cmsapi.sandbox.interface.openapi import document
from tests.support.audit_sandbox import AuditSandbox
from tests.support.calling import Caller


async def test_the_description_is_valid_openapi(call: Caller) -> None:
    """`/openapi.json` is a valid OpenAPI 3.1 document of version 1.0.0."""
    described = await call.get("/openapi.json")
    validate(described)
    assert described["info"]["version"] == "1.0.0"
    assert described == document()
    assert described["servers"]


async def test_the_description_of_a_subclass_is_valid() -> None:
    """Added operations have a tag and answers of any shape."""
    described = await Caller(AuditSandbox()).get("/openapi.json")
    validate(described)
    assert described["paths"]["/v1/audits/{auditId}"]["get"]["tags"] == ["Audits"]
    assert described["components"]["schemas"]["Remark"] == {}


@pytest.mark.parametrize("rate_headers", ["every", "valid_key"])
async def test_the_description_says_which_errors_carry_the_rate_headers(rate_headers: Any) -> None:
    """Each described error has the headers that such an answer is served with."""
    faults = [Fault(match="GET /v1/users", status=status) for status in (500, 502, 503)]
    box = Sandbox(behaviour=Behaviour(rate_headers=rate_headers), limits=Limits(per_second=8), faults=faults)
    call, folders = Caller(box), f"/v1/workspaces/{box.workspace_id}/folders"
    described = (await call.get("/openapi.json"))["components"]["responses"]
    validate(await call.get("/openapi.json"))
    answers = [
        await Caller(box, "sk_none")("GET", "/v1/me"),
        await Caller(box, box.member_key)("DELETE", f"/v1/pages/{box.page_ids[0]}"),
        *[await call("GET", "/v1/users") for _ in range(3)],
        await call("POST", folders, raw=b"{"),
        await call("POST", folders, {}),
        await call("GET", "/nowhere"),
        *[await call("POST", f"/v1/keywords/{box.keyword_ids[0]}/analyze") for _ in range(7)],
    ]
    refused = {answer.code.title().replace("_", ""): answer for answer in answers if answer.status >= 400}
    assert refused.keys() == described.keys()
    for name, answer in refused.items():
        shown = {header.lower() for header, told in described[name]["headers"].items() if "$ref" in told}
        assert shown == {header.lower() for header in answer.headers} - {"content-type", "date"}
