"""Answers from a function."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from cmsapi import (
    Client,
    JobFailedError,
    NotFoundError,
    NotSentError,
    RateLimitedError,
    Request,
    Response,
    RetryPolicy,
    Transport,
)
from cmsapi.testing import HandlerTransport

pytestmark = pytest.mark.looptime


def client_of(transport: HandlerTransport, **settings: Any) -> Client:
    """Return a client whose requests a function answers."""
    return Client("sk_test", base_url="https://api.example.com", transport=transport, **settings)


async def test_a_function_answers_and_requests_are_recorded() -> None:
    """A document is sent with status 200, and the test sees the request."""
    transport = HandlerTransport(lambda request: {"id": "cnt_1", "version": 2})
    async with client_of(transport) as client:
        assert (await client.contents.update("cnt_1", version=1, title="New")).version == 2
    (sent,) = transport.requests
    assert (sent.method, sent.operation, json.loads(sent.body or b"")["title"]) == ("PATCH", "update_content", "New")
    assert isinstance(transport, Transport)


async def test_a_coroutine_function_answers() -> None:
    """The handler may wait, and a job is polled until the handler says that it has ended."""
    statuses = iter(["queued", "pending", "failed"])

    async def handler(request: Request) -> Response:
        await asyncio.sleep(1)
        if request.method == "POST":
            return Response(202, {}, b'{"message": "started"}')
        return Response(200, {}, json.dumps({"id": "kwd_1", "analysisStatus": next(statuses)}).encode())

    transport = HandlerTransport(handler)
    async with client_of(transport) as client:
        with pytest.raises(JobFailedError):
            await client.jobs.run(client.keywords.analyze("kwd_1"))
    assert [request.operation for request in transport.requests] == ["analyze_keyword"] + ["get_keyword"] * 3


async def test_a_response_has_its_status_and_headers() -> None:
    """Headers are found whatever their case."""
    refused = Response(429, {"Retry-After": "7"}, b'{"error": {"code": "rate_limited", "message": "slower"}}')
    async with client_of(HandlerTransport(lambda request: refused), retry=RetryPolicy(max_attempts=1)) as client:
        with pytest.raises(RateLimitedError) as caught:
            await client.me()
    assert caught.value.retry_after == 7


async def test_errors_of_the_network_are_repeated_and_others_come_out() -> None:
    """The client treats what the handler raises as what a transport raises."""
    answers: list[Exception | Response] = [NotSentError("no route"), Response(404), AssertionError("mine")]

    def handler(request: Request) -> Response:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    transport = HandlerTransport(handler)
    async with client_of(transport) as client:
        with pytest.raises(NotFoundError):
            await client.me()
        with pytest.raises(AssertionError, match="mine"):
            await client.me()
    assert len(transport.requests) == 3


async def test_a_handler_without_an_answer_is_named() -> None:
    """A forgotten ``return`` fails with the request concerned."""
    nothing: Any = lambda request: None  # noqa: E731
    async with client_of(HandlerTransport(nothing)) as client:
        with pytest.raises(TypeError, match="GET"):
            await client.me()
