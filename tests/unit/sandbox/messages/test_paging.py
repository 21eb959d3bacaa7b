"""Pages of a list: size, order and end (specification, section 1)."""

from __future__ import annotations

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
