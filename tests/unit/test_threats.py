"""Attacks that no other test tries; the page about threats names a test for each of its lines."""

from __future__ import annotations

import ast
import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

import cmsapi
from cmsapi.mcp import server as assistants
from cmsapi.sandbox import Fault, Sandbox
from cmsapi.testing import HandlerTransport, json_response
from tests.support.raw import RawServer, Say, http
from tools.interface.outside import commands

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "cmsapi"
ME = b'{"id": "usr_1"}'

#: Modules and functions that make programs, or objects, out of data.
DANGEROUS = {"pickle", "marshal", "shelve", "subprocess", "ctypes", "eval", "exec", "compile", "system", "popen"}


def called(tree: ast.Module) -> set[str]:
    """Return the names of the functions that a module calls, and of the modules that it imports."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found |= {each.name.partition(".")[0] for each in names}
            case ast.ImportFrom(module=str(module)):
                found.add(module.partition(".")[0])
            case ast.Call(func=ast.Name(id=name)):
                found.add(name)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="os"), attr=name)):
                found.add(name)
    return found


def test_no_data_becomes_a_program() -> None:
    """No module reads pickles, evaluates text or starts a program, so that no child inherits the key."""
    found = {
        (path.relative_to(PACKAGE).as_posix(), name)
        for path in PACKAGE.rglob("*.py")
        for name in called(ast.parse(path.read_text(encoding="utf-8"))) & DANGEROUS
    }
    assert found == set()


def test_no_command_takes_the_key() -> None:
    """What is typed lands in the history of the shell and in the list of processes; only the sandbox's key is typed."""
    asking: set[str] = set()
    current = ""
    for line in commands():
        if not line.startswith(" "):
            current = line
        elif re.search(r"key(?!word)|secret|password|auth", line, re.IGNORECASE):
            asking.add(f"{current} {line.strip()}")
    assert asking == {"cmsapi sandbox [--key]"}


@pytest.mark.enable_socket
async def test_the_environment_does_not_choose_a_proxy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A proxy and a login that something else has put into the environment get no request and no key."""
    netrc = tmp_path / "netrc"
    netrc.write_text("default login mallory password hunter2\n", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(netrc))
    async with RawServer(http(ME)) as service, RawServer(http(ME)) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        async with cmsapi.Client("sk_1", base_url=service.url, allow_http=True) as client:
            await client.request("GET", "/v1/me")
        assert proxy.requests == []
        (sent,) = service.requests
        assert b"Bearer sk_1" in sent
        assert b"Basic" not in sent


@pytest.mark.parametrize(
    "address",
    [
        "cmsapi://contents/../me",
        "cmsapi://contents/%2e%2e%2fme",
        "cmsapi://contents/..",
        "cmsapi://contents/cnt_1%2F..%2F..%2Fusers",
        "cmsapi://contents/cnt_1%3Fx=1",
        "cmsapi://contents//evil.example.com",
    ],
)
async def test_an_assistant_reads_contents_and_nothing_else(address: str) -> None:
    """An address that climbs out of the contents is refused, or is the identifier of a content that does not exist."""
    asked: list[str] = []

    def handle(request: Any) -> cmsapi.Response:
        asked.append(request.url)
        return json_response({"error": {"code": "not_found", "message": "no such content"}}, 404)

    client = cmsapi.Client("sk_1", base_url="https://api.example.com", transport=HandlerTransport(handle))
    server = assistants.build_server(client)
    with pytest.raises(Exception):  # noqa: B017, PT011  each has an error of its own
        list(await server.read_resource(address))
    for url in asked:
        assert re.fullmatch(r"https://api\.example\.com/v1/contents/[^/?#]+", url)
        assert not url.endswith(("/.", "/.."))


def repeated(begin: bytes, more: bytes) -> Say:
    """Make an answer that goes on for megabytes, and then is silent."""
    return Say(begin + more * (4_000_000 // len(more)), "silent")


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.enable_socket
@pytest.mark.parametrize(
    "say",
    [
        repeated(b"HTTP/1.1 200 OK\r\n", b"X-Header: value\r\n"),
        repeated(b"HTTP/1.1 200 OK\r\nX-Header: ", b"a" * 1000),
        repeated(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        repeated(CHUNKED + b"1;", b"a" * 1000),
        repeated(CHUNKED + b"0\r\n", b"X-Trailer: value\r\n"),
    ],
    ids=["headers", "a header", "continue", "a chunk", "trailers"],
)
async def test_a_head_without_end(say: Say) -> None:
    """What comes before and after a body ends the request, too: by its size, or by the time of the request."""
    async with (
        RawServer(say) as server,
        cmsapi.Client(
            "sk_1",
            base_url=server.url,
            timeouts=cmsapi.Timeouts(request=1),
            retry=cmsapi.RetryPolicy(max_attempts=1),
        ) as client,
        asyncio.timeout(10),
    ):
        with pytest.raises(cmsapi.OutcomeUnknownError):
            await client.me()


@pytest.mark.looptime
async def test_a_service_that_asks_for_years_of_patience() -> None:
    """An answer that asks for years is not waited for: the call ends at once, and says when to try again."""
    box = Sandbox()
    box.add_fault(Fault(status=429, retry_after=10**9))
    async with cmsapi.Client(box.api_key, base_url=box.base_url, transport=box.transport) as client:
        with pytest.raises(cmsapi.RateLimitedError, match="1,000,000,000 s, until 20"):
            await client.me()
        with pytest.raises(cmsapi.RateLimitWaitError, match="until 20"):
            await client.me()
    assert asyncio.get_running_loop().time() < 1.0
