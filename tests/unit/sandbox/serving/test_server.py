"""Each error of the served sandbox has the form of section 7, even for requests that a web server refuses itself."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import attrs
import pytest

from cmsapi.sandbox import Behaviour, Fault, Sandbox
from cmsapi.sandbox.messages.bodies import LARGEST_BODY

pytestmark = pytest.mark.enable_socket

RATE_HEADERS = {"x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"}


@attrs.frozen
class Answer:
    """An answer read from the socket."""

    status: int
    headers: dict[str, str]
    document: Any


async def ask(box: Sandbox, head: str, body: bytes = b"", *headers: str) -> Answer:
    """Send a request line, headers and a body as they are, and read one answer."""
    host, _, port = box.base_url.removeprefix("http://").rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    lines = [f"{head} HTTP/1.1", f"Host: {host}:{port}", f"Content-Length: {len(body)}", *headers]
    try:
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        first, *rest = (await reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
        told = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
        document = json.loads(await reader.readexactly(int(told["content-length"])))
    finally:
        writer.transport.abort()
    return Answer(int(first.split(" ")[1]), told, document)


def key(box: Sandbox) -> str:
    """Write the header with the key."""
    return f"Authorization: Bearer {box.api_key}"


def is_error(answer: Answer, status: int, code: str) -> bool:
    """Tell whether an answer is this error, in the shape of section 7 and with the rate headers of section 8."""
    error = answer.document["error"]
    shaped = answer.document.keys() == {"error"} and error.keys() == {"code", "message"}
    return shaped and (answer.status, error["code"]) == (status, code) and answer.headers.keys() >= RATE_HEADERS


@pytest.mark.parametrize(
    "head", ["GET /v1/keywords/a%0Ab", "GET /v1/%0A", "OPTIONS *", "GET http://elsewhere.example/v1/nothing"]
)
async def test_no_path_escapes_the_service(head: str) -> None:
    """For each path the key is checked, the request counts, and the ledger has it."""
    async with Sandbox() as box:
        assert is_error(await ask(box, head), 401, "unauthorized")
        answer = await ask(box, head, b"", key(box))
        assert answer.status in (400, 404)
        assert is_error(answer, answer.status, {400: "bad_request", 404: "not_found"}[answer.status])
        assert answer.headers["x-ratelimit-remaining"] == "999"
        assert [entry.key for entry in box.ledger] == ["none", "admin"]


async def test_a_body_that_is_too_large_is_a_bad_request() -> None:
    """A body that is too large is a 400 after the check of the key, and counts."""
    body = b'{"name": "' + b"x" * LARGEST_BODY + b'"}'
    async with Sandbox() as box:
        path = f"POST /v1/workspaces/{box.workspace_id}/folders"
        answer = await ask(box, path, body, key(box), "Content-Type: application/json")
        assert is_error(answer, 400, "bad_request")
        assert [(entry.status, entry.effect) for entry in box.ledger] == [(400, False)]


@pytest.mark.parametrize(
    ("head", "header"),
    [
        ("GET /" + "x" * 20_000, "X-Any: 1"),
        ("GET /v1/me", "X-Any: " + "x" * 20_000),
        ("GET /v1/me", "no colon"),
        ("G\x01T /v1/me", "X-Any: 1"),
    ],
    ids=["path", "header", "colon", "method"],
)
async def test_what_is_no_request_is_a_bad_request(head: str, header: str, caplog: pytest.LogCaptureFixture) -> None:
    """An overlong or malformed line is a 400; neither the answer nor a log shows a part of it."""
    async with Sandbox() as box:
        answer = await ask(box, head, b"", key(box), header)
        assert is_error(answer, 400, "bad_request")
        assert box.api_key not in json.dumps(answer.document)
        assert len(box.ledger) == 0
        assert not caplog.records


async def test_a_client_that_asks_before_it_sends_its_body_is_told_to_go_on() -> None:
    """`Expect: 100-continue` is answered at once."""
    async with Sandbox() as box:
        host, _, port = box.base_url.removeprefix("http://").rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"POST /v1/me HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"{}")
        assert (await reader.readline()).startswith(b"HTTP/1.1 401 ")
        writer.transport.abort()


@pytest.mark.parametrize("when", ["before", "after"])
async def test_an_injected_error_carries_the_rate_headers(when: Any) -> None:
    """An injected error has the rate headers; the request counts only if the fault strikes after its effect."""
    async with Sandbox(faults=Fault(match="GET /v1/me", status=503, when=when)) as box:
        answer = await ask(box, "GET /v1/me", b"", key(box))
        assert is_error(answer, 503, "service_unavailable")
        assert answer.headers["x-ratelimit-remaining"] == {"before": "1000", "after": "999"}[when]


async def test_only_answers_to_a_valid_key_carry_the_rate_headers_when_set() -> None:
    """With `rate_headers="valid_key"` neither a 401 nor a fault has them, and the other errors do."""
    behaviour = Behaviour(rate_headers="valid_key")
    async with Sandbox(behaviour=behaviour, faults=Fault(match="GET /v1/me", status=503)) as box:
        for head, header, carried in (
            ("GET /v1/me", key(box), set()),
            ("GET /v1/me", "X-Any: 1", set()),
            ("GET /v1/keywords/none", key(box), RATE_HEADERS),
            ("GET /nowhere", key(box), RATE_HEADERS),
        ):
            assert (await ask(box, head, b"", header)).headers.keys() & RATE_HEADERS == carried
