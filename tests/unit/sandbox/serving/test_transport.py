"""The sandbox as a transport in the same process."""

from __future__ import annotations

import pytest

from cmsapi.message import Request
from cmsapi.sandbox import Fault, Limits, Sandbox


async def test_the_transport_answers_any_host(box: Sandbox) -> None:
    """The transport ignores the host and the fragment of a URL, and closing it changes nothing."""
    await box.transport.aclose()
    for url in ("http://elsewhere/health", "https://x.invalid:99/health#top"):
        assert (await box.transport.send(Request("GET", url))).status == 200
    assert (await box.transport.send(Request("GET", "https://x.invalid"))).status == 401


async def test_each_answer_names_its_request() -> None:
    """Every answer has an `X-Request-Id` of its own, which the ledger has as well; the seed decides on all of them."""
    faults = [
        Fault(match="GET /v1/users", status=503),
        Fault(match="GET /v1/workspaces", status=500, when="after"),
        Fault(match="GET /v1/me", drop=True),
    ]
    named: list[list[str]] = []
    for _ in range(2):
        box = Sandbox(faults=faults, limits=Limits(per_second=6))
        key = {"Authorization": f"Bearer {box.api_key}"}
        with pytest.raises(ConnectionResetError):
            await box.transport.send(Request("GET", f"{box.base_url}/v1/me", key))
        paths = ["/health", "/openapi.json", "/docs", "/nowhere", "/v1/users", "/v1/workspaces", *["/v1/me"] * 6]
        answers = [await box.transport.send(Request("GET", box.base_url + path, key)) for path in paths]
        answers.append(await box.transport.send(Request("GET", f"{box.base_url}/v1/me")))
        assert {answer.status for answer in answers} == {200, 401, 404, 429, 500, 503}
        named.append([answer.headers["X-Request-Id"] for answer in answers])
        assert [entry.request_id for entry in box.ledger][1:] == named[-1]
    assert named[0] == named[1]
    assert len(set(named[0])) == len(named[0])
