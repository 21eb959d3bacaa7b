"""The bytes: what aiohttp does on a real connection, and what we make of it."""

from __future__ import annotations

import asyncio
import gzip
import ssl

import aiohttp
import pytest

import cmsapi
from cmsapi import errors
from cmsapi.sandbox import Fault, FaultProxy, Sandbox
from cmsapi.transport.http import AiohttpTransport
from tests.support.connecting import Connect
from tests.support.raw import DROP, SILENCE, RawServer, Say, http
from tests.support.script import KEY

pytestmark = pytest.mark.enable_socket

ONCE = cmsapi.RetryPolicy(max_attempts=1)
FAST = cmsapi.RetryPolicy(max_attempts=3, base=0.001, cap=0.001)
UNLIMITED = cmsapi.RateLimits.unlimited()
AT_ONCE = cmsapi.LaunchPolicy(settle=0.0)
# Long enough to connect, also on a busy machine.
SHORT = cmsapi.Timeouts(request=0.5)
TWO = http(b"{}"), DROP


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "POST", "PATCH"])
@pytest.mark.parametrize("script", [(DROP,), TWO], ids=["fresh connection", "kept connection"])
async def test_a_request_goes_out_once(connect: Connect, method: str, script: tuple[Say, ...]) -> None:
    """A dropped connection is not answered by aiohttp's hidden second request, on a fresh or a kept connection."""
    async with RawServer(*script) as server:
        client = connect(base_url=server.url)
        if script is TWO:
            await client.request("GET", "/v1/warm", retry=False)
        with pytest.raises(errors.OutcomeUnknownError) as caught:
            await client.request(method, "/v1/things", retry=False)
        assert len(server.requests) == len(script)
        assert caught.value.attempts == 1


async def test_attempts_are_what_the_server_counts(connect: Connect) -> None:
    """Each of our repeats is one request at the server, and the error says how many there were."""
    async with RawServer(DROP) as server:
        with pytest.raises(errors.OutcomeUnknownError) as caught:
            await connect(base_url=server.url, retry=FAST, limits=UNLIMITED).request("DELETE", "/v1/things")
        assert (len(server.requests), caught.value.attempts) == (3, 3)


