"""Honest services that choose otherwise where the specification leaves the choice open."""

from __future__ import annotations

import asyncio

from cmsapi import Client
from cmsapi.messages import Request, Response
from cmsapi.testing import HandlerTransport
from tests.support.raw import RawServer, http
from tests.support.strict import virtually


def test_unclear_polls_do_not_spend_the_hour() -> None:
    """Thirty keywords that show neither work nor a date are polled seldom until their success is believed."""
    service = HandlerTransport(lambda request: {"id": request.url[-2:], "analysisStatus": "success"})

    async def main() -> None:
        async with Client("sk_look", base_url="http://localhost", transport=service) as client:
            await client.jobs.map(client.keywords.analyze, [f"k{number}" for number in range(10, 40)])

    virtually(main())
    assert len(service.requests) < 300


def test_a_launch_may_be_answered_without_a_body() -> None:
    """A 204 is an accepted analysis, whatever its keyword shows."""

    def answer(request: Request) -> Response | dict[str, str]:
        return Response(204, {}, b"") if request.method == "POST" else {"id": "k", "analysisStatus": "success"}

    async def main() -> str | None:
        async with Client("sk_look", base_url="http://localhost", transport=HandlerTransport(answer)) as client:
            return (await (await client.keywords.analyze("k"))).analysis_status

    assert virtually(main()) == "success"


def test_a_content_without_a_generation_may_show_null() -> None:
    """The first generation of a content is launched although the service has null where there is none."""

    def answer(request: Request) -> Response | dict[str, str]:
        return {"id": "g", "status": "queued"} if request.method == "POST" else Response(200, {}, b"null")

    async def main() -> str:
        async with Client("sk_look", base_url="http://localhost", transport=HandlerTransport(answer)) as client:
            return (await client.contents.generate("c")).id

    assert virtually(main()) == "g"


def test_ideas_that_are_not_there_yet_are_asked_for_again() -> None:
    """A list of ideas that lags behind its search with a 409 does not end the wait."""
    lists = iter([Response(409, {}, b'{"error": {"code": "conflict", "message": ""}}'), Response(200, {}, b"[{}]")])
    search = {"id": "s", "status": "success"}
    service = HandlerTransport(lambda request: next(lists) if "/content-ideas" in request.url else search)

    async def main() -> int:
        async with Client("sk_look", base_url="http://localhost", transport=service) as client:
            return len(await (await client.content_ideas.search("w", "shoes")))

    assert virtually(main()) == 1


async def test_an_answer_that_nobody_asked_for_is_not_taken_for_the_next(raw_server: RawServer) -> None:
    """What a server sends on an idle connection, such as a 408, is not the answer to the next request."""
    raw_server.script = [http(b'{"id": "a"}'), http(b'{"id": "b"}')]
    async with Client("sk_look", base_url=raw_server.url) as client:
        await client.keywords.get("a")
        raw_server.writers[-1].write(http(b"", "408 Request Timeout"))
        await asyncio.sleep(0.05)
        assert (await client.keywords.get("b")).id == "b"
