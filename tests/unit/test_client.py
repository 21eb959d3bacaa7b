"""A client's settings and life cycle."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any, get_type_hints

import aiohttp
import pytest

from cmsapi import (
    ArgumentError,
    Client,
    ClientClosedError,
    ConfigError,
    Event,
    RateLimits,
    RequestFinished,
    RetryPolicy,
    Timeouts,
)
from cmsapi.messages import Response
from cmsapi.sandbox import Sandbox
from tests.unit.transport.scripted import Scripted

OK = Response(200, {}, b'{"id": "u"}')
URL = "https://api.example.com"


@pytest.mark.parametrize("key", ["", "pk_1", "sk_a b", "sk_a\n", "sk_\u00e9"])
def test_what_cannot_be_a_key_is_refused(key: str) -> None:
    """A mistyped key is refused before anything is sent, and is not shown."""
    with pytest.raises(ConfigError) as caught:
        Client(key, base_url=URL)
    assert not key or key not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "a.example",
        "ftp://a.example",
        "http://a.example",
        "https://u:p@a.example",
        "https://[",
        URL + "/v1",
        URL + "?a=b",
    ],
)
def test_what_cannot_be_an_address_is_refused(url: str) -> None:
    """An address that is malformed, or would send the key in the clear, is refused."""
    with pytest.raises(ConfigError):
        Client("sk_1", base_url=url)


def test_type_hints_can_be_evaluated() -> None:
    """Containers that inject dependencies can read the types of the settings."""
    assert {"api_key", "session"} <= get_type_hints(Client.__init__).keys()


def test_the_environment_has_key_address_and_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """Key, address, permission for http and state come from the environment when they are not passed."""
    monkeypatch.setenv("CMSAPI_API_KEY", "sk_1")
    monkeypatch.setenv("CMSAPI_BASE_URL", "http://a.example/")
    with pytest.raises(ConfigError):
        Client()
    monkeypatch.setenv("CMSAPI_ALLOW_HTTP", "1")
    assert "http://a.example" in repr(Client())
    monkeypatch.setenv("CMSAPI_STATE", "nowhere:")
    with pytest.raises(ConfigError, match="nowhere"):
        Client()
    monkeypatch.delenv("CMSAPI_STATE")
    monkeypatch.delenv("CMSAPI_API_KEY")
    with pytest.raises(ConfigError, match="CMSAPI_API_KEY"):
        Client()


@pytest.mark.parametrize("settings", [{"ssl": False}, {"proxy": "host:3128"}, {"session": "any", "trust_env": True}])
def test_a_connection_that_cannot_be_made_is_refused(settings: dict[str, Any]) -> None:
    """Verification cannot be switched off, a proxy is a URL, and a session brings its own of both."""
    with pytest.raises(ConfigError, match=next(iter(settings))):
        Client("sk_1", base_url=URL, **settings)


@pytest.mark.parametrize("headers", [{"authorization": "x"}, {"Host": "x"}, {"X-A": "a\r\nb"}, {"X A": "b"}])
async def test_headers_of_cmsapi_stay_its_own(headers: dict[str, str]) -> None:
    """Neither the client nor a request accepts cmsapi's own headers or ones that would break the lines."""
    with pytest.raises(ConfigError):
        Client("sk_1", base_url=URL, headers=headers)
    service = Scripted(OK)
    async with service.client() as client:
        with pytest.raises(ArgumentError):
            await client.request("GET", "/v1/me", headers=headers)
    assert service.requests == []


async def test_a_closed_client_sends_nothing() -> None:
    """A call after closing is refused; a given transport stays open."""
    service = Scripted(OK)
    async with service.client() as client:
        copy = client.with_options()
    for each in (client, copy):
        with pytest.raises(ClientClosedError):
            await each.me()
    assert service.requests == []
    assert not service.closed


async def test_a_client_belongs_to_one_loop() -> None:
    """A call from another loop is refused while the first one runs."""
    async with Scripted(OK).client() as client:
        await client.me()

        def elsewhere() -> None:
            with pytest.raises(ClientClosedError):
                asyncio.run(client.me())

        await asyncio.to_thread(elsewhere)


def test_a_client_outlives_its_loop() -> None:
    """A client that was left open works in the next ``asyncio.run``."""
    client = Scripted(OK).client()
    assert asyncio.run(client.me()).id == asyncio.run(client.me()).id == "u"


async def test_a_copy_has_other_options() -> None:
    """A copy's options apply only to the copy."""
    events: list[Event] = []
    service = Scripted(OK)
    async with service.client(headers={"X-A": "1"}) as client:
        copy = client.with_options(headers={"X-B": "2"}, hooks=[events.append], retry=RetryPolicy(max_attempts=1))
        await copy.me()
        await client.me()
    assert {"X-A", "X-B"} <= set(service.requests[0].headers)
    assert "X-B" not in service.requests[1].headers
    assert len(events) == 1


async def test_a_header_replaces_one_of_the_same_name_in_another_case() -> None:
    """However headers are given, only one of each name is sent, whatever its case."""
    service = Scripted(Response(200, {}, b"{}"))
    async with service.client(headers={"user-agent": "mine", "X-Team": "a"}) as client:
        await client.request("GET", "/v1/me", headers={"x-team": "b"})
        await client.with_options(headers={"X-TEAM": "c"}).request("GET", "/v1/me")
    sent = [{name.lower(): value for name, value in request.headers.items()} for request in service.requests]
    assert [len(request.headers) for request in service.requests] == [len(headers) for headers in sent]
    assert [(headers["user-agent"], headers["x-team"]) for headers in sent] == [("mine", "b"), ("mine", "c")]


@pytest.mark.looptime
@pytest.mark.parametrize("path", ["/health", "/openapi.json", "/docs"])
async def test_an_unlimited_path_is_an_ordinary_request_otherwise(path: str) -> None:
    """It is retried, reaches hooks and has its time limit; only the key's limits do not count it."""
    seen: list[Event] = []
    service = Scripted(None, Response(200, {}, b"{}"))
    async with service.client(hooks=[seen.append], timeouts=Timeouts(request=3)) as client:
        assert (await client.request("GET", path)).status == 200
        assert client.rate_limit.used == 0
    assert [event.error for event in seen if isinstance(event, RequestFinished)] == ["TimeoutError", None]


async def test_closing_a_client_leaves_one_that_connects_otherwise() -> None:
    """Clients of one key share limits however they connect; closing one affects no request of the other."""
    sandbox, limits = Sandbox(), RateLimits(per_second=2)
    async with sandbox.serve() as base_url, aiohttp.ClientSession() as session:
        client = Client(sandbox.api_key, base_url=base_url, limits=limits)
        async with client, Client(sandbox.api_key, base_url=base_url, limits=limits, session=session) as other:
            calls = [asyncio.create_task(other.me()) for _ in range(4)]
            await asyncio.sleep(0.3)
            await client.aclose()
            assert len(await asyncio.gather(*calls)) == 4


def test_nothing_is_kept_of_event_loops_that_have_ended() -> None:
    """A worker that runs each task in its own event loop keeps nothing from earlier tasks."""
    box, kept = Sandbox(), weakref.WeakSet[asyncio.AbstractEventLoop]()

    async def task() -> None:
        kept.add(asyncio.get_running_loop())
        async with Client(box.api_key, base_url=box.base_url, transport=box.transport, state="memory:") as client:
            await client.me()

    for _ in range(3):
        asyncio.run(task())
    gc.collect()
    assert len(kept) == 1  # the latest one, which the next client forgets
