"""Keywords, prompts and their analyses (specification, sections 2.8, 4.5 and 4.8)."""

from __future__ import annotations

import asyncio

import pytest

from cmsapi.sandbox import Behaviour, Fixed, Sandbox
from tests.support.calling import Caller

pytestmark = pytest.mark.looptime


@pytest.mark.parametrize("kind", ["keywords", "prompts"])
async def test_an_analysis_runs_through_its_words(kind: str) -> None:
    """An analysis is queued, then pending, then a success whose moment is the end of the job."""
    box = Sandbox(durations=Fixed(100.0))
    call = Caller(box)
    path = f"/v1/{kind}/{box.keyword_ids[0] if kind == 'keywords' else box.prompt_ids[0]}"
    before = await call.get(path)
    launched = await call("POST", f"{path}/analyze")
    assert (launched.status, list(launched.json)) == (202, ["message"])
    words = []
    for _ in range(2):
        words.append((await call.get(path))["analysisStatus"])
        await asyncio.sleep(60)
    after = await call.get(path)
    assert [before["analysisStatus"], *words, after["analysisStatus"]] == [None, "queued", "pending", "success"]
    assert (before["lastAnalyzedAt"], after["lastAnalyzedAt"]) == (None, "2026-01-01T00:01:40.000Z")


@pytest.mark.parametrize("status", [409, 422])
async def test_one_analysis_runs_at_a_time(status: int) -> None:
    """A launch while one is running is refused and costs nothing."""
    box = Sandbox(behaviour=Behaviour(refused_launch=status))  # type: ignore[arg-type]
    call, path = Caller(box), f"/v1/keywords/{box.keyword_ids[0]}/analyze"
    assert [202, status] == [(await call("POST", path)).status for _ in range(2)]
    assert (box.credits.analysis, len(box.ledger.launches(box.keyword_ids[0]))) == (9_999, 1)


@pytest.mark.parametrize("setting", ["unchanged", "new"])
async def test_a_failed_analysis_moves_its_moment_only_when_set(setting: str) -> None:
    """`lastAnalyzedAt` after a failure is the old one, or a new one with that setting."""
    box = Sandbox(failures=1.0, behaviour=Behaviour(failed_analysis_timestamp=setting))  # type: ignore[arg-type]
    call, path = Caller(box), f"/v1/keywords/{box.analyzed_keyword_ids[0]}"
    before = await call.get(path)
    await call("POST", f"{path}/analyze")
    await asyncio.sleep(10_000)
    after = await call.get(path)
    assert after["analysisStatus"] == "failed"
    assert (before["lastAnalyzedAt"] == after["lastAnalyzedAt"]) == (setting == "unchanged")


@pytest.mark.parametrize(
    ("setting", "fields"),
    [("full", {"analysisStatus", "lastAnalyzedAt"}), ("status", {"analysisStatus"}), ("bare", set[str]())],
)
async def test_items_of_a_list_carry_what_is_set(setting: str, fields: set[str]) -> None:
    """Items of a keyword list may lack the status."""
    box = Sandbox(behaviour=Behaviour(keyword_items=setting))  # type: ignore[arg-type]
    call = Caller(box)
    keyword = await call.get(f"/v1/keywords/{box.keyword_ids[0]}")
    listed = (await call.get(f"/v1/pages/{keyword['pageId']}/keywords"))["data"]
    assert fields == {"analysisStatus", "lastAnalyzedAt"} & set(listed[0])
    assert box.keyword_ids[9::-1] == tuple(item["id"] for item in listed)


async def test_an_analysis_scores_the_contents_of_its_page(box: Sandbox, call: Caller) -> None:
    """A draft has no score before a keyword of its page is analysed."""
    draft = (
        await call("POST", f"/v1/workspaces/{box.workspace_id}/contents", {"title": "Tents", "html": "tents"})
    ).json
    keyword = (await call("POST", f"/v1/pages/{draft['page']['id']}/keywords", {"keyword": "tents"})).json
    await call("POST", f"/v1/keywords/{keyword['id']}/analyze")
    assert draft["contentScore"] is None
    box.finish(keyword["id"])
    assert 0 < (await call.get(f"/v1/contents/{draft['id']}"))["contentScore"] <= 100


async def test_a_text_is_scored_against_a_prompt(box: Sandbox, call: Caller) -> None:
    """Before an analysis there is no report; then its score lies between 0 and 1."""
    prompt_id, body = box.prompt_ids[0], {"title": "Best running shoes", "html": "<p>best running shoes</p>"}
    path = f"/v1/prompts/{prompt_id}"
    assert (await call("POST", f"{path}/report", body)).json == {"chatgpt": None}
    await call("POST", f"{path}/analyze")
    box.finish(prompt_id)
    for text in (body, {"contentId": box.content_ids[1]}):
        report = (await call("POST", f"{path}/report", text)).json["chatgpt"]
        assert 0 < report["score"] <= 1
        assert sorted(report) == ["brands", "preview", "recommendations", "score", "sources"]


async def test_a_keyword_report_needs_an_analysis(box: Sandbox, call: Caller) -> None:
    """A report for a keyword without an analysis is a 409."""
    body = {"contentId": box.content_ids[0]}
    assert (await call("POST", f"/v1/keywords/{box.keyword_ids[0]}/report", body)).status == 409
    report = await call("POST", f"/v1/keywords/{box.analyzed_keyword_ids[0]}/report", body)
    assert (report.status, report.json["score"]) == (200, 0)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "title"),
        ({"title": "x"}, "html"),
        ({"contentId": "none"}, "contentId"),
        ({"contentId": "none", "title": "x"}, "title"),
        ({"contentId": "none", "html": "x"}, "html"),
    ],
)
async def test_a_report_takes_a_content_or_a_text(box: Sandbox, call: Caller, body: dict[str, str], field: str) -> None:
    """A content and a text, half a text, or neither is a 422."""
    answer = await call("POST", f"/v1/prompts/{box.prompt_ids[0]}/report", body)
    assert (422, field) == (answer.status, answer.message.split(":")[0])
