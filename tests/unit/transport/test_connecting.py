"""Why there is no connection: each reason on a real socket, with what it means and what to do."""

from __future__ import annotations

import asyncio
import errno
import json
import shutil
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

import cmsapi
from cmsapi import errors
from cmsapi.transport.connecting import no_connection
from tests.support.certificates import certificate
from tests.support.connecting import Connect
from tests.support.raw import SILENCE, RawServer, Say, http
from tests.support.script import KEY, ME

pytestmark = pytest.mark.enable_socket

ONCE = cmsapi.RetryPolicy(max_attempts=1)
QUICK = cmsapi.Timeouts(connect=0.3, request=2.0)
NO_OPENSSL = pytest.mark.skipif(shutil.which("openssl") is None, reason="makes its certificates with openssl")
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def closes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Close each connection at once."""
    writer.close()


async def resets(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Reset each connection at once."""
    linger = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()


async def answers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer each request with an empty document."""
    try:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(http().data)
        await writer.drain()
    except (asyncio.IncompleteReadError, OSError):
        pass
    writer.close()


@asynccontextmanager
async def listening(handler: Handler, context: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Serve on loopback, and yield the port."""
    server = await asyncio.start_server(handler, "127.0.0.1", 0, ssl=context)
    yield server.sockets[0].getsockname()[1]
    server.close()


async def refused(connect: Connect, url: str, **options: Any) -> str:
    """Return the message of a call that finds no connection."""
    with pytest.raises(errors.NotSentError) as caught:
        await connect(base_url=url, retry=ONCE, **options).request("POST", "/v1/things")
    said = str(caught.value)
    assert "Nothing was sent, changed or charged. " in said
    assert KEY not in said
    assert not caught.value.in_doubt
    return said


def trusting(place: Path) -> ssl.SSLContext:
    """Return a context that trusts the certificate of the folder."""
    context = ssl.create_default_context()
    context.load_verify_locations(place / "certificate.pem")
    return context


async def test_nothing_listens(connect: Connect) -> None:
    """A refused connection is one to the wrong port, or to a server that does not run."""
    async with RawServer() as server:
        url = server.url
    assert "nothing is listening there. " in (said := await refused(connect, url))
    assert said.endswith("Check the port in base_url, and whether a server runs there.")


@pytest.mark.parametrize("handler", [closes, resets])
async def test_the_connection_is_closed_before_tls(connect: Connect, handler: Handler) -> None:
    """A server that hangs up during the handshake may want another TLS version or a client certificate."""
    async with listening(handler) as port:
        said = await refused(connect, f"https://127.0.0.1:{port}")
    assert "it closed the connection. " in said
    assert said.endswith("which TLS versions and client certificates it asks for.")


async def test_a_silent_server_may_speak_plain_http(connect: Connect) -> None:
    """Where a handshake gets no answer, plain HTTP is one of the reasons, and the timeout is named."""
    async with RawServer(SILENCE) as server:
        said = await refused(connect, server.url.replace("http:", "https:"), timeouts=QUICK)
    assert "it does not answer. " in said
    assert "`Timeouts(connect=)`" in said
    assert said.endswith("plain HTTP does not answer TLS either.")


async def test_plain_http_at_an_https_address(connect: Connect) -> None:
    """A server that answers a handshake with HTTP is asked for: is it plain HTTP?"""

    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(http(b"", "400 Bad Request").data)
        await writer.drain()
        writer.close()

    async with listening(plain) as port:
        said = await refused(connect, f"https://127.0.0.1:{port}")
    assert "what answers there does not speak TLS. " in said
    assert said.endswith("Is it plain HTTP, at an address that begins with http://? Check base_url.")


@NO_OPENSSL
async def test_tls_at_a_plain_address(connect: Connect, tmp_path: Path) -> None:
    """A TLS server hangs up on plain HTTP: the request has left, and the message says what base_url may need."""
    async with listening(answers, await certificate(tmp_path)) as port:
        with pytest.raises(errors.OutcomeUnknownError, match=r"speaks TLS, base_url must begin with https://"):
            await connect(base_url=f"http://127.0.0.1:{port}", retry=ONCE).me()
    async with RawServer(Say(b"\x15\x03\x01\x00\x02\x02\x46", "close")) as alerting:
        with pytest.raises(errors.OutcomeUnknownError, match=r"speaks TLS, base_url must begin with https://"):
            await connect(base_url=alerting.url, retry=ONCE).me()


async def test_a_server_that_has_answered_plain_requests_is_not_taken_for_tls(connect: Connect) -> None:
    """Where an answer has come before, a lost one is told as that and with no advice about base_url."""
    async with RawServer(http(json.dumps(ME).encode()), Say(then="close")) as server:
        client = connect(base_url=server.url, retry=ONCE)
        await client.me()
        with pytest.raises(errors.OutcomeUnknownError, match=r"no whole answer came back \(\w+\)\.$"):
            await client.me()


