"""Bad arguments are refused before anything is sent, by an error that names the parameter."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from datetime import date, datetime, timedelta, timezone
from typing import Any

import pytest

import cmsapi
from cmsapi.api.models.generation import GenerationSettings
from cmsapi.sandbox import Sandbox

pytestmark = pytest.mark.looptime

Call = Callable[[cmsapi.Client], Awaitable[Any]]


async def first(stream: Any) -> Any:
    """Take the first item of a stream."""
    return await anext(aiter(stream))


# The first moment of a calendar that is an hour ahead of UTC.
BEFORE_ALL_YEARS = datetime.min.replace(tzinfo=timezone(timedelta(hours=1)))

# What is wrong: the parameter that the error names, and the call.
WRONG: list[tuple[str, Call]] = [
    ("limit", lambda c: c.users.list(limit=0)),
    ("limit", lambda c: c.users.list(limit=101)),
    ("limit", lambda c: c.workspaces.list(limit="10")),  # type: ignore[arg-type]
    ("limit", lambda c: c.brand_voices.list("w", limit=True)),
    ("page", lambda c: c.pages.list("w", page=0)),
    ("workspace_id", lambda c: c.workspaces.get("")),
    ("workspace_id", lambda c: c.workspaces.get("..")),
    ("workspace_id", lambda c: c.workspaces.get(7)),  # type: ignore[arg-type]
    ("workspace_id", lambda c: c.workspaces.members(".")),
    ("workspace_id", lambda c: c.workspaces.content_statuses(".")),
    ("workspace_id", lambda c: c.folders.list("")),
    ("name", lambda c: c.folders.create("w", "")),
    ("parent_folder_id", lambda c: c.folders.create("w", "n", parent_folder_id=7)),  # type: ignore[arg-type]
    ("folder_id", lambda c: c.folders.delete("")),
    ("title", lambda c: c.contents.create("w", "")),
    ("title", lambda c: c.contents.create("w", "x" * 256)),
    ("title", lambda c: c.contents.create("w", None)),  # type: ignore[arg-type]
    ("title", lambda c: c.contents.create("w", "\ud800")),
    ("html", lambda c: c.contents.create("w", "t", html=b"<p>")),  # type: ignore[arg-type]
    ("meta_description", lambda c: c.contents.create("w", "t", meta_description=7)),  # type: ignore[arg-type]
    ("due_date", lambda c: c.contents.create("w", "t", due_date="")),
    ("due_date", lambda c: c.contents.create("w", "t", due_date=BEFORE_ALL_YEARS)),
    ("content_score", lambda c: c.contents.list("w", content_score=101)),
    ("content_score_min", lambda c: c.contents.list("w", content_score_min=-1)),
    ("content_score_max", lambda c: c.contents.list("w", content_score_max=1.5)),  # type: ignore[arg-type]
    ("content_score_min", lambda c: c.contents.list("w", content_score_min=2, content_score_max=1)),
    ("assigned_to_id", lambda c: c.contents.list("w", assigned_to_id=7)),  # type: ignore[arg-type]
    ("content_status_id", lambda c: c.contents.list("w", content_status_id=[])),
    ("content_status_id", lambda c: c.contents.list("w", content_status_id={"a"})),  # type: ignore[arg-type]
    ("content_status_id", lambda c: c.contents.list("w", content_status_id=["a", None])),  # type: ignore[list-item]
    ("content_id", lambda c: c.contents.get("..")),
    ("version", lambda c: c.contents.update("c", -1, title="t")),
    ("changes", lambda c: c.contents.update("c", 1)),
    ("title", lambda c: c.contents.update("c", 1, title="x" * 256)),
    ("due_date", lambda c: c.contents.update("c", 1, due_date="2026-02-29")),
    ("folder_id", lambda c: c.contents.update("c", 1, folder_id=7)),  # type: ignore[arg-type]
    ("version", lambda c: c.contents.create("w", "t", version=1)),  # type: ignore[call-arg]
    ("attempts", lambda c: c.contents.edit("c", lambda _: {}, attempts=0)),
    ("change", lambda c: c.contents.edit("c", {"title": "t"})),  # type: ignore[arg-type]
    ("url", lambda c: c.contents.publish("c", url=7)),  # type: ignore[arg-type]
    ("content_id", lambda c: c.contents.delete("")),
    ("content_id", lambda c: c.contents.generate("")),
    ("settings", lambda c: c.contents.generate("c", {"brandVoiceId": "b"})),  # type: ignore[arg-type]
    ("settings", lambda c: c.contents.generate("c", GenerationSettings(custom_instructions="\ud800"))),
    ("settings", lambda c: c.contents.generate("c", GenerationSettings(extra={"x": object()}))),
    ("on_review", lambda c: c.contents.generate("c", on_review=True)),  # type: ignore[arg-type]
    ("content_id", lambda c: c.contents.generation("")),
    ("content_id", lambda c: c.contents.review("")),
    ("url", lambda c: c.pages.create("w", "")),
    ("page_id", lambda c: c.pages.get("")),
    ("page_id", lambda c: c.pages.crawl("")),
    ("page_id", lambda c: c.pages.delete("")),
    ("page_id", lambda c: c.keywords.list("")),
    ("keyword", lambda c: c.keywords.create("p", "")),
    ("keyword_id", lambda c: c.keywords.get("")),
    ("keyword_id", lambda c: c.keywords.analyze("")),
    ("keyword_id", lambda c: c.keywords.analyze("..")),
    ("keyword_id", lambda c: c.keywords.analyze(7)),  # type: ignore[arg-type]
    ("content_id", lambda c: c.keywords.score("k")),  # type: ignore[call-overload]
    ("content_id", lambda c: c.keywords.score("k", content_id="c", title="t")),  # type: ignore[call-overload]
    ("html", lambda c: c.keywords.score("k", title="t")),  # type: ignore[call-overload]
    ("title", lambda c: c.keywords.score("k", html="h")),  # type: ignore[call-overload]
    ("meta_description", lambda c: c.keywords.score("k", content_id="c", meta_description=7)),  # type: ignore[call-overload]
    ("keyword_id", lambda c: c.prompts.list("")),
    ("prompt", lambda c: c.prompts.create("k", "")),
    ("prompt_id", lambda c: c.prompts.get("")),
    ("prompt_id", lambda c: c.prompts.analyze("")),
    ("content_id", lambda c: c.prompts.score("p", content_id="c", html="h")),  # type: ignore[call-overload]
    ("brand_voice_id", lambda c: c.brand_voices.get("")),
    ("text", lambda c: c.knowledge_documents.create("w", "n")),  # type: ignore[call-overload]
    ("text", lambda c: c.knowledge_documents.create("w", "n", text="t", url="u")),  # type: ignore[call-overload]
    ("name", lambda c: c.knowledge_documents.create("w", "", text="t")),
    ("url", lambda c: c.knowledge_documents.create("w", "n", url=7)),  # type: ignore[call-overload]
    ("knowledge_document_id", lambda c: c.knowledge_documents.get("")),
    ("keyword", lambda c: c.content_ideas.search("w", "")),
    ("workspace_id", lambda c: c.content_ideas.search("", "tents")),
    ("content_idea_search_id", lambda c: c.content_ideas.get("")),
    ("content_idea_search_id", lambda c: c.content_ideas.list("")),
    ("type", lambda c: c.credit_usages.list("all")),  # type: ignore[arg-type]
    ("type", lambda c: c.credit_usages.list(7)),  # type: ignore[arg-type]
    ("page", lambda c: c.credit_usages.list(page=0)),
    ("q", lambda c: c.credit_usages.list("analysis", q=7)),  # type: ignore[arg-type]
    ("since", lambda c: c.credit_usages.report(since="January")),
    ("since", lambda c: c.credit_usages.report(since=date(2026, 1, 2), until=date(2026, 1, 1))),
    ("limit", lambda c: first(c.credit_usages.list(limit=0))),
    ("limit", lambda c: c.users.list(limit=10**5000)),
    ("page", lambda c: c.users.list(page=2**63)),
    ("version", lambda c: c.contents.update("c", 10**5000, title="t")),
    ("retry", lambda c: c.request("GET", "/v1/me", retry="no")),  # type: ignore[arg-type]
    ("launch", lambda c: first(c.jobs.map(None, ["k"]))),  # type: ignore[arg-type]
    ("items", lambda c: first(c.jobs.map(c.keywords.analyze, None))),  # type: ignore[arg-type]
    ("items", lambda c: first(c.jobs.map(c.keywords.analyze, "kwd_1"))),
    ("jobs", lambda c: first(c.jobs.as_completed(None))),  # type: ignore[arg-type]
    ("jobs", lambda c: c.jobs.gather(None)),  # type: ignore[arg-type]
    ("count", lambda c: c.jobs.plan("keyword_analysis", 10**400)),
    ("timeout", lambda c: c.jobs.watch("keyword_analysis", "k").wait(timeout="7")),  # type: ignore[arg-type]
    ("timeout", lambda c: c.jobs.watch("keyword_analysis", "k").wait(timeout=math.nan)),
    ("q", lambda c: first(c.credit_usages.list(q=7))),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("parameter", "call"), WRONG, ids=[f"{i}-{name}" for i, (name, _) in enumerate(WRONG)])
async def test_a_bad_argument_is_refused(client: cmsapi.Client, sandbox: Sandbox, parameter: str, call: Call) -> None:
    """The error is an `ArgumentError` and a `ValueError`, names the parameter, and nothing was sent."""
    with pytest.raises(cmsapi.ArgumentError) as caught:
        await call(client)
    assert isinstance(caught.value, ValueError)
    assert caught.value.parameter == parameter
    assert "nothing was sent" in str(caught.value).lower()
    assert len(sandbox.ledger) == 0


async def test_a_list_refuses_when_it_is_called(client: cmsapi.Client) -> None:
    """A wrong argument of a list is told at the call, not at the first entry."""
    with pytest.raises(cmsapi.ArgumentError):
        client.credit_usages.list(limit=0)
