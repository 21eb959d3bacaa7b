"""What the doctor finds, on the sandbox in virtual time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve

from cmsapi import OPERATIONS, Client, ClientClosedError, Request, Response
from cmsapi.doctor import Diagnosis
from cmsapi.sandbox import Fault, Faults, Limits, Sandbox
from tests.unit.transport.scripted import Scripted

pytestmark = pytest.mark.looptime


class Changed:
    """A sandbox's transport with a different ``/openapi.json``."""

    def __init__(self, sandbox: Sandbox, change: Callable[[Any], Any]) -> None:
        self.aclose = sandbox.transport.aclose
        self._send = sandbox.transport.send
        self._change = change

    async def send(self, request: Request) -> Response:
        """Return the response, or the changed document."""
        answer = await self._send(request)
        if not request.url.endswith("/openapi.json"):
            return answer
        return evolve(answer, body=self._change(json.loads(answer.body)))


async def examined(sandbox: Sandbox, key: str | None = None, transport: Any = None, **settings: Any) -> Diagnosis:
    """Return a new client's diagnosis."""
    transport = transport or sandbox.transport
    key = key or sandbox.api_key
    async with Client(key, base_url=sandbox.base_url, transport=transport, **settings) as client:
        diagnosis = await client.doctor()
    assert key not in str(diagnosis)
    return diagnosis


def levels(diagnosis: Diagnosis) -> dict[str, str]:
    """Return the level of each subject."""
    return {finding.subject: finding.level for finding in diagnosis.findings}


async def test_a_sound_service_is_ok(sandbox: Sandbox) -> None:
    """Each subject is ok, for three requests of the hour, and nothing is launched."""
    diagnosis = await examined(sandbox)
    assert diagnosis.ok
    assert set(levels(diagnosis).values()) == {"ok"}
    counted = [request for request in sandbox.ledger.requests if request.path != "/openapi.json"]
    assert (len(counted), sandbox.ledger.launches) == (3, [])


@pytest.mark.parametrize(
    ("settings", "subject", "level"),
    [
        ({"credits": {"analysis": 0}}, "credits", "warning"),
        ({"clock_skew": 4000.0}, "clock", "warning"),
        ({"clock_skew": -1e8}, "clock", "warning"),
        ({"limits": Limits(used=300)}, "limits", "warning"),
        ({"limits": Limits(per_hour=500)}, "limits", "problem"),
        ({"limits": Limits(used=1000)}, "limits", "problem"),
        ({"faults": Fault(match="list_users", status=500)}, "service", "problem"),
    ],
)
async def test_what_is_not_as_expected_is_a_finding(settings: dict[str, Any], subject: str, level: str) -> None:
    """It is reported under its own subject, and nothing else is blamed."""
    found = levels(await examined(Sandbox(**settings)))
    assert {name: each for name, each in found.items() if each != "ok"} == {subject: level}


async def test_a_member_sees_what_is_refused(sandbox: Sandbox) -> None:
    """A member's key works, sees fewer workspaces, and may not do what only an Admin may."""
    diagnosis = await examined(sandbox, sandbox.member_key)
    (permissions,) = (finding for finding in diagnosis.findings if finding.level != "ok")
    assert (permissions.subject, permissions.level) == ("permissions", "warning")
    assert "1 of 2" in permissions.text


async def test_a_refused_key_is_a_problem(sandbox: Sandbox) -> None:
    """It is a finding, and the routes are still compared."""
    diagnosis = await examined(sandbox, "sk_mistyped")
    assert not diagnosis.ok
    assert levels(diagnosis) == {"key": "problem", "operations": "ok"}


@pytest.mark.parametrize("fault", [Fault(refuse=True), Fault(drop="after"), Fault(slow=1000), Fault(status=503)])
async def test_a_dead_service_is_a_problem_within_half_a_minute(fault: Fault) -> None:
    """A service that refuses, hangs up, stays silent or fails ends the examination; nothing is raised."""
    diagnosis = await examined(Sandbox(faults=Faults([fault])))
    assert levels(diagnosis) == {"service": "problem", "operations": "warning"}
    assert asyncio.get_running_loop().time() < 30


async def test_a_service_that_says_nothing_is_unknown() -> None:
    """Without headers, balances and a document there is no problem, and the limits are unknown."""
    async with Scripted(Response(200, {}, b'{"data": []}')).client() as client:
        diagnosis = await client.doctor()
    assert diagnosis.ok
    assert {name for name, level in levels(diagnosis).items() if level != "ok"} == {"limits", "operations"}


def moved(document: Any) -> bytes:
    """Move publishing to another path, and leave out the lists of prompts."""
    paths = document["paths"]
    publish = paths.pop("/v1/contents/{contentId}/publish")["post"]
    paths["/v1/contents/{id}/publication"] = {"put": {**publish, "operationId": "publishContent"}}
    del paths["/v1/keywords/{keywordId}/prompts"]["get"]
    return json.dumps(document).encode()


async def test_a_route_that_moved_can_be_adopted(sandbox: Sandbox) -> None:
    """A missing route is looked for by its operationId; one that is not found is named."""
    transport = Changed(sandbox, moved)
    diagnosis = await examined(sandbox, transport=transport)
    assert diagnosis.candidates == {"publish_content": "PUT /v1/contents/{id}/publication"}
    assert [finding.level for finding in diagnosis.findings if finding.subject == "operations"] == [
        "problem",
        "warning",
    ]
    adopted = await examined(sandbox, transport=transport, operations=OPERATIONS.override(**diagnosis.candidates))
    assert adopted.ok
    assert not adopted.candidates


@pytest.mark.parametrize(
    "body", [b"<html>", b"[]", b"{}", b'{"paths": {"/me": {"get": {}}}}', b'{"paths": {"/v1/a": 1}}', b"[" * 100_000]
)
async def test_a_document_that_is_none_is_unknown(sandbox: Sandbox, body: bytes) -> None:
    """A service without a readable description is not a problem."""
    diagnosis = await examined(sandbox, transport=Changed(sandbox, lambda _: body))
    assert diagnosis.ok
    assert levels(diagnosis)["operations"] == "warning"


async def test_a_closed_client_is_an_error(client: Client) -> None:
    """A mistake in the program is raised, as by every call."""
    await client.aclose()
    with pytest.raises(ClientClosedError):
        await client.doctor()
