"""The table of operations: immutable, complete, and replaceable where it is a guess."""

from __future__ import annotations

import pytest

import cmsapi
from cmsapi import OPERATIONS, Provenance, Replay, errors
from tests.support.script import KEY, Script, answer

PAID = {"analyze_keyword", "analyze_prompt", "start_content_idea_search", "generate_content"}


def test_replay_classes_follow_from_the_method_and_the_price() -> None:
    """Reads and scores are safe, deletions and versioned changes idempotent, launches paid, all else creates."""
    for name, operation in OPERATIONS.items():
        expected = {"GET": Replay.SAFE, "DELETE": Replay.IDEMPOTENT, "PATCH": Replay.IDEMPOTENT}.get(operation.method)
        expected = Replay.SAFE if name.startswith("score_") else expected
        expected = expected or (Replay.COSTS_CREDIT if name in PAID else Replay.CREATES)
        assert (name, operation.replay) == (name, expected)
        assert name == operation.name


def test_guesses_tell_how_to_replace_them() -> None:
    """An assumed route has a hint that works; a stated one has none."""
    for name, operation in OPERATIONS.items():
        if operation.provenance is Provenance.ASSUMED:
            assert f"override({name}=" in str(operation.hint)
        else:
            assert operation.hint is None


def test_override_makes_a_new_table() -> None:
    """One route changes in a copy; the original and the other rows stay."""
    table = OPERATIONS.override(get_content="GET /v1/drafts/{contentId}")
    assert table["get_content"].route == "GET /v1/drafts/{contentId}"
    assert OPERATIONS["get_content"].route == "GET /v1/contents/{contentId}"
    assert table["get_content"].replay is Replay.SAFE
    assert {name for name in table if table[name] != OPERATIONS[name]} == {"get_content"}
    assert (len(table), repr(table)) == (len(OPERATIONS), f"<OperationTable of {len(OPERATIONS)} operations>")


@pytest.mark.parametrize(
    "route",
    [
        "GET https://evil.example.com/v1/contents/{contentId}",
        "GET //evil.example.com/v1/{contentId}",
        "GET /v2/contents/{contentId}",
        "GET /contents/{contentId}",
        "GET /v1/../admin/{contentId}",
        "GET /v1/./{contentId}",
        "GET /v1//{contentId}",
        "GET /v1/contents/{contentId}/",
        "GET /v1/contents/{contentId}?x=1",
        "GET /v1/contents/{contentId}#x",
        "GET /v1/con%2Ftents/{contentId}",
        "GET /v1/contents/{contentId}\n",
        "get /v1/contents/{contentId}",
        "HEAD /v1/contents/{contentId}",
        "/v1/contents/{contentId}",
        "GET  /v1/contents/{contentId}",
        "",
        None,
        7,
    ],
    ids=repr,
)
def test_routes_that_would_lead_elsewhere_are_refused(route: str) -> None:
    """A route is a method and a plain path under /v1: nothing that takes the key to another house."""
    with pytest.raises(errors.ConfigError, match="The route for get_content must have the form"):
        OPERATIONS.override(get_content=route)


@pytest.mark.parametrize(
    ("route", "found"),
    [
        ("GET /v1/contents/{id}", r"\['id'\]"),
        ("GET /v1/contents", r"\[\]"),
        ("GET /v1/{workspaceId}/{contentId}", r"\['contentId', 'workspaceId'\]"),
    ],
)
def test_routes_keep_their_parameters(route: str, found: str) -> None:
    """A route has the parameters that the operation gives, no more and no less."""
    with pytest.raises(errors.ConfigError, match=rf"must have the parameters \['contentId'\], got {found}"):
        OPERATIONS.override(get_content=route)


def test_an_unknown_operation_is_named() -> None:
    """A misspelt operation is refused with the list of those there are."""
    with pytest.raises(errors.ConfigError, match="no operation 'get_contents'; the table has: get_me"):
        OPERATIONS.override(get_contents="GET /v1/x")


@pytest.mark.looptime
async def test_an_override_is_what_is_sent() -> None:
    """A client with another table asks the other route."""
    service = Script(answer(200, {"id": "c_1"}))
    table = OPERATIONS.override(get_content="GET /v1/drafts/{contentId}/full")
    async with cmsapi.Client(KEY, base_url="https://x.example.com", transport=service, operations=table) as client:
        await client.contents.get("c_1")
    assert service.requests[0].url == "https://x.example.com/v1/drafts/c_1/full"
