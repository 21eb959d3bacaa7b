"""Honest services that choose differently where the specification leaves the choice open."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from cmsapi import Client
from cmsapi.messages import Request, Response
from cmsapi.testing import HandlerTransport

pytestmark = pytest.mark.looptime


def client_of(answer: Callable[[Request], Any]) -> Client:
    """Return a client of a service that a function plays."""
    return Client("sk_look", base_url="http://localhost", transport=HandlerTransport(answer))


async def test_unclear_polls_do_not_spend_the_hour() -> None:
    """Thirty keywords that show neither work nor a date are rarely polled until their success is believed."""
    async with client_of(lambda request: {"id": request.url[-2:], "analysisStatus": "success"}) as client:
        await client.jobs.map(client.keywords.analyze, [f"k{number}" for number in range(10, 40)])
        assert client.rate_limit.used < 300


async def test_a_launch_may_be_answered_without_a_body() -> None:
    """A 204 means an accepted analysis, whatever its keyword shows."""

    def answer(request: Request) -> Response | dict[str, str]:
        return Response(204, {}, b"") if request.method == "POST" else {"id": "k", "analysisStatus": "success"}

    async with client_of(answer) as client:
        assert (await (await client.keywords.analyze("k"))).analysis_status == "success"


async def test_a_content_without_a_generation_may_show_null() -> None:
    """The first generation of a content is launched even if the service shows null where there is none."""

    def answer(request: Request) -> Response | dict[str, str]:
        return {"id": "g", "status": "queued"} if request.method == "POST" else Response(200, {}, b"null")

    async with client_of(answer) as client:
        assert (await client.contents.generate("c")).id == "g"


async def test_ideas_that_are_not_there_yet_are_asked_for_again() -> None:
    """A list of ideas that lags behind its search with a 409 does not end the wait."""
    lists = iter([Response(409, {}, b'{"error": {"code": "conflict", "message": ""}}'), Response(200, {}, b"[{}]")])
    search = {"id": "s", "status": "success"}
    async with client_of(lambda request: next(lists) if "/content-ideas" in request.url else search) as client:
        assert len(await (await client.content_ideas.search("w", "shoes"))) == 1


async def test_a_large_result_of_a_batch_is_read_again() -> None:
    """A result too large for a state, here a megabyte of ideas, is requested again by the next run."""
    ideas = [{"id": str(number), "keyword": secrets.token_hex(100)} for number in range(5000)]
    seen = Counter[str]()

    def answer(request: Request) -> Any:
        seen[str(request.operation)] += 1
        return ideas if request.operation == "list_content_ideas" else {"id": "s", "status": "success"}

    async with client_of(answer) as client:
        for run in (1, 2):
            (outcome,) = await client.jobs.batch("b").map(lambda word: client.content_ideas.search("w", word), ["tea"])
            assert len(outcome.result()) == 5000
            assert (seen["start_content_idea_search"], seen["list_content_ideas"]) == (1, run)
