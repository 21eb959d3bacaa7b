"""What is sent on the wire, and how connection failures are reported."""

from __future__ import annotations

import asyncio
import socket
import time
from typing import Any

import aiohttp
import pytest

from cmsapi import (
    APIError,
    Client,
    DecodeError,
    NotSentError,
    OutcomeUnknownError,
    RateLimits,
    RetryPolicy,
    Timeouts,
)
from tests.support.raw import HANG_UP, RawServer, http

KEY = "sk_raw_0123456789"
ONCE = RetryPolicy(max_attempts=1)


def client_of(server: RawServer, **settings: Any) -> Client:
    """Return a client of a raw server that never retries."""
    settings.setdefault("retry", ONCE)
    return Client(KEY, base_url=server.url, limits=RateLimits.unlimited(), **settings)


def free_port() -> int:
    """Return a port on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def everything_said(error: BaseException | None) -> str:
    """Return all texts of an error and of its causes."""
    texts = ""
    while error is not None:
        texts += f"{error!s} {error!r} {error.args!r} {vars(error)!r}"
        error = error.__cause__ or error.__context__
    return texts


async def test_a_request_without_a_body_has_no_content_type(raw_server: RawServer) -> None:
    """Servers that check media types refuse a type without a body, so a POST and a DELETE carry none."""
    raw_server.script = [http(), http(b"", "204 No Content")]
    async with client_of(raw_server) as client:
        await client.request("POST", "/v1/keywords/k/analyze")
        await client.contents.delete("c")
    assert [sent.split(b" HTTP")[0] for sent in raw_server.requests] == [
        b"POST /v1/keywords/k/analyze",
        b"DELETE /v1/contents/c",
    ]
    assert all(b"content-type" not in sent.lower() for sent in raw_server.requests)


async def test_a_body_is_json(raw_server: RawServer) -> None:
    """A creation carries its JSON and the media type that says so."""
    raw_server.script = [http(b'{"id": "f"}')]
    async with client_of(raw_server) as client:
        await client.folders.create("w", "Th\u00e9")
    head, _, body = raw_server.requests[0].partition(b"\r\n\r\n")
    assert b"content-type: application/json" in head.lower()
    assert b"Th" in body
    assert body.startswith(b"{")


async def test_the_key_is_in_one_header_only(raw_server: RawServer) -> None:
    """The key is sent once, in Authorization."""
    raw_server.script = [http(b'{"id": "f"}')]
    async with client_of(raw_server) as client:
        await client.folders.create("w", "Name")
    assert raw_server.requests[0].count(KEY.encode()) == 1
    assert f"authorization: bearer {KEY}".encode() in raw_server.requests[0].lower()


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "PUT"])
async def test_an_attempt_is_sent_once(raw_server: RawServer, method: str, pooled: bool) -> None:
    """A server that hangs up after reading sees each attempt's request once, even on pooled connections."""
    raw_server.script = [http(), HANG_UP] if pooled else [HANG_UP]
    async with client_of(raw_server) as client:
        if pooled:
            await client.request("GET", "/v1/first")
        with pytest.raises(OutcomeUnknownError):
            await client.request(method, "/v1/second")
        await asyncio.sleep(0.05)
    assert sum(b"/v1/second" in sent for sent in raw_server.requests) == 1