@pytest.mark.parametrize(
    "say",
    [
        Say(b"SSH-2.0-OpenSSH_9.6\r\n\r\n", "close"),
        Say(b"HTTP/1.1 abc OK\r\n\r\n", "close"),
        Say(b"\x00\x01\x02\x03\r\n\r\n", "close"),
        Say(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcde", "close"),
        Say(b"HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n{", "close"),
        Say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{", "close"),
        Say(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope", "close"),
        Say(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n", "close"),
        Say(b"HTTP/1.1 500 Oops\r\nContent-Length: 400\r\n\r\n{", "close"),
        SILENCE,
        Say(b"HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n{", "silent"),
    ],
    ids=[
        "another protocol",
        "garbage status",
        "garbage",
        "two lengths",
        "truncated body",
        "truncated chunk",
        "broken gzip",
        "endless header",
        "truncated error",
        "silence",
        "silence in the body",
    ],
)
@pytest.mark.parametrize("own", [True, False], ids=["own session", "given session"])
async def test_a_broken_answer_leaves_the_outcome_unknown(connect: Connect, say: Say, own: bool) -> None:
    """Whatever is wrong with an answer, the request was sent: never a 400, never "not sent", never a second try."""
    async with RawServer(say) as server, aiohttp.ClientSession() as session:
        timeouts = SHORT if say.then == "silent" else None
        client = connect(base_url=server.url, timeouts=timeouts, session=None if own else session)
        with pytest.raises(errors.OutcomeUnknownError) as caught:
            await client.request("POST", "/v1/things", json={})
        assert len(server.requests) == 1
        assert KEY not in repr([caught.value, caught.value.__cause__, caught.value.__context__])


async def test_a_launch_over_a_given_session_is_not_paid_twice(connect: Connect) -> None:
    """A given session cannot tell when bytes leave, so its silence counts as sent and a launch is not repeated."""
    async with RawServer(SILENCE) as server, aiohttp.ClientSession() as session:
        client = connect(base_url=server.url, session=session, timeouts=SHORT, retry=FAST, launch=AT_ONCE)
        with pytest.raises(errors.LaunchUnknownError):
            await client.keywords.analyze("kw_1")
        assert sum(request.startswith(b"POST") for request in server.requests) == 1


@pytest.mark.parametrize("own", [True, False], ids=["own session", "given session"])
async def test_a_refused_connection_sent_nothing(connect: Connect, own: bool) -> None:
    """Where no server listens nothing was sent, so that even a launch is tried again."""
    async with RawServer() as server:
        url = server.url
    heard: list[cmsapi.Event] = []
    async with aiohttp.ClientSession() as session:
        client = connect(base_url=url, retry=FAST, hooks=[heard.append], session=None if own else session)
        with pytest.raises(errors.NotSentError) as caught:
            await client.prompts.analyze("prm_1")
    assert caught.value.attempts == 3
    assert ["nothing is listening there" in str(caught.value), client.rate_limit.in_flight] == [True, 0]
    assert len([event for event in heard if isinstance(event, cmsapi.RetryScheduled)]) == 2


async def test_a_handshake_that_hangs_sent_nothing(connect: Connect) -> None:
    """A server that accepts and is silent before TLS is up has seen nothing of the request."""
    silent: list[asyncio.StreamWriter] = []

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        silent.append(writer)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    client = connect(base_url=f"https://127.0.0.1:{port}", retry=ONCE)
    # Of a copy, so that this also shows that `connect` is each client's own.
    for timeouts in (cmsapi.Timeouts(connect=0.1), cmsapi.Timeouts(request=0.1)):
        async with asyncio.timeout(5):
            with pytest.raises(errors.NotSentError):
                await client.with_options(timeouts=timeouts).me()
    for writer in silent:
        writer.close()
    server.close()


async def test_a_copy_with_other_timeouts_uses_the_same_connections(connect: Connect) -> None:
    """Other timeouts do not cost another connection."""
    async with RawServer(http()) as server:
        client = connect(base_url=server.url)
        copy = client.with_options(timeouts=cmsapi.Timeouts(connect=0.05))
        for each in (client, copy):
            await each.request("GET", "/v1/things")
        assert (len(server.requests), server.connections) == (2, 1)


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_redirect_is_not_followed(connect: Connect, status: str, method: str) -> None:
    """The interface has no redirects: one is an error, and the key goes nowhere else; a change may have happened."""
    async with RawServer(http()) as elsewhere, RawServer(http(b"", status, f"Location: {elsewhere.url}/")) as server:
        with pytest.raises(errors.APIError, match="no redirects") as caught:
            await connect(base_url=server.url).request(method, "/v1/me")
        assert (caught.value.status, caught.value.in_doubt) == (int(status[:3]), method == "POST")
        assert (len(server.requests), elsewhere.connections) == (1, 0)


async def test_what_a_request_looks_like(connect: Connect) -> None:
    """Key, types, encoded path and query, and compact UTF-8 are on the wire as specification 1 and 5 ask."""
    async with RawServer(http()) as server:
        client = connect(base_url=f"{server.url}/gateway/")
        await client.request("POST", "/v1/ä", params={"q": "ü&", "n": 1, "yes": True, "no": None}, json={"é": 1})
        await client.request("GET", "/v1/me")
    posted, got = server.requests
    assert posted.startswith(b"POST /gateway/v1/%C3%A4?q=%C3%BC%26&n=1&yes=true HTTP/1.1\r\n")
    assert b"\r\nauthorization: Bearer " + KEY.encode() + b"\r\n" in posted
    assert b"\r\ncontent-type: application/json\r\n" in posted
    assert posted.endswith(b'\r\n\r\n{"\xc3\xa9":1}')
    assert b"content-type" not in got.lower()
    assert b"\r\nuser-agent: cmsapi/" in got


async def test_cookies_are_not_kept(connect: Connect) -> None:
    """There are no sessions (specification 5, rule 4)."""
    async with RawServer(http(b"{}", "200 OK", "Set-Cookie: a=b")) as server:
        client = connect(base_url=server.url)
        for _ in range(2):
            await client.request("GET", "/v1/me")
        assert b"Cookie" not in server.requests[1]


async def test_departure_is_told_just_before_the_bytes() -> None:
    """The signal does not come while connecting, and has come when the server reads the first byte."""
    told: list[str] = []
    async with RawServer(http()) as server:
        transport = AiohttpTransport(cmsapi.Timeouts())
        connected, gate = asyncio.Event(), asyncio.Event()

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            told.append("connected")
            connected.set()
            await gate.wait()
            writer.close()

        # TLS to a server that does not speak it: connecting hangs, and then fails.
        hanging = await asyncio.start_server(accept, "127.0.0.1", 0)
        port = hanging.sockets[0].getsockname()[1]
        request = cmsapi.Request("GET", f"https://127.0.0.1:{port}/v1/me")
        pending = asyncio.create_task(transport.send_aware(request, lambda: told.append("departing")))
        await connected.wait()
        gate.set()
        with pytest.raises(errors.NotSentError):
            await pending
        assert told == ["connected"]
        hanging.close()
        seen: list[int] = []
        await transport.send_aware(
            cmsapi.Request("GET", f"{server.url}/v1/me"), lambda: seen.append(len(server.requests))
        )
        assert (seen, len(server.requests)) == ([0], 1)
        await transport.aclose()


async def test_a_given_session_is_used_and_left_open(connect: Connect) -> None:
    """A session of the user's serves, with its headers but without its habits, and is not closed."""
    async with (
        RawServer(http(b'{"error":{"code":"not_found","message":"no"}}', "404 Not Found")) as server,
        aiohttp.ClientSession(headers={"X-Mine": "yes"}, raise_for_status=True) as session,
    ):
        async with cmsapi.Client(KEY, base_url=server.url, session=session) as client:
            with pytest.raises(errors.NotFoundError):
                await client.me()
        assert b"X-Mine: yes" in server.requests[0]
        assert not session.closed


async def test_a_given_session_that_is_closed_says_so(connect: Connect) -> None:
    """A closed session is a mistake of the life cycle, not of the network."""
    session = aiohttp.ClientSession()
    await session.close()
    with pytest.raises(errors.ClientClosedError, match="session given"):
        await connect(base_url="http://127.0.0.1:9", session=session).me()


@pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")
async def test_a_given_session_with_credentials_of_its_own_is_refused(connect: Connect) -> None:
    """Credentials beside the key cannot be sent, and aiohttp says so before sending."""
    async with aiohttp.ClientSession(auth=aiohttp.BasicAuth("me", "secret")) as session:
        with pytest.raises(errors.ConfigError, match="AUTHORIZATION"):
            await connect(base_url="http://127.0.0.1:9", session=session).me()


async def test_closing_closes_the_connections(connect: Connect) -> None:
    """After the client nothing can be sent over its connections, twice closed or not."""
    transport = AiohttpTransport(cmsapi.Timeouts())
    async with RawServer(http()) as server:
        request = cmsapi.Request("GET", f"{server.url}/v1/me")
        await transport.send_aware(request, lambda: None)
        for _ in range(2):
            await transport.aclose()
        with pytest.raises(errors.ClientClosedError):
            await transport.send_aware(request, lambda: None)
        assert len(server.requests) == 1


async def test_a_proxy_carries_the_request(connect: Connect) -> None:
    """With a proxy the whole URL goes to it."""
    async with RawServer(http()) as proxy:
        client = connect(base_url="http://127.0.0.1:9", proxy=proxy.url, ssl=ssl.create_default_context())
        await client.request("GET", "/v1/me")
        assert proxy.requests[0].startswith(b"GET http://127.0.0.1:9/v1/me HTTP/1.1\r\n")


async def test_an_answer_that_was_not_asked_for_answers_nothing(connect: Connect) -> None:
    """A second answer on an idle connection is not taken for that to the next request: the connection is closed."""
    async with RawServer(http(b'{"said": "asked"}')) as server:
        client = connect(base_url=server.url, retry=ONCE)
        await asyncio.gather(*(client.request("GET", "/v1/things") for _ in range(4)))
        idle = server.connections
        assert idle > 1
        await server.interrupt(http(b'{"said": "late"}').data)
        assert await client.request("POST", "/v1/things") == {"said": "asked"}
        assert (server.connections, len(server.requests)) == (idle + 1, 5)


async def test_a_server_that_always_speaks_first_is_sent_nothing(connect: Connect) -> None:
    """Where bytes come before each request, there is no connection to use, and the request has not left."""
    async with RawServer(http()) as server:
        client = connect(base_url=server.url, retry=ONCE, limits=UNLIMITED)
        await asyncio.gather(*(client.request("GET", "/v1/things") for _ in range(40)))
        idle = server.connections
        assert idle > 10
        await server.interrupt(http().data)
        with pytest.raises(errors.NotSentError):
            await client.request("POST", "/v1/things")
        assert (server.connections, len(server.requests)) == (idle, 40)


async def test_two_answers_at_once_answer_one_request(connect: Connect) -> None:
    """Of two answers that come together the first counts, and the connection is not used again."""
    first, second = http(b'{"said": "first"}'), http(b'{"said": "second"}')
    async with RawServer(Say(first.data + second.data), second) as server:
        client = connect(base_url=server.url)
        assert [await client.request("GET", "/v1/things") for _ in range(2)] == [{"said": "first"}, {"said": "second"}]
        assert server.connections == 2


async def test_connections_are_shared_and_kept(connect: Connect) -> None:
    """Calls one after the other use one connection."""
    async with RawServer(http()) as server:
        client = connect(base_url=server.url)
        for _ in range(5):
            await client.request("GET", "/v1/me")
        assert server.connections == 1


async def test_a_request_over_a_given_session_counts_as_sent_at_once() -> None:
    """The transport over a given session does not pretend to know when bytes leave, unless there was no connection."""
    told: list[str] = []
    async with aiohttp.ClientSession() as session:
        transport = AiohttpTransport(cmsapi.Timeouts(), session=session)
        with pytest.raises(errors.NotSentError):
            await transport.send_aware(
                cmsapi.Request("GET", "http://127.0.0.1:9/v1/me"), lambda: told.append("departing")
            )
        assert told == ["departing"]
        await transport.aclose()
        assert not session.closed


def packed(size: int) -> Say:
    """Answer with a bomb: few bytes that unpack to many."""
    body = gzip.compress(b"[" + b" " * (size - 2) + b"]")
    return http(body, "200 OK", "Content-Encoding: gzip")


CHUNKED = b"HTTP/1.1 %s\r\nTransfer-Encoding: chunked\r\n\r\n" + b"400\r\n%s\r\n" % (b" " * 1024) * 100


@pytest.mark.parametrize(
    "say",
    [http(b" " * 5000), packed(1_000_000), Say(CHUNKED % b"200 OK", "silent"), Say(CHUNKED % b"201 Created", "close")],
    ids=["told", "packed", "endless", "cut"],
)
@pytest.mark.parametrize("own", [True, False], ids=["own session", "given session"])
async def test_an_answer_beyond_the_bound_is_not_read_on(connect: Connect, say: Say, own: bool) -> None:
    """A body that is too large is refused by its length, or while it comes, packed or not."""
    async with RawServer(say) as server, aiohttp.ClientSession() as session:
        client = connect(base_url=server.url, retry=ONCE, largest_answer=4096, session=None if own else session)
        with pytest.raises(errors.DecodeError, match=r"at most 4,096 bytes") as caught:
            await client.me()
        assert (caught.value.operation, caught.value.attempts) == ("get_me", 1)
        with pytest.raises(errors.OutcomeUnknownError):
            await client.folders.create("wsp_1", "New")


async def test_an_error_beyond_the_bound_is_known_by_its_status(connect: Connect) -> None:
    """Of an error page that does not end the status is enough."""
    async with RawServer(Say(CHUNKED % b"403 Forbidden", "silent")) as server:
        with pytest.raises(errors.ForbiddenError):
            await connect(base_url=server.url, largest_answer=4096).me()


async def test_the_bound_is_32_mib_by_default(connect: Connect) -> None:
    """What the sandbox calls oversized is refused without any setting; what is large is not."""
    async with (
        Sandbox() as box,
        FaultProxy(box.base_url, Fault(spoil="oversized")) as proxy,
        cmsapi.Client(box.api_key, base_url=proxy.base_url, retry=ONCE) as client,
    ):
        with pytest.raises(errors.DecodeError, match="33,554,432"):
            await client.me()
        await client.me()
    async with RawServer(http(b'{"id": "usr_1"}' + b" " * 8_000_000)) as server:
        assert (await connect(base_url=server.url).me()).id == "usr_1"
