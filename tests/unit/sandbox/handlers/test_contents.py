"""Contents and their generations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cmsapi.sandbox import Sandbox
from cmsapi.sandbox.drafts import sanitize
from tests.support.spec import spec
from tests.unit.sandbox.conftest import CheckedWire

pytestmark = pytest.mark.looptime

MARKERS = {
    "<p>a<!-- two\nlines --> b</p>": "<p>a b</p>",
    '<span data-comment="1">a</span>': "a",
    "<mark data-fact-check='x'>a</mark> <mark>b</mark>": "a <mark>b</mark>",
    '<SPAN class="x" data-comment="1">a <span>b</span> c</SPAN>': "a <span>b</span> c",
    '<span>a <mark data-fact-check="1">b</mark></span>': "<span>a b</span>",
    "</span>a<!-- open": "</span>a<!-- open",
}


@spec("2.4:htmlSanitized")
@pytest.mark.parametrize("html", MARKERS)
def test_markers_go_and_their_text_stays(html: str) -> None:
    """Comments and the editor's two markers are removed, other tags are kept, and pairs stay pairs."""
    assert sanitize(html) == MARKERS[html]


@spec("4.3:create_content", "4.3.1", "4.3.3", "4.3:assignedToId", "4.3:contentStatusId", "4.3:dueDate", "4.3:folderId")
@spec("4.3:html", "4.3:metaDescription", "4.3:pageId")
async def test_a_draft_has_what_was_given(sandbox: Sandbox, wire: CheckedWire) -> None:
    """A draft on a page has the page, the body and all optional fields; a date without a zone is UTC."""
    body = {"title": "Trail shoes", "html": "<p>Two <!-- a comment -->words</p>", "metaDescription": "About shoes"}
    page, folder, user, status = (
        each[0] for each in (sandbox.page_ids, sandbox.folder_ids, sandbox.user_ids, sandbox.content_status_ids)
    )
    references = {"pageId": page, "folderId": folder, "assignedToId": user, "contentStatusId": status}
    optional = {**references, "dueDate": "2031-05-01T12:00:00"}
    content = await wire.post(f"{wire.workspace}/contents", {**body, **optional})
    assert (content["type"], content["version"], content["isStarted"], content["wordsCount"]) == ("DRAFT", 1, True, 2)
    assert (content["htmlSanitized"], content["dueDate"]) == ("<p>Two words</p>", "2031-05-01T12:00:00.000Z")
    assert [content[name] for name in ("title", "html", "metaDescription")] == [*body.values()]
    shown = [content[name]["id"] for name in ("page", "folder", "assignedTo", "contentStatus", "contentUpdatedBy")]
    assert shown == [page, folder, user, status, user]


@spec("4.3.2")
async def test_a_draft_without_a_page_gets_an_empty_one(wire: CheckedWire) -> None:
    """A blank draft gets a new page without an address, and has no body, score or generation."""
    content = await wire.post(f"{wire.workspace}/contents", {"title": "Brief"})
    assert (content["isStarted"], content["contentScore"], content["lastGeneration"]) == (False, None, None)
    assert await wire.get(f"/v1/pages/{content['page']['id']}") == {**content["page"], "url": None}
    assert await wire.status("GET", f"/v1/contents/{content['id']}/generation") == 404
    assert (await wire.refusal("POST", f"/v1/contents/{content['id']}/atomic", {"settings": {}}))[1] == "conflict"


@spec("9.4", "7:409")
async def test_an_update_needs_the_current_version(sandbox: Sandbox, wire: CheckedWire) -> None:
    """Each update increases the version; a stale one is a 409 and changes nothing; words and score follow the body."""
    path = f"/v1/contents/{sandbox.content_ids[1]}"
    before = await wire.get(path)
    updated = (await wire.send("PATCH", path, {"version": 1, "title": "New", "folderId": None})).json()
    assert updated == {**before, "title": "New", "folder": None, "version": 2, "updatedAt": updated["updatedAt"]}
    assert (await wire.refusal("PATCH", path, {"version": 1, "title": "Stale"}))[:2] == (409, "conflict")
    assert await wire.get(path) == updated
    longer = (await wire.send("PATCH", path, {"version": 2, "html": "word " * 80})).json()
    assert (longer["wordsCount"], longer["contentScore"]) == (80, 10)
    empty = (await wire.send("PATCH", path, {"version": 3, "html": None})).json()
    assert (empty["isStarted"], empty["contentScore"], empty["htmlSanitized"]) == (False, None, "")