@pytest.mark.parametrize(
    "page",
    [
        b"<center>The plain HTTP request was sent to HTTPS port</center>",
        b"Client sent an HTTP request to an HTTPS server.\n",
        b"Reason: You're speaking plain HTTP to an SSL-enabled server port.<br />",
    ],
    ids=["nginx", "Go", "Apache"],
)
async def test_a_tls_server_that_says_so(connect: Connect, page: bytes) -> None:
    """The 400 with which common servers answer plain HTTP at their TLS port is told as what it is."""
    async with RawServer(http(page, "400 Bad Request")) as server:
        with pytest.raises(errors.BadRequestError, match=r"base_url must begin with https://"):
            await connect(base_url=server.url).me()


@NO_OPENSSL
@pytest.mark.parametrize(
    ("name", "trusted", "why", "advice"),
    [
        ("localhost", False, "self-signed certificate", "Load a private authority into a TLS context"),
        ("elsewhere.example", True, "Hostname mismatch", "Check the host in base_url"),
    ],
    ids=["unknown authority", "another host"],
)
async def test_a_certificate_that_is_not_accepted(
    connect: Connect, tmp_path: Path, name: str, trusted: bool, why: str, advice: str
) -> None:
    """What is wrong with a certificate decides what to do."""
    server = await certificate(tmp_path, name)
    options = {"ssl": trusting(tmp_path)} if trusted else {}
    async with listening(answers, server) as port:
        said = await refused(connect, f"https://localhost:{port}", **options)
    assert f"its certificate is not accepted: {why}" in said
    assert advice in said


def test_an_expired_certificate() -> None:
    """A certificate that is not valid now may also be the fault of this machine's clock."""
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_code, error.verify_message = 10, "certificate has expired"
    said = no_connection("https://api.example.com/v1/me", error, by_proxy=False)
    assert "its certificate is not accepted: certificate has expired. " in said
    assert "Check the clock of this machine" in said


# Proxies


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        ("407 Proxy Authentication Required", "It asks for credentials: proxy='http://user:password@host:port'."),
        ("403 Forbidden", "It does not allow this host: ask its operators."),
        ("502 Bad Gateway", "Check whether the proxy reaches the service."),
    ],
)
async def test_a_proxy_refuses(connect: Connect, status: str, advice: str) -> None:
    """The status of a proxy is the proxy's, and says what to do; its password shows nowhere."""
    async with RawServer(http(b"", status)) as proxy:
        url = proxy.url.replace("//", "//user:secret@")
        said = await refused(connect, "https://service.example", proxy=url)
    assert f"by way of the proxy: the proxy answered {status[:3]}. " in said
    assert said.endswith(advice)
    assert "secret" not in said


@pytest.mark.parametrize("target", ["https://service.example", "http://127.0.0.1:9"])
async def test_a_proxy_that_does_not_run(connect: Connect, target: str) -> None:
    """Where nothing listens at the proxy's port, the setting to check is the proxy."""
    async with RawServer() as proxy:
        url = proxy.url
    said = await refused(connect, target, proxy=url)
    assert "by way of the proxy: nothing is listening there. " in said
    assert "Check the port in proxy" in said


@pytest.mark.parametrize(
    ("handler", "why"), [(closes, "it closed the connection. "), (resets, "it closed the connection. ")]
)
async def test_a_proxy_that_hangs_up(connect: Connect, handler: Handler, why: str) -> None:
    """A proxy that closes the connection before the tunnel is there has passed nothing on."""
    async with listening(handler) as port:
        said = await refused(connect, "https://service.example", proxy=f"http://127.0.0.1:{port}")
    assert f"by way of the proxy: {why}" in said


async def test_a_proxy_that_is_none(connect: Connect) -> None:
    """Another kind of server at the address of the proxy is told as that."""
    async with RawServer(Say(b"SSH-2.0-OpenSSH_9.6\r\n\r\n", "close")) as server:
        said = await refused(connect, "https://service.example", proxy=server.url)
    assert "by way of the proxy: the proxy does not speak HTTP. " in said


async def test_a_name_that_is_not_known(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that does not resolve is that of the service, or of the proxy."""

    async def fail(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(aiohttp.resolver.DefaultResolver, "resolve", fail)
    said = await refused(connect, "https://nowhere.invalid")
    assert "No connection to nowhere.invalid: its name is not known (DNS). " in said
    assert said.endswith("Check the host in base_url, and the resolver of this machine.")
    said = await refused(connect, "https://127.0.0.1:9", proxy="http://nowhere.invalid:3128")
    assert "by way of the proxy: its name is not known (DNS). " in said
    assert "Check the host in proxy" in said


@pytest.mark.parametrize(
    ("error", "why", "advice"),
    [
        (OSError(errno.ENETUNREACH, "Network is unreachable"), "there is no route to it", "Check the network"),
        (OSError(errno.EMFILE, "Too many open files"), "no file descriptor left", "Share one client"),
        (OSError(errno.EACCES, "Permission denied"), "Permission denied", "Check base_url"),
        (RuntimeError("odd"), "RuntimeError", "Check base_url"),
    ],
)
def test_what_loopback_cannot_show(error: Exception, why: str, advice: str) -> None:
    """Failures of this machine and its network are told by their numbers, and others by their names."""
    said = no_connection("https://api.example.com/v1/me", error, by_proxy=False)
    assert said.startswith("No connection to api.example.com: ")
    assert why in said
    assert advice in said
