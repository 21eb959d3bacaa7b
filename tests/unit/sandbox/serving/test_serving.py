"""Serving: the socket answers as the transport does, for as long as it is open."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import time

import aiohttp
import pytest

from cmsapi.message import Request
from cmsapi.sandbox import Behaviour, Fault, Faults, Fixed, Sandbox, serve_forever
from tests.support.calling import Caller


@pytest.mark.slow
def test_importing_the_sandbox_does_not_import_aiohttp() -> None:
    """A sandbox that is not served does not import a web server."""
    code = "import sys, cmsapi.sandbox; cmsapi.sandbox.Sandbox(); print('aiohttp' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


REQUESTS: tuple[tuple[str, str, bytes | None], ...] = (
    ("GET", "/v1/me", None),
    ("GET", "/v1/contents/{content}", None),
    ("GET", "/v1/workspaces/{workspace}/contents?contentScore[gte]=1&limit=3", None),
    ("GET", "/v1/credit-usages?type=analysis&q=running%20shoes", None),
    ("GET", "/v1/credit-usages", None),
    ("GET", "/v1/keywords/%C3%A9%2F", None),
    ("GET", "/v1/keywords/%FF", None),
    ("GET", "/nowhere", None),
    ("PUT", "/v1/me", None),
    ("POST", "/v1/workspaces/{workspace}/content-idea-searches", b'{"keyword": "\\ud800"}'),
    ("POST", "/v1/workspaces/{workspace}/content-idea-searches", b"{"),
    ("GET", "/v1/keywords/a%0Ab", None),
    ("GET", "/v1/%0A", None),
    ("POST", "/v1/keywords/{keyword}/analyze", None),
    ("POST", "/v1/keywords/{keyword}/analyze", None),
    ("GET", "/v1/keywords/{keyword}", None),
    ("PATCH", "/v1/contents/{content}", b'{"version": 1, "title": "New"}'),
    ("DELETE", "/v1/contents/{content}", None),
    ("GET", "/health", None),
    ("GET", "/docs", None),
)


@pytest.mark.looptime
@pytest.mark.enable_socket
@pytest.mark.parametrize("deletion", ["null", "empty"])
async def test_the_socket_answers_as_the_transport_does(deletion: str) -> None:
    """Status, body and headers are the same in-process and over HTTP."""
    behaviour = Behaviour(deletion=deletion)  # type: ignore[arg-type]
    near, far = (Sandbox(behaviour=behaviour, durations=Fixed(100.0)) for _ in range(2))
    names = {"content": near.content_ids[0], "keyword": near.keyword_ids[0], "workspace": near.workspace_id}
    async with far, aiohttp.ClientSession(headers={"Authorization": f"Bearer {far.api_key}"}) as session:
        for method, template, body in REQUESTS:
            path = template.format_map(names)
            headers = {"Authorization": f"Bearer {near.api_key}", "Content-Type": "application/json"}
            here = await near.transport.send(Request(method, near.base_url + path, headers, body))
            from yarl import URL

            async with session.request(
                method, URL(far.base_url + path, encoded=True), data=body, headers=headers
            ) as there:
                assert (here.status, here.body) == (there.status, await there.read())
                for name in set(here.headers) - {"date"}:
                    assert here.headers[name] == there.headers[name]
                assert abs(len(here.headers) - len(set(there.headers))) <= 2
    assert [entry.outcome for entry in near.ledger] == [entry.outcome for entry in far.ledger]


@pytest.mark.enable_socket
async def test_serving_changes_the_address_for_a_while() -> None:
    """While served, the address is a loopback port and the clock shows the present; the transport still answers."""
    box = Sandbox(faults=Faults(rules=[Fault(match="GET /v1/me", drop=True)]))
    home = box.base_url
    async with box:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", box.base_url)
        assert abs(time.time() - box.now()) < 5
        async with aiohttp.ClientSession() as session:
            with pytest.raises(aiohttp.ClientError):
                await session.post(box.base_url + "/v1/me", proxy="http://127.0.0.1:9")
            assert (await session.get(box.base_url + "/v1/users")).status == 401
        with pytest.raises(ConnectionResetError):
            await Caller(box)("GET", "/v1/me")
    assert home == box.base_url
    assert (await Caller(box)("GET", "/v1/me")).status == 200


@pytest.mark.enable_socket
async def test_a_dropped_request_breaks_the_connection() -> None:
    """Over HTTP a drop is a connection that ends without an answer."""
    box = Sandbox(faults=Faults(rules=[Fault(match="POST /v1/me", drop=True)]))
    async with box, aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.ServerDisconnectedError):
            await session.post(box.base_url + "/v1/me")
    assert [entry.status for entry in box.ledger] == [None]


@pytest.mark.enable_socket
async def test_serving_goes_on_until_cancelled() -> None:
    """`serve_forever` reports its address, and releases the port at the end."""
    box, started = Sandbox(), asyncio.Queue[str]()
    serving = asyncio.create_task(serve_forever(box, port=0, started=started.put_nowait))
    base_url = await started.get()
    async with aiohttp.ClientSession() as session:
        assert await (await session.get(f"{base_url}/health")).json() == {"status": "ok"}
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving
    assert box.base_url.endswith(".invalid")


@pytest.mark.enable_socket
async def test_serving_without_a_callback(box: Sandbox) -> None:
    """Serving works without a callback, and a port in use is an error."""
    serving = asyncio.create_task(serve_forever(box, port=0))
    async with asyncio.timeout(20):
        while box.base_url.endswith(".invalid"):  # noqa: ASYNC110  without a callback nothing tells of the start
            await asyncio.sleep(0.01)
    port = int(box.base_url.rpartition(":")[2])
    with pytest.raises(OSError, match=str(port)):
        await serve_forever(Sandbox(), port=port)
    serving.cancel()
    await asyncio.wait([serving])


@pytest.mark.enable_socket
async def test_an_ipv6_address_is_written_in_brackets(box: Sandbox) -> None:
    """The base URL of an IPv6 address is valid."""
    assert (await box.serve("::1")).startswith("http://[::1]:")
    await box.aclose()
