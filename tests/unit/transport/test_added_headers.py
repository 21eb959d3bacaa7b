"""Headers that a program adds: to a client, to a copy, to one request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import pytest

import cmsapi
from cmsapi.sandbox import Fixed, Sandbox

pytestmark = pytest.mark.looptime


@attrs.define
class Recording:
    """Carry requests to a sandbox, and keep them."""

    box: Sandbox
    requests: list[cmsapi.Request] = attrs.field(factory=list)

    async def send(self, request: cmsapi.Request) -> cmsapi.Response:
        """Keep a request and have it answered."""
        self.requests.append(request)
        answer: cmsapi.Response = await self.box.transport.send(request)
        return answer

    @property
    def last(self) -> Mapping[str, str]:
        """The headers of the last request."""
        return self.requests[-1].headers


@pytest.fixture
def recording() -> Recording:
    """Carry requests to a new sandbox."""
    return Recording(Sandbox(durations=Fixed(20)))


def client_of(recording: Recording, **options: Any) -> cmsapi.Client:
    """Make a client whose requests are recorded."""
    return cmsapi.Client(recording.box.api_key, base_url=recording.box.base_url, transport=recording, **options)


async def test_each_request_has_them(recording: Recording) -> None:
    """Requests with and without a body have them, next to those of the client; a User-Agent is replaced."""
    async with client_of(recording, headers={"X-Tenant": "shop", "User-Agent": "mine/1"}) as client:
        await client.me()
        assert recording.last["X-Tenant"] == "shop"
        assert recording.last["User-Agent"] == "mine/1"
        assert recording.last["Authorization"] == f"Bearer {recording.box.api_key}"
        await client.folders.create(recording.box.workspace_id, "New")
        assert recording.last["X-Tenant"] == "shop"
        assert recording.last["Content-Type"] == "application/json"


async def test_a_copy_adds_and_replaces_and_leaves_its_original_alone(recording: Recording) -> None:
    """A header of the same name, in whatever case, is replaced in the copy only; copies of copies add to both."""
    async with client_of(recording, headers={"X-A": "1", "X-B": "1"}) as client:
        copy = client.with_options(headers={"x-b": "2"})
        again = copy.with_options(headers={"X-C": "3"})
        shown = []
        for each in (again, copy, client):
            await each.me()
            shown.append({name: value for name, value in recording.last.items() if name.startswith("x-")})
        assert shown == [{"x-a": "1", "x-b": "2", "x-c": "3"}, {"x-a": "1", "x-b": "2"}, {"x-a": "1", "x-b": "1"}]


async def test_one_request_may_have_its_own(recording: Recording) -> None:
    """`client.request` takes headers for this request only."""
    async with client_of(recording, headers={"X-A": "1"}) as client:
        await client.request("GET", "/v1/me", headers={"X-A": "2", "X-D": "4"})
        assert (recording.last["X-A"], recording.last["X-D"]) == ("2", "4")
        await client.request("GET", "/v1/me")
        assert (recording.last["X-A"], recording.last.get("X-D")) == ("1", None)


async def test_polls_keep_the_headers_of_the_client_that_launched(recording: Recording) -> None:
    """A job that a copy launched is polled with the headers of the copy, also when its original joins."""
    async with client_of(recording) as client:
        copy = client.with_options(headers={"X-Trace": "nightly"})
        keyword_id = recording.box.keyword_ids[0]
        await copy.keywords.analyze(keyword_id)
        joined = await client.keywords.analyze(keyword_id)
        launched = len(recording.requests)
        await joined
        polls = recording.requests[launched:]
        assert polls
        assert {poll.headers.get("x-trace") for poll in polls} == {"nightly"}
        await client.me()
        assert "x-trace" not in recording.last


REFUSED = [
    ({"Authorization": "Bearer sk_other_secret"}, "'Authorization'"),
    ({"HOST": "elsewhere.example"}, "'HOST'"),
    ({"Content-Length": "3"}, "'Content-Length'"),
    ({"content-type": "text/plain"}, "'content-type'"),
    ({"X-A": "secret\r\nX-B: 2"}, "'X-A'"),
    ({"X-A": "secret\0"}, "'X-A'"),
    ({"X-A": "sécret"}, "'X-A'"),
    ({"X-A": 3}, "got int for 'X-A'"),
    ({"X-A": None}, "got NoneType for 'X-A'"),
    ({"X\nA": "1"}, "X.nA"),
    ({"X A": "1"}, "X A"),
    ({"": "1"}, "names of letters"),
    ({3: "1"}, "names of letters"),
    ([("X-A", "1")], "mapping of names to values, got list"),
    ("X-A: 1", "got str"),
]


@pytest.mark.parametrize(("headers", "named"), REFUSED)
async def test_others_are_refused_by_name(recording: Recording, headers: Any, named: str) -> None:
    """The error names the header and never shows its value; nothing is sent."""
    with pytest.raises(cmsapi.ConfigError, match=named) as refused:
        client_of(recording, headers=headers)
    assert "ecret" not in str(refused.value)
    async with client_of(recording) as client:
        with pytest.raises(cmsapi.ConfigError, match=named):
            client.with_options(headers=headers)
        with pytest.raises(cmsapi.ArgumentError, match=named):
            await client.request("GET", "/v1/me", headers=headers)
    assert not recording.requests


async def test_secrets_are_masked_where_headers_are_shown(recording: Recording) -> None:
    """Events and representations mask values with secret-looking names, and values that hold the key."""
    heard: list[cmsapi.Event] = []
    headers = {
        "X-Api-Key": "s3cret",
        "X-Gateway-Token": "s3cret",
        "X-Debug": f"key {recording.box.api_key}",
        "X-Keyword": "shoes",
        "X-Author": "Ada",
    }
    async with client_of(recording, headers=headers, hooks=[heard.append]) as client:
        await client.me()
    (started,) = [event for event in heard if isinstance(event, cmsapi.CallStarted)]
    assert started.headers == {
        "x-api-key": "***",
        "x-gateway-token": "***",
        "x-debug": "***",
        "x-keyword": "shoes",
        "x-author": "Ada",
    }
    shown = repr((heard, recording.requests, client))
    assert "s3cret" not in shown
    assert recording.box.api_key not in shown
