"""Answer requests with a function."""

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
    """A dict is sent with status 200, and the request is sent."""
    transport = HandlerTransport(lambda request: ME)
    async with client_of(transport) as client:
        assert (await client.me()).first_name == "Ada"
    (sent,) = transport.ledger
    assert (sent.method, sent.path, sent.query, sent.status, sent.json()) == (
        "GET",
        "/v1/me",
        "",
        200,
        None,
    )
    assert "sk_test" not in repr(sent)


async def test_a_handler_may_be_asynchronous() -> None:
    """The handler may wait, and it receives the whole request."""
    titles: list[Any] = []

    async def handler(request: cmsapi.Request) -> cmsapi.Response:
        await asyncio.sleep(5)
        titles.append(transport.ledger)
        return json_response(ME, 200, {"X-RateLimit-Remaining": "7"})

    transport = HandlerTransport(handler)
    async with client_of(transport) as client:
        await client.request("POST", "/v1/things", params={"q": "a b"}, json={"title": "shoes"})
    assert [(sent.at, sent.query, sent.json()) for sent in transport.ledger] == [(0, "q=a%20b", {"title": "shoes"})]


async def test_an_error_response_raises_its_error() -> None:
    """The response has the form of the service."""
    transport = HandlerTransport(lambda request: error_response(404, "not_found", "no such thing"))
    async with client_of(transport) as client:
        with pytest.raises(cmsapi.NotFoundError, match="no such thing"):
            await client.me()


async def test_an_error_of_the_handler_is_an_error_of_the_network() -> None:
    """A safe request is retried after a dropped connection, which is sent without a status."""
    answers = iter([ConnectionResetError("dropped"), ME])

    def handler(request: cmsapi.Request) -> Any:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    transport = HandlerTransport(handler)
    async with client_of(transport) as client:
        await client.me()
    assert [sent.status for sent in transport.ledger] == [None, 200]


async def test_a_handler_must_return_an_answer() -> None:
    """The error names the request and what to return."""
    async with client_of(HandlerTransport(lambda request: None)) as client:
        with pytest.raises(TypeError, match=r"must return a cmsapi\.Response, or a dict .* got None for GET /v1/me"):
            await client.me()
