"""The promises of the service on a socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeAlias

import aiohttp
import pytest

from cmsapi.sandbox import Fault, Sandbox
from tests.support.spec import spec

LONG = 400_000  # words of a body that is longer than some servers take
DROPS = [(Fault(refuse=True), 0), (Fault(drop="before"), 0), (Fault(drop="after"), 1)]
PLAIN = {"skip_auto_headers": ["Content-Type"]}  # a POST without a body, as clients other than aiohttp send it

Ask: TypeAlias = Callable[..., Awaitable[tuple[int, Any, dict[str, str]]]]


@pytest.fixture
async def ask(sandbox: Sandbox) -> AsyncIterator[Ask]:
    """Serve the sandbox and yield a function that returns status, document and lower-case headers."""
    key = {"Authorization": f"Bearer {sandbox.api_key}"}
    async with sandbox.serve() as base_url, aiohttp.ClientSession(base_url, headers=key) as session:

        async def ask(method: str, path: str, **settings: Any) -> tuple[int, Any, dict[str, str]]:
            async with session.request(method, path, **settings) as answer:
                return answer.status, await answer.json(), {name.lower(): text for name, text in answer.headers.items()}

        yield ask


@spec("5.1", "8.2", "1.1")
async def test_answers_as_in_process(sandbox: Sandbox, ask: Ask) -> None:
    """A response has the same body, media type and headers as in process."""
    status, document, headers = await ask("GET", "/v1/me")
    assert (status, document["organization"]["credits"]) == (200, sandbox.credits)
    assert (headers["content-type"], headers["x-ratelimit-remaining"]) == ("application/json", "999")


@spec("8:burst", "8.4")
async def test_limits_hold(ask: Ask) -> None:
    """Of 30 simultaneous requests ten are refused."""
    answers = await asyncio.gather(*(ask("GET", "/v1/me") for _ in range(30)))
    assert sorted(status for status, _, _ in answers) == [200] * 20 + [429] * 10
    assert {headers.get("retry-after") for status, _, headers in answers if status == 429} == {"1"}


async def test_refuses_what_a_client_adds_by_itself(sandbox: Sandbox, ask: Ask) -> None:
    """A launch that a client sends as an octet stream gets a 415; without a media type it is accepted."""
    path = f"/v1/keywords/{sandbox.keyword_ids[0]}/analyze"
    assert [(await ask("POST", path))[0], (await ask("POST", path, **PLAIN))[0]] == [415, 202]


async def test_bodies_and_queries_arrive(sandbox: Sandbox, ask: Ask) -> None:
    """A long body, percent-encoding and brackets are read."""
    path = f"/v1/workspaces/{sandbox.workspace_id}/contents"
    status, content, _ = await ask("POST", path, json={"title": "Größe", "html": "x " * LONG})
    assert (status, content["title"], content["wordsCount"]) == (201, "Größe", LONG)
    status, page, _ = await ask("GET", path, params={"contentScore[gte]": "100", "limit": "1"})
    assert (status, [each["id"] for each in page["data"]]) == (200, [content["id"]])


@pytest.mark.parametrize(("fault", "launched"), DROPS)
async def test_drops_are_closed_connections(sandbox: Sandbox, ask: Ask, fault: Fault, launched: int) -> None:
    """A connection fault, added at any time, ends the connection without a response."""
    sandbox.faults.rules.append(fault)
    with pytest.raises(aiohttp.ClientConnectionError):
        await ask("POST", f"/v1/keywords/{sandbox.keyword_ids[0]}/analyze", **PLAIN)
    assert len(sandbox.ledger.launches) == launched


@pytest.mark.looptime
async def test_virtual_time_holds_on_a_socket(sandbox: Sandbox, ask: Ask) -> None:
    """Client and server on one loop share its time: an hour passes at once."""
    path = f"/v1/keywords/{sandbox.keyword_ids[0]}"
    sandbox.set_outcome(sandbox.keyword_ids[0], "success", duration=3600)
    await ask("POST", f"{path}/analyze", **PLAIN)
    await asyncio.sleep(3600)
    assert (await ask("GET", path))[1]["analysisStatus"] == "success"
