"""Folders, statuses, voices, knowledge documents, members and usages."""

from __future__ import annotations

from typing import Any

import pytest

from cmsapi.sandbox import Sandbox
from tests.support.spec import spec
from tests.unit.sandbox.conftest import CheckedWire

pytestmark = pytest.mark.looptime

SOURCES = [("text", {"text": "We sell shoes."}), ("url", {"url": "https://a.example/x"})]


@spec("1.5", "4.2:list_folders", "4.2:delete_folder", "2.3:nbAssociatedContents")
async def test_a_deleted_folder_keeps_its_contents(wire: CheckedWire) -> None:
    """Its contents lose their folder, its sub-folders become top-level, and their own stay below them."""
    path = f"{wire.workspace}/folders"
    top = await wire.post(path, {"name": "Top", "parentFolderId": None})
    middle = await wire.post(path, {"name": "Middle", "parentFolderId": top["id"]})
    bottom = await wire.post(path, {"name": "Bottom", "parentFolderId": middle["id"]})
    content = await wire.post(f"{wire.workspace}/contents", {"title": "x", "folderId": top["id"]})
    before = {each["id"]: each for each in (await wire.get(path))["data"]}
    assert [before[each["id"]]["depth"] for each in (top, middle, bottom)] == [0, 1, 2]
    assert before[top["id"]]["nbAssociatedContents"] == 1
    await wire.send("DELETE", f"/v1/folders/{top['id']}")
    after = {each["id"]: each for each in (await wire.get(path))["data"]}
    assert before.keys() - after.keys() == {top["id"]}
    assert after[middle["id"]] == {**middle, "parentFolderId": None, "depth": 0}
    assert after[bottom["id"]] == {**bottom, "depth": 1}
    assert (await wire.get(f"/v1/contents/{content['id']}"))["folder"] is None


@spec("4.6b:get_knowledge_document", "2.5b:status", "2.5b:summary")
@pytest.mark.parametrize(("kind", "source"), SOURCES)
@pytest.mark.parametrize("outcome", ["success", "failed"])
async def test_documents_are_processed(wire: CheckedWire, kind: str, source: Any, outcome: str) -> None:
    """A document with one source is pending, and has a summary once it succeeds."""
    path = f"{wire.workspace}/knowledge-documents"
    for wrong in ({}, {"text": "x", "url": "https://a.example"}):
        assert await wire.status("POST", path, {"name": "About", **wrong}) == 422
    wire.sandbox.set_outcome("About", outcome)
    document = await wire.post(path, {"name": "About", **source})
    assert (document["status"], document["type"], document["summary"]) == ("pending", kind, None)
    wire.sandbox.finish(document["id"])
    document = await wire.get(f"/v1/knowledge-documents/{document['id']}")
    assert (document["status"], document["summary"] is not None) == (outcome, outcome == "success")


async def test_lists_of_a_workspace(sandbox: Sandbox, wire: CheckedWire) -> None:
    """Statuses come in order, everything else newest first, and members with their roles."""
    statuses = (await wire.get(f"{wire.workspace}/content-statuses"))["data"]
    assert [each["id"] for each in statuses] == [*sandbox.content_status_ids]
    lists = {"brand-voices": sandbox.brand_voice_ids, "knowledge-documents": sandbox.knowledge_document_ids}
    for path, ids in {**lists, "pages": sandbox.page_ids, "folders": sandbox.folder_ids}.items():
        assert [each["id"] for each in (await wire.get(f"{wire.workspace}/{path}"))["data"]] == [*ids][::-1]
    roles = {each["id"]: each["role"] for each in (await wire.get(f"{wire.workspace}/users"))["data"]}
    assert roles[sandbox.user_ids[0]] == "owner"
    assert {each["role"] for each in (await wire.get("/v1/users"))["data"]} == {"Admin", "Member"}


@spec("4.7:list_credit_usages", "4.7:q", "2.7:remainingCredits", "2.7:amount")
async def test_usages_are_found_by_type_and_text(sandbox: Sandbox, wire: CheckedWire) -> None:
    """Usages of one type come newest first; a text selects by keyword, ignoring case."""
    for keyword in ("Trail shoes", "Tents", "trail maps"):
        await wire.post(f"{wire.workspace}/content-idea-searches", {"keyword": keyword})
    await wire.post(f"/v1/keywords/{sandbox.keyword_ids[0]}/analyze")
    page = await wire.get("/v1/credit-usages?type=content_idea_search&q=TRAIL")
    assert [each["keyword"]["keyword"] for each in page["data"]] == ["trail maps", "Trail shoes"]
    assert [(each["amount"], each["remainingCredits"]) for each in page["data"]] == [(1, 1997), (1, 1999)]
    totals = [await wire.get(f"/v1/credit-usages?type={each}") for each in ("analysis", "ai_writing")]
    assert [page["pagination"]["total"] for page in totals] == [1, 0]
