"""The proxy: faults as the bytes that a client reads."""

from __future__ import annotations

import asyncio

import pytest

from cmsapi.sandbox import Fault, FaultProxy, Sandbox
from tests.support.proxy import ask

pytestmark = pytest.mark.enable_socket


async def through(fault: Fault, method: str = "POST") -> tuple[bytes, int]:
    """Send one request through one fault; return the answer, and how many requests reached the sandbox."""
    async with Sandbox() as box, FaultProxy(box.base_url, fault) as proxy:
        path = f"/v1/workspaces/{box.workspace_id}/folders" if method == "POST" else "/v1/me"
        answer = await ask(proxy, box, method, path)
        assert sum(proxy.faults_struck.values()) == 1
        return answer, len(box.ledger)


async def test_without_a_fault_the_bytes_are_the_sandboxs() -> None:
    """Without a fault bytes pass unchanged, and connections stay open."""
    async with Sandbox() as box, FaultProxy(box.base_url, []) as proxy:
        answer = await ask(proxy, box)
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert box.user_ids[0].encode() in answer
        assert proxy.faults_struck == {}


@pytest.mark.parametrize(
    ("fault", "begins", "reached"),
    [
        (Fault(drop=True), b"", 0),
        (Fault(drop=True, when="after"), b"", 1),
        (Fault(status=503, retry_after=2), b"HTTP/1.1 503 Service Unavailable\r\n", 0),
        (Fault(status=502, when="after"), b"HTTP/1.1 502 Bad Gateway\r\n", 1),
        (Fault(spoil="garbage"), b"\x16\x03\x01", 1),
        (Fault(spoil="html"), b"HTTP/1.1 201 Created\r\nContent-Type: text/html\r\n", 1),
        (Fault(spoil="empty"), b"HTTP/1.1 201 Created\r\n", 1),
        (Fault(slow=0.1), b"HTTP/1.1 201 Created\r\n", 1),
    ],
    ids=lambda value: value.kind if isinstance(value, Fault) else "",
)
async def test_faults_as_bytes(fault: Fault, begins: bytes, reached: int) -> None:
    """A fault before the effect keeps the request from the sandbox, one after it does not."""
    answer, arrived = await through(fault)
    assert (answer[: len(begins)], bool(answer), arrived) == (begins, bool(begins), reached)


@pytest.mark.parametrize("fault", [Fault(drop=True, when="within"), Fault(spoil="truncated")], ids=["within", "cut"])
async def test_half_an_answer(fault: Fault) -> None:
    """The answer ends before the length in its head."""
    answer, arrived = await through(fault, "GET")
    head, _, body = answer.partition(b"\r\n\r\n")
    promised = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    assert (0 < len(body) < promised, arrived) == (True, 1)


async def test_an_oversized_answer_does_not_tell_its_length() -> None:
    """An oversized answer of 40 MiB comes in chunks."""
    answer, _ = await through(Fault(spoil="oversized"), "GET")
    assert b"Transfer-Encoding: chunked" in answer[:400]
    assert len(answer) > 40 * 1024 * 1024


async def test_leaving_closes_what_is_open() -> None:
    """Closing the proxy closes the connection of a waiting client."""
    async with Sandbox() as box:
        async with FaultProxy(box.base_url, Fault(slow=60.0)) as proxy:
            asking = asyncio.create_task(ask(proxy, box))
            await asyncio.sleep(0.05)
        assert not (await asking).endswith(b"}")
