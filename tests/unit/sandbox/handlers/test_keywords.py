"""Keywords, prompts, reports and searches."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cmsapi.sandbox import Choices, Sandbox
from tests.support.spec import spec
from tests.support.wire import Wire
from tests.unit.sandbox.conftest import CheckedWire

pytestmark = pytest.mark.looptime


@pytest.mark.parametrize(("choice", "fields"), [("full", 2), ("status", 1), ("neither", 0)])
async def test_keywords_in_lists_may_lack_their_status(choice: Any, fields: int) -> None:
    """Items in a list show status and timestamp, only the status, or neither."""
    sandbox = Sandbox(choices=Choices(keyword_items=choice))
    (item,) = (await Wire(sandbox).get(f"/v1/pages/{sandbox.page_ids[0]}/keywords"))["data"]
    assert len({"analysisStatus", "lastAnalyzedAt"} & item.keys()) == fields


@pytest.mark.parametrize("words", [0, 400])
async def test_reports_score_a_text(sandbox: Sandbox, wire: CheckedWire, words: int) -> None:
    """A text is scored once there is an analysis; before that, a keyword gives a 409 and a prompt no report."""
    keyword, prompt = f"/v1/keywords/{sandbox.keyword_ids[0]}", f"/v1/prompts/{sandbox.prompt_ids[0]}"
    body = {"title": "x", "html": "word " * words}
    assert await wire.status("POST", f"{keyword}/report", body) == 409
    assert await wire.post(f"{prompt}/report", body) == {"chatgpt": None}
    for path in (keyword, prompt):
        await wire.post(f"{path}/analyze")
    sandbox.finish()
    report = await wire.post(f"{keyword}/report", body)
    assert report["score"] == words / 800
    assert await wire.post(f"{prompt}/report", body) == {"chatgpt": report}


@spec("3:search-start", "3:search-success", "4.6:start_content_idea_search", "4.6:get_content_idea_search")
@spec("4.6:list_content_ideas", "4.6:credit", "8.6")
async def test_a_search_finds_ideas(wire: CheckedWire) -> None:
    """A search is pending, costs a credit, and has as many ideas as it announces once it succeeds."""
    wire.sandbox.set_outcome("shoes", "success", duration=60, ideas=120)
    before = wire.sandbox.credits["contentIdeasSearches"]
    answer = await wire.send("POST", f"{wire.workspace}/content-idea-searches", {"keyword": "shoes"})
    search, path = answer.json(), f"/v1/content-idea-searches/{answer.json()['id']}"
    assert (answer.status, search["status"], search["nbContentIdeas"]) == (202, "pending", None)
    assert wire.sandbox.credits["contentIdeasSearches"] == before - 1
    assert (await wire.refusal("GET", f"{path}/content-ideas"))[:2] == (409, "conflict")
    await asyncio.sleep(60)
    after = await wire.get(path)
    assert after == {**search, "status": "success", "nbContentIdeas": 120, "searchVolume": after["searchVolume"]}
    pages = [await wire.get(f"{path}/content-ideas?limit=100&page={number}") for number in (1, 2)]
    assert [page["pagination"]["hasMore"] for page in pages] == [True, False]
    assert len({idea["id"] for page in pages for idea in page["data"]}) == 120


@spec("3:search-failure")
@pytest.mark.parametrize(("choices", "status"), [(Choices(), 409), (Choices(ideas_before_success="empty"), 200)])
async def test_a_failed_search_has_no_ideas(choices: Choices, status: int) -> None:
    """A search that fails shows no number of ideas; reading them gives a conflict, or an empty page if so chosen."""
    wire = CheckedWire(Sandbox(choices=choices, credits={"contentIdeasSearches": 1}))
    wire.sandbox.set_outcome("shoes", "failed", duration=0)
    search = await wire.post(f"{wire.workspace}/content-idea-searches", {"keyword": "shoes"})
    failed = await wire.get(f"/v1/content-idea-searches/{search['id']}")
    assert (failed["status"], failed["nbContentIdeas"]) == ("failed", None)
    assert await wire.status("GET", f"/v1/content-idea-searches/{search['id']}/content-ideas") == status
    assert (
        await wire.status("POST", f"{wire.workspace}/content-idea-searches", {"keyword": "shoes"}) == 409
    )  # no credit
