"""Contents: creation, changes under optimistic locking, publication (specification, sections 2.4, 4.3 and 9)."""

from __future__ import annotations

import asyncio

import pytest

from cmsapi.sandbox import Behaviour, Sandbox
from tests.support.calling import Caller

pytestmark = pytest.mark.looptime
SHORT = (
    "assignedTo contentScore contentStatus contentUpdatedAt createdAt dueDate folder id page publishedAt title type "
    "updatedAt wordsCount"
)


async def test_a_blank_draft_comes_with_an_empty_page(box: Sandbox, call: Caller) -> None:
    """Without `pageId` an empty page is created and returned."""
    created = await call("POST", f"/v1/workspaces/{box.workspace_id}/contents", {"title": "Blank"})
    draft = created.json
    assert (
        created.status,
        draft["type"],
        draft["version"],
        draft["isStarted"],
        draft["html"],
    ) == (201, "DRAFT", 1, False, "")
    page = await call.get(f"/v1/pages/{draft['page']['id']}")
    assert (page["url"], draft["page"]["url"]) == (None, None)
    assert draft["contentScore"] is None
    assert draft == await call.get(f"/v1/contents/{draft['id']}")


@pytest.mark.parametrize("status", [422, 404])
@pytest.mark.parametrize("field", ["folderId", "pageId", "assignedToId", "contentStatusId"])
async def test_unknown_references_are_named(field: str, status: int) -> None:
    """A reference to nothing is a 422 naming the field, or a 404 with that setting."""
    box = Sandbox(behaviour=Behaviour(unknown_reference=status))  # type: ignore[arg-type]
    body = {"title": "x", field: "none"}
    answer = await Caller(box)("POST", f"/v1/workspaces/{box.workspace_id}/contents", body)
    assert (status, field) == (answer.status, answer.message.split(":")[0])


async def test_a_list_is_short(box: Sandbox, call: Caller) -> None:
    """Items of a list lack the body and the version."""
    (item,) = (await call.get(f"/v1/workspaces/{box.workspace_id}/contents?limit=1"))["data"]
    assert SHORT.split() == sorted(item)


async def test_a_list_can_be_filtered(box: Sandbox, call: Caller) -> None:
    """Filters are assignee, score and one or several statuses."""
    path = f"/v1/workspaces/{box.workspace_id}/contents"
    everything = (await call.get(path))["data"]
    first, second, third, _ = box.content_status_ids
    for query, wanted in (
        (f"assignedToId={box.user_ids[1]}", lambda item: item["assignedTo"]["id"] == box.user_ids[1]),
        ("contentScore=0", lambda item: item["contentScore"] == 0),
        ("contentScore[gte]=1", lambda item: item["contentScore"] >= 1),
        ("contentScore%5Blte%5D=0", lambda item: item["contentScore"] <= 0),
        (f"contentStatusId={first}", lambda item: item["contentStatus"]["id"] == first),
        (
            f"contentStatusId[]={second}&contentStatusId[]={third}",
            lambda item: item["contentStatus"]["id"] in (second, third),
        ),
        (
            f"contentStatusId={second}&contentStatusId={third}",
            lambda item: item["contentStatus"]["id"] in (second, third),
        ),
        ("contentStatusId=none", lambda item: False),
    ):
        assert list(filter(wanted, everything)) == (await call.get(f"{path}?{query}"))["data"]
    assert (await call("GET", f"{path}?contentScore[gte]=high")).status == 400


async def test_a_change_needs_the_current_version(box: Sandbox, call: Caller) -> None:
    """No version is a 422, a stale one a 409, the current one raises it."""
    path = f"/v1/contents/{box.content_ids[0]}"
    missing = await call("PATCH", path, {"title": "New"})
    assert (missing.status, missing.message.split(":")[0]) == (422, "version")
    changed = await call("PATCH", path, {"title": "New", "version": 1})
    assert (changed.json["title"], changed.json["version"]) == ("New", 2)
    stale = await call("PATCH", path, {"title": "Newer", "version": 1})
    assert (stale.status, stale.code) == (409, "conflict")
    assert changed.json == await call.get(path)


async def test_only_a_changed_body_moves_its_date(box: Sandbox, call: Caller) -> None:
    """`contentUpdatedAt` and `contentUpdatedBy` follow the body, `updatedAt` every change."""
    path = f"/v1/contents/{box.content_ids[1]}"
    before = await call.get(path)
    await asyncio.sleep(60)
    titled = (await call("PATCH", path, {"version": 1, "title": "Other"})).json
    assert before["contentUpdatedAt"] == titled["contentUpdatedAt"]
    assert titled["updatedAt"] == "2026-01-01T00:01:00.000Z"
    written = (await call("PATCH", path, {"version": 2, "html": "<p>new</p>"})).json
    assert ("2026-01-01T00:01:00.000Z", box.user_ids[0], 1) == (
        written["contentUpdatedAt"],
        written["contentUpdatedBy"]["id"],
        written["wordsCount"],
    )


async def test_null_clears_optional_fields(box: Sandbox, call: Caller) -> None:
    """Every optional field can be cleared; the title cannot."""
    path = f"/v1/contents/{box.content_ids[1]}"
    due = await call("PATCH", path, {"version": 1, "dueDate": "2026-03-01"})
    assert due.json["dueDate"] == "2026-03-01T00:00:00.000Z"
    fields = ("assignedToId", "contentStatusId", "dueDate", "folderId", "html", "metaDescription")
    cleared = (await call("PATCH", path, {"version": 2, **dict.fromkeys(fields)})).json
    names = ("assignedTo", "contentStatus", "dueDate", "folder", "metaDescription")
    assert [cleared[name] for name in names] == [None] * 5
    assert (
        cleared["html"],
        cleared["isStarted"],
        cleared["wordsCount"],
        cleared["contentScore"],
    ) == ("", False, 0, 0)
    assert (await call("PATCH", path, {"version": 3, "title": None})).status == 422


async def test_scores_spread(box: Sandbox, call: Caller) -> None:
    """The texts of a sandbox are of different worth: neither all perfect nor in two groups."""
    found = (await call.get(f"/v1/workspaces/{box.workspace_id}/contents"))["data"]
    scores = [content["contentScore"] for content in found if content["contentScore"]]
    assert len(set(scores)) >= 4
    assert max(scores) < 95
    assert max(scores) - min(scores) > 10
