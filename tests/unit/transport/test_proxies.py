"""Which of the environment's proxies client and command use, and which one is named if none is used."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from subprocess import PIPE

import pytest
from mcp import Client as Assistant, StdioServerParameters

from cmsapi import Client, ConfigError, NotSentError, RetryPolicy
from tests.support.children import ROOT, command
from tests.support.raw import RawServer, http

ME = http(b'{"id": "usr_1"}')
ONCE = RetryPolicy(max_attempts=1)
NAMES = [f"{name}_PROXY" for name in ("HTTP", "HTTPS", "ALL", "NO")]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Start without proxies, but with a file of passwords for any host, as some tools write it."""
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    (tmp_path / ".netrc").write_text("default login anonymous password me@example.com\n")
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.parametrize("form", ["HTTPS_PROXY=http://{}", "https_proxy={}", "ALL_PROXY=http://{}", "all_proxy={}"])
async def test_the_proxy_of_the_environment(raw_server: RawServer, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    """If only a proxy reaches the service, ``ALL_PROXY`` and addresses without a scheme work as in curl."""
    name, _, value = form.format(raw_server.url.removeprefix("http://")).partition("=")
    monkeypatch.setenv(name, value)
    raw_server.script = [http(b"", "403 Forbidden")]
    async with Client("sk_x", base_url="https://service.invalid", trust_env=True, retry=ONCE) as client:
        with pytest.raises(NotSentError, match="Forbidden"):
            await client.me()
    assert raw_server.requests[0].startswith(b"CONNECT service.invalid:443 ")


async def test_this_machine_needs_no_proxy(raw_server: RawServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service on a loopback address is asked directly, with the key and not with a password from a file."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    raw_server.script = [ME]
    async with Client("sk_x", base_url=raw_server.url, trust_env=True, retry=ONCE) as client:
        assert (await client.me()).id == "usr_1"
    assert b"Authorization: Bearer sk_x" in raw_server.requests[0]


def test_a_proxy_that_cannot_be_used_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy with another protocol for the service's scheme is refused before anything bypasses it."""
    monkeypatch.setenv("HTTPS_PROXY", "socks5://127.0.0.1:1")
    with pytest.raises(ConfigError, match="SOCKS"):
        Client("sk_x", base_url="https://service.invalid", trust_env=True)


async def test_a_proxy_with_a_wrong_port_is_no_unknown_outcome() -> None:
    """With an invalid proxy address nothing is sent, and the error does not contain its password."""
    async with Client("sk_x", base_url="https://service.invalid", proxy="http://me:secret@proxy:abc") as client:
        with pytest.raises(ConfigError, match="nothing was sent") as refused:
            await client.keywords.analyze("kwd_1")
    assert "secret" not in str(refused.value)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "reached"), [("HTTP_PROXY", True), ("NO_PROXY", False)])
async def test_the_command_uses_it_or_names_it(raw_server: RawServer, name: str, reached: bool) -> None:
    """The command uses the proxy; if it must not, a failure to connect names the configured proxy."""
    raw_server.script = [ME]
    own = {"HTTP_PROXY": raw_server.url, name: raw_server.url if reached else "service.invalid"}
    own |= {"CMSAPI_API_KEY": "sk_x", "CMSAPI_BASE_URL": "http://service.invalid", "CMSAPI_ALLOW_HTTP": "1"}
    words = command("import sys; from cmsapi.cli.app import main; sys.exit(main())", "me")
    process = await asyncio.create_subprocess_exec(*words, env={**os.environ, **own}, stdout=PIPE, stderr=PIPE)
    out, err = await process.communicate()
    expected = (0, True, 1) if reached else (1, False, 0)
    assert (process.returncode, b"usr_1" in out, len(raw_server.requests)) == expected, err
    assert reached or (b"HTTP_PROXY is set and not used" in err and b"trust_env" not in err)


@pytest.mark.slow
async def test_the_server_for_assistants_uses_it(raw_server: RawServer) -> None:
    """A tool of the server asks through the proxy of the environment."""
    raw_server.script = [ME]
    own = {"HTTP_PROXY": raw_server.url, "PYTHONPATH": str(ROOT), "CMSAPI_ALLOW_HTTP": "1"}
    own |= {"CMSAPI_API_KEY": "sk_x", "CMSAPI_BASE_URL": "http://service.invalid"}
    server = StdioServerParameters(command=sys.executable, args=["-m", "cmsapi.mcp"], env=own)
    async with Assistant(server) as assistant:
        await assistant.call_tool("account", {})
    assert raw_server.requests[0].startswith(b"GET http://service.invalid/v1/me ")
