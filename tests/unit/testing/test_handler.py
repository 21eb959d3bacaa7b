"""Answers from a function."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import cmsapi
from cmsapi.testing import HandlerTransport, error_response, json_response

pytestmark = pytest.mark.looptime

ME = {
    "id": "usr_1",
    "firstName": "Ada",
    "lastName": "Lovelace",
    "email": "ada@example.com",
    "organization": {"id": "org_1", "name": "Engines"},
}


def client_of(transport: HandlerTransport) -> cmsapi.Client:
    """Make a client whose requests a function answers."""
    return cmsapi.Client("sk_test", base_url="https://api.example.com", transport=transport)


async def test_a_document_is_an_answer() -> None:
    """A dict is answered with 200, and what was asked is kept."""
    transport = HandlerTransport(lambda request: ME)
    async with client_of(transport) as client:
        assert (await client.me()).first_name == "Ada"
    (asked,) = transport.ledger
    assert (asked.method, asked.path, asked.query, asked.status, asked.json()) == ("GET", "/v1/me", "", 200, None)
    assert "sk_test" not in repr(asked)


async def test_a_handler_may_be_asynchronous() -> None:
    """It may wait, and it sees what is sent."""
    titles: list[Any] = []

    async def handler(request: cmsapi.Request) -> cmsapi.Response:
        await asyncio.sleep(5)
        titles.append(transport.ledger)
        return json_response(ME, 200, {"X-RateLimit-Remaining": "7"})

    transport = HandlerTransport(handler)
    async with client_of(transport) as client:
        await client.request("POST", "/v1/things", params={"q": "a b"}, json={"title": "shoes"})
    assert [(asked.at, asked.query, asked.json()) for asked in transport.ledger] == [(0, "q=a%20b", {"title": "shoes"})]


async def test_an_error_answer_is_the_error_that_it_names() -> None:
    """Errors are written as the service writes them."""
    transport = HandlerTransport(lambda request: error_response(404, "not_found", "no such thing"))
    async with client_of(transport) as client:
        with pytest.raises(cmsapi.NotFoundError, match="no such thing"):
            await client.me()


async def test_what_a_handler_raises_is_what_the_network_does() -> None:
    """A connection that drops is repeated where that is safe, and shows as a request without an answer."""
    answers = iter([ConnectionResetError("dropped"), ME])

    def handler(request: cmsapi.Request) -> Any:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    transport = HandlerTransport(handler)
    async with client_of(transport) as client:
        await client.me()
    assert [asked.status for asked in transport.ledger] == [None, 200]


async def test_a_handler_that_forgets_to_answer_is_told() -> None:
    """Returning nothing says what for, and what to return."""
    async with client_of(HandlerTransport(lambda request: None)) as client:
        with pytest.raises(TypeError, match=r"returned None for GET /v1/me: return a cmsapi\.Response, or a dict"):
            await client.me()
