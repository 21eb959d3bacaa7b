"""Pages of a list: size, order and end (specification, section 1)."""

from __future__ import annotations

from typing import Any

import pytest

from cmsapi.sandbox import Behaviour, Sandbox
from tests.support.calling import Caller


async def test_pages_of_a_collection_cover_it_once(box: Sandbox, call: Caller) -> None:
    """The pages together have each item once; `hasMore` marks the last one."""
    path = f"/v1/workspaces/{box.workspace_id}/pages?limit=5"
    listed = await call.get(path)
    seen, page = [item["id"] for item in listed["data"]], 1
    while listed["pagination"]["hasMore"]:
        page += 1
        listed = await call.get(f"{path}&page={page}")
        seen += [item["id"] for item in listed["data"]]
    assert sorted(box.page_ids) == sorted(seen)
    assert len(seen) == listed["pagination"]["total"]
    beyond = await call.get(f"/v1/workspaces/{box.workspace_id}/pages?page={10**30}")
    assert (beyond["data"], beyond["pagination"]["hasMore"]) == ([], False)


async def test_the_default_page_holds_twenty_five() -> None:
    """`limit` is 25 by default and 100 at most."""
    box = Sandbox(contents=120)
    call = Caller(box)
    path = f"/v1/workspaces/{box.workspace_id}/contents"
    assert len((await call.get(path))["data"]) == 25
    assert len((await call.get(f"{path}?limit=100"))["data"]) == 100


@pytest.mark.parametrize("order", ["newest", "oldest"])
async def test_lists_have_an_order(order: str) -> None:
    """Lists are newest first, or oldest first with that setting."""
    box = Sandbox(behaviour=Behaviour(order=order))  # type: ignore[arg-type]
    call = Caller(box)
    dates = [item["createdAt"] for item in (await call.get(f"/v1/workspaces/{box.workspace_id}/contents"))["data"]]
    folders = [item["id"] for item in (await call.get(f"/v1/workspaces/{box.workspace_id}/folders"))["data"]]
    assert sorted(dates, reverse=order == "newest") == dates
    assert list(box.folder_ids) == (folders[::-1] if order == "newest" else folders)


@pytest.mark.parametrize(
    ("setting", "shown"),
    [
        ({}, {"page": 1, "limit": 2, "total": 5, "hasMore": True}),
        ({"has_more": "null"}, {"page": 1, "limit": 2, "total": 5, "hasMore": None}),
        ({"has_more": "absent"}, {"page": 1, "limit": 2, "total": 5}),
        ({"total": "absent"}, {"page": 1, "limit": 2, "hasMore": True}),
    ],
)
async def test_pages_may_tell_less(setting: dict[str, Any], shown: dict[str, Any]) -> None:
    """`hasMore` and `total` may be left out, and `hasMore` may be null."""
    box = Sandbox(behaviour=Behaviour(**setting))
    assert (await Caller(box).get("/v1/users?limit=2"))["pagination"] == shown


@pytest.mark.parametrize("how", ["absent", "null", "number"])
async def test_items_may_lack_their_identifier(how: Any) -> None:
    """Items of the chosen list have no identifier, null or a number; other lists and single reads have theirs."""
    box = Sandbox(behaviour=Behaviour(item_ids={"list_prompts": how}))
    call = Caller(box)
    (item, *_) = (await call.get(f"/v1/keywords/{box.analyzed_keyword_ids[0]}/prompts"))["data"]
    assert (how == "absent", how == "null") == ("id" not in item, item.get("id", 0) is None)
    assert how != "number" or isinstance(item["id"], int)
    assert (await call.get(f"/v1/prompts/{box.prompt_ids[0]}"))["id"] == box.prompt_ids[0]
    assert isinstance((await call.get("/v1/users"))["data"][0]["id"], str)


@pytest.mark.parametrize("order", ["newest", "oldest"])
async def test_a_list_may_never_end(order: Any) -> None:
    """Each page is full and has new identifiers, and there is always another."""
    box = Sandbox(behaviour=Behaviour(endless_lists={"list_users"}, order=order))
    call = Caller(box)
    honest = [item["id"] for item in (await Caller(Sandbox(behaviour=Behaviour(order=order))).get("/v1/users"))["data"]]
    pages = [await call.get(f"/v1/users?limit=7&page={page}") for page in (1, 2, 1000)]
    ids = [item["id"] for page in pages for item in page["data"]]
    assert len(ids) == len(set(ids)) == 21
    assert ids[:5] == honest
    assert all(page["pagination"]["hasMore"] and page["pagination"]["total"] == 5 for page in pages)
    assert not (await call.get(f"/v1/workspaces/{box.workspace_id}/pages?limit=100"))["pagination"]["hasMore"]
