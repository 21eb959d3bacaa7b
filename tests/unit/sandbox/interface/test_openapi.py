"""The served sandbox answers as its own `/openapi.json` describes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from openapi_spec_validator import validate
from schemathesis.specs.openapi.checks import unsupported_method

from cmsapi.sandbox import Behaviour, Fault, Fixed, Limits, Sandbox, serve_forever
from cmsapi.sandbox.interface.openapi import document
from tests.support.audit_sandbox import AuditSandbox
from tests.support.calling import Caller
from tests.support.described import refer

schema = schemathesis.openapi.from_dict(document())
schema.config.generation.update(with_security_parameters=False)


@pytest.fixture
def served() -> Iterator[Sandbox]:
    """Serve a sandbox without limits from a thread of its own."""
    box = Sandbox(limits=Limits.unlimited(), durations=Fixed(0.05))
    listening = threading.Event()
    loop = asyncio.new_event_loop()
    serving = loop.create_task(serve_forever(box, port=0, started=lambda _: listening.set()))

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.get_loop().run_until_complete(asyncio.wait([serving]))

    thread = threading.Thread(target=run)
    thread.start()
    assert listening.wait(10)
    yield box
    loop.call_soon_threadsafe(serving.cancel)
    thread.join(10)


@pytest.mark.enable_socket
@schema.parametrize()
@settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)
def test_every_operation_answers_as_described(case: schemathesis.Case[Any], served: Sandbox) -> None:
    """Every answer to generated input has a described status and shape; bad input is refused, good input is not."""
    if case.meta is not None and case.meta.generation.mode.is_positive:
        refer(served, case.path_parameters)
        refer(served, case.body)
    headers = {"Authorization": f"Bearer {served.api_key}"}
    # Section 7 has no 405: here what is no operation is a 404.
    case.call_and_validate(base_url=served.base_url, headers=headers, excluded_checks=[unsupported_method])


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
