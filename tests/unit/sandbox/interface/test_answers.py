"""Every operation answers as described, with success and with each of its errors; the caller compares them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cmsapi.sandbox import Behaviour, Credits, Fault, Fixed, Limits, Sandbox
from cmsapi.sandbox.interface.openapi import document
from cmsapi.sandbox.interface.routes import ROUTES, Route
from tests.support.calling import NOTHING, Answer, Caller
from tests.support.described import REFERENCES, refer

pytestmark = pytest.mark.looptime

DESCRIBED = document()
UNKNOWN = dict.fromkeys([*REFERENCES, "contentIdeaSearchId"], "unknown")


def errors(status: int) -> list[Route]:
    """Return the operations that are described with an error."""
    return [route for route in ROUTES if str(status) in operation(route)["responses"]]


def operation(route: Route) -> Any:
    """Return the description of an operation."""
    return DESCRIBED["paths"][route.template][route.method.lower()]


def body(route: Route) -> Any:
    """Return the first example of an operation's body."""
    if route.body is None:
        return NOTHING
    media = operation(route)["requestBody"]["content"]["application/json"]
    return media["example"] if "example" in media else next(iter(media["examples"].values()))["value"]


async def send(
    box: Sandbox, route: Route, *, ids: dict[str, str] | None = None, key: str | None = None, **told: Any
) -> Answer:
    """Send the request that an operation's examples describe, with identifiers that exist."""
    known = {**{name: name for name in route.parameters}, "contentIdeaSearchId": "unknown"}
    refer(box, known)
    sent = told.pop("body", NOTHING if "raw" in told else body(route))
    refer(box, sent)
    path = route.template.format_map({**known, **(ids or {})})
    query = told.pop("query", "type=analysis" if "type" in route.query else "")
    return await Caller(box, key)(route.method, f"{path}?{query}", sent, **told)


async def start_search(box: Sandbox) -> dict[str, str]:
    """Start a search for ideas, and return the parameter of its paths."""
    (route,) = (route for route in ROUTES if route.name == "start_content_idea_search")
    return {"contentIdeaSearchId": (await send(box, route)).json["id"]}


async def test_each_operation_succeeds_with_its_examples() -> None:
    """The examples of the description are good requests, once the identifiers exist."""
    box = Sandbox(durations=Fixed(1.0), limits=Limits.unlimited())
    deletions = [route for route in ROUTES if route.answers is None]
    search = await start_search(box)
    (generate,) = (route for route in ROUTES if route.name == "generate_content")
    for route in [*(route for route in ROUTES if route not in deletions), *deletions]:
        if route.name == "cancel_generation":
            await send(box, generate)
            await asyncio.sleep(2)
        answer = await send(box, route, ids=search)
        assert answer.status == (200 if route.answers is None else route.status), (route.name, answer.body)
        await asyncio.sleep(2)


@pytest.mark.parametrize("status", [500, 502, 503])
@pytest.mark.parametrize("retry_after", [None, 7])
async def test_each_fault_is_described(status: int, retry_after: int | None) -> None:
    """Each operation, and each path without a key, may be struck by a fault."""
    box = Sandbox(limits=Limits.unlimited(), faults=Fault(status=status, retry_after=retry_after, times=None))
    assert errors(status) == list(ROUTES)
    for route in ROUTES:
        assert (await send(box, route)).status == status
    for path in ("/health", "/openapi.json", "/docs"):
        assert (await Caller(box)("GET", path)).status == status


@pytest.mark.parametrize("rate_headers", ["every", "valid_key"])
async def test_each_refusal_is_described(rate_headers: Any) -> None:
    """A bad query, no valid key, no permission, an unknown target and an exhausted limit."""
    behaviour = Behaviour(
        rate_headers=rate_headers,
        admin_only={route.name for route in ROUTES},
        malformed_query=422,
        ideas_before_success="empty",
    )
    box = Sandbox(limits=Limits.unlimited(), behaviour=behaviour)
    search = await start_search(box)
    limited = Sandbox(limits=Limits(per_second=1), behaviour=Behaviour(rate_headers=rate_headers))
    await Caller(limited)("GET", "/v1/me")
    for route in ROUTES:
        got = {
            400: await send(box, route, query="q=%FF"),
            401: await send(box, route, key="sk_none"),
            403: await send(box, route, key=box.member_key),
            429: await send(limited, route),
        }
        if route.parameters:
            got[404] = await send(box, route, ids=UNKNOWN)
        if "page" in route.query:
            got[422] = await send(box, route, ids=search, query="page=0&type=analysis")
        if route.body:
            got[422] = await send(box, route, body=7)
            assert (await send(box, route, raw=b"{")).status == 400
        assert {status: answer.status for status, answer in got.items()} == {status: status for status in got}
        assert {route in errors(status) for status in got} == {True}
    assert [route for route in ROUTES if not route.parameters] == [
        route for route in ROUTES if route not in errors(404)
    ]


@pytest.mark.parametrize("refused_launch", [409, 422])
async def test_each_conflict_is_described(refused_launch: Any) -> None:
    """An operation is described with a conflict if and only if it can have one."""
    box = Sandbox(
        limits=Limits.unlimited(),
        credits=Credits(analysis=2, content_ideas_searches=1),
        behaviour=Behaviour(refused_launch=refused_launch),
    )
    routes = {route.name: route for route in ROUTES}
    search = await start_search(box)
    draft = await send(box, routes["create_content"], body={"title": "A draft"})
    for name in ("analyze_keyword", "analyze_prompt", "generate_content", "update_content"):
        assert (await send(box, routes[name])).status in (200, 202)
    own = {"crawl_page": {"pageId": draft.json["page"]["id"]}, "list_content_ideas": search}
    for route in errors(409):
        answer = await send(box, route, ids=own.get(route.name))
        fixed = route.name in ("update_content", "crawl_page", "score_keyword", "list_content_ideas")
        assert answer.status == (409 if fixed else refused_launch), route.name
        assert operation(route)["responses"]["409"]["description"]


async def test_a_deletion_may_have_no_body() -> None:
    """Both answers to a deletion are described."""
    box = Sandbox(behaviour=Behaviour(deletion="empty"))
    for route in ROUTES:
        if route.answers is None:
            assert (await send(box, route)).status in (204, 404)