@pytest.mark.parametrize("body", [None, {}, {"url": "https://www.northwind.example/shoes"}])
async def test_publishing_marks_a_content(sandbox: Sandbox, wire: CheckedWire, body: Any) -> None:
    """A published content shows when, by whom and, if given, at which address it was published."""
    content = await wire.post(f"/v1/contents/{sandbox.content_ids[1]}/publish", body)
    assert (content["type"], content["publishedBy"]["id"], content["version"]) == ("PUBLISHED", sandbox.user_ids[0], 2)
    assert content["publishedAt"] is not None
    assert content["page"]["url"] == (body or {}).get("url", "https://www.northwind.example/cheap-running-shoes")


@spec("4.3:delete_content", "4.3:delete_page")
async def test_deletions_are_for_good(sandbox: Sandbox, wire: CheckedWire) -> None:
    """A deleted content is gone; a page goes with its contents, keywords and prompts."""
    content, other = sandbox.content_ids[:2]
    page = (await wire.get(f"/v1/contents/{other}"))["page"]["id"]
    for path in (f"contents/{content}", f"pages/{page}"):
        assert (await wire.send("DELETE", f"/v1/{path}")).body == b"null"
    paths = [f"contents/{content}", f"contents/{other}", f"pages/{page}", f"prompts/{sandbox.prompt_ids[1]}"]
    for path in [*paths, f"keywords/{sandbox.analyzed_keyword_ids[1]}"]:
        assert await wire.status("GET", f"/v1/{path}") == 404


@spec("1.3", "1.4")
async def test_lists_have_short_contents_newest_first(sandbox: Sandbox, wire: CheckedWire) -> None:
    """The pages of a list divide one order, and their items lack bodies and versions."""
    pages = [await wire.get(f"{wire.workspace}/contents?page={number}&limit=2") for number in (1, 2, 3, 4)]
    assert [each["id"] for page in pages for each in page["data"]] == [*sandbox.content_ids][::-1]
    assert [page["pagination"]["hasMore"] for page in pages] == [True, True, False, False]
    assert pages[0]["pagination"] == {"total": 5, "page": 1, "limit": 2, "hasMore": True}
    assert not {"html", "htmlSanitized", "version", "lastGeneration", "isStarted"} & pages[0]["data"][0].keys()


async def test_lists_are_filtered(sandbox: Sandbox, wire: CheckedWire) -> None:
    """User, score and status select contents; several statuses are written with brackets."""
    contents = (await wire.get(f"{wire.workspace}/contents"))["data"]
    user, (first, second, *_) = sandbox.user_ids[1], sandbox.content_status_ids
    filters: dict[str, Callable[[Any], bool]] = {
        f"assignedToId={user}": lambda each: each["assignedTo"]["id"] == user,
        "contentScore=36": lambda each: each["contentScore"] == 36,
        "contentScore[gte]=36&contentScore[lte]=99": lambda each: 36 <= (each["contentScore"] or 0) <= 99,
        f"contentStatusId={first}": lambda each: each["contentStatus"]["id"] == first,
        f"contentStatusId[]={first}&contentStatusId[]={second}": lambda each: each["contentStatus"]["position"] < 2,
    }
    for query, matches in filters.items():
        expected = [each for each in contents if matches(each)]
        assert (await wire.get(f"{wire.workspace}/contents?{query}"))["data"] == expected
        assert 0 < len(expected) < len(contents)


@spec("3:generation-confirm", "3:generation-cancel", "4.4.2", "4.4.1", "4.4:factCheckingEnabled")
@pytest.mark.parametrize(("decision", "status"), [("confirm", "applied"), ("cancel", "discarded")])
async def test_a_review_is_decided_once(sandbox: Sandbox, wire: CheckedWire, decision: str, status: str) -> None:
    """Confirming applies the body with a new version, cancelling leaves it; neither works outside a review."""
    path, is_confirmed = f"/v1/contents/{sandbox.content_ids[0]}", decision == "confirm"
    before = await wire.get(path)
    launched = await wire.post(f"{path}/atomic", {"settings": {"factCheckingEnabled": True}})
    assert launched["status"] == "queued"
    assert (await wire.refusal("POST", f"{path}/generation/{decision}"))[1] == "conflict"
    sandbox.finish(sandbox.content_ids[0])
    assert await wire.post(f"{path}/generation/{decision}") == {"id": launched["id"], "status": status}
    assert await wire.status("POST", f"{path}/generation/{decision}") == 409
    after = await wire.get(path)
    assert (after["lastGeneration"]["id"], after["lastGeneration"]["status"]) == (launched["id"], status)
    assert after["version"] - before["version"] == is_confirmed
    assert ("data-fact-check" in after["html"], "data-fact-check" in after["htmlSanitized"]) == (is_confirmed, False)