async def test_a_connection_that_died_during_a_computation_is_not_used() -> None:
    """A POST after a computation that kept the loop from noticing a hang-up goes out once, on a new connection."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    loop = asyncio.get_running_loop()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    async with Client(KEY, base_url=url, limits=RateLimits.unlimited(), retry=ONCE) as client:
        first = asyncio.create_task(client.request("GET", "/v1/me"))
        peer, _ = await loop.sock_accept(listener)
        await loop.sock_recv(peer, 65_536)
        await loop.sock_sendall(peer, http())
        await first
        peer.close()
        time.sleep(0.05)  # noqa: ASYNC251  the loop stands still
        second = asyncio.create_task(client.request("POST", "/v1/keywords/k/analyze"))
        peer, _ = await asyncio.wait_for(loop.sock_accept(listener), 5)
        assert (await loop.sock_recv(peer, 65_536)).startswith(b"POST /v1/keywords/k/analyze")
        await loop.sock_sendall(peer, http())
        assert (await second).status == 200
        peer.close()
    listener.close()


async def test_a_long_header_line_is_read(raw_server: RawServer) -> None:
    """A header of 9,000 bytes, longer than aiohttp accepts by default, is no failure."""
    raw_server.script = [http(b"{}", "200 OK", "X-Long: " + "a" * 9000)]
    async with client_of(raw_server) as client:
        assert len((await client.request("GET", "/v1/me")).headers["x-long"]) == 9000


async def test_a_longer_header_line_is_named(raw_server: RawServer) -> None:
    """The error for a header beyond the bound names the bound, also for a launch."""
    raw_server.script = [http(b"{}", "200 OK", "X-Long: " + "a" * 70_000)]
    async with client_of(raw_server) as client:
        with pytest.raises(OutcomeUnknownError, match="65536 bytes"):
            await client.request("POST", "/v1/keywords/k/analyze")


@pytest.mark.parametrize(
    "reply", [b"garbage\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{", None], ids=["status", "body", "no"]
)
async def test_what_is_no_whole_answer_leaves_the_outcome_unknown(raw_server: RawServer, reply: bytes | None) -> None:
    """Garbage, half a body and silence come after the request was read, so the service may have acted."""
    raw_server.script, raw_server.close_after_reply = [reply], True
    async with client_of(raw_server, timeouts=Timeouts(request=0.2)) as client:
        with pytest.raises(OutcomeUnknownError) as caught:
            await client.request("POST", "/v1/keywords/k/analyze")
    assert len(raw_server.requests) == 1
    assert KEY not in everything_said(caught.value)


async def test_a_refused_connection_sends_nothing() -> None:
    """If nothing listens, nothing was sent, and no text of the error contains the key."""
    address = f"http://127.0.0.1:{free_port()}"
    async with Client(KEY, base_url=address, retry=ONCE) as client:
        with pytest.raises(NotSentError) as caught:
            await client.request("POST", "/v1/keywords/k/analyze")
    assert KEY not in everything_said(caught.value)


async def test_an_unused_proxy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the environment names a proxy that the client does not use, a failed connection says so."""
    monkeypatch.setenv("HTTPS_PROXY", "http://user:secret@127.0.0.1:1")
    async with Client(KEY, base_url=f"http://127.0.0.1:{free_port()}", retry=ONCE) as client:
        with pytest.raises(NotSentError, match="HTTPS_PROXY") as caught:
            await client.me()
    assert "secret" not in everything_said(caught.value)


async def test_a_redirect_is_not_followed(raw_server: RawServer) -> None:
    """A redirect is an error, and the key goes nowhere else."""
    raw_server.script = [http(b"{}", "302 Found", f"Location: {raw_server.url}/v1/elsewhere")]
    async with client_of(raw_server) as client:
        with pytest.raises(APIError) as caught:
            await client.me()
    assert caught.value.status == 302
    assert len(raw_server.requests) == 1


@pytest.mark.parametrize(
    "reply",
    [
        *(http(b"{}", "401 Unauthorized"), http(b"<p>"), http(KEY.encode(), "502 Bad", f"X-Seen: {KEY}")),
        http(b"{}", "200 OK", f"X-Seen : Bearer {KEY}"),
    ],
)
async def test_no_error_shows_the_key(raw_server: RawServer, reply: bytes) -> None:
    """The errors for error responses and unreadable ones contain the key in neither texts nor attributes."""
    raw_server.script = [reply]
    async with client_of(raw_server) as client:
        with pytest.raises((APIError, DecodeError, OutcomeUnknownError)) as caught:
            await client.me()
        assert KEY not in everything_said(caught.value) + repr(client) + repr(client.contents)


async def test_a_session_stays_the_callers(raw_server: RawServer) -> None:
    """Requests go through a given session, which stays open when the client closes."""
    async with aiohttp.ClientSession(headers={"X-Session": "mine"}) as session:
        async with client_of(raw_server, session=session) as client:
            await client.request("GET", "/v1/me")
        assert not session.closed
    assert b"x-session: mine" in raw_server.requests[0].lower()


async def test_the_last_client_closes_the_connections(raw_server: RawServer) -> None:
    """Clients of one key share connections, which stay open until the last of them closes."""
    first, second = client_of(raw_server), client_of(raw_server)
    await first.request("GET", "/v1/me")
    await second.request("GET", "/v1/me")
    await first.aclose()
    await second.request("GET", "/v1/me")
    assert raw_server.connections == 1
    await second.aclose()
    async with client_of(raw_server) as third:
        await third.request("GET", "/v1/me")
    assert raw_server.connections == 2


async def test_an_answer_that_nobody_asked_for_is_not_taken_for_the_next(raw_server: RawServer) -> None:
    """What a server sends on an idle connection, such as a 408, is not the response to the next request."""
    raw_server.script = [http(b'{"id": "a"}'), http(b'{"id": "b"}')]
    async with client_of(raw_server) as client:
        await client.keywords.get("a")
        raw_server.writers[-1].write(http(b"", "408 Request Timeout"))
        await asyncio.sleep(0.05)
        assert (await client.keywords.get("b")).id == "b"
