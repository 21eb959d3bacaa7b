"""Users, workspaces and what belongs to them (specification, sections 2 and 4)."""

from __future__ import annotations

import pytest

from cmsapi.sandbox import Behaviour, Credits, Sandbox
from tests.support.calling import Caller


async def test_me_shows_the_organisation_with_its_balances() -> None:
    """The user carries the organisation, and that the three balances."""
    box = Sandbox(credits=Credits(analysis=5, ai_writing=6, content_ideas_searches=7))
    me = await Caller(box).get("/v1/me")
    assert me["organization"]["credits"] == {"analysis": 5, "aiWriting": 6, "contentIdeasSearches": 7}
    assert (me["organization"]["usersCount"], me["organization"]["workspacesCount"]) == (5, 1)


async def test_roles_have_other_words_in_a_workspace(box: Sandbox, call: Caller) -> None:
    """Members of the organisation are `Admin` or `Member`; a workspace has words of its own."""
    users = await call.get("/v1/users")
    members = await call.get(f"/v1/workspaces/{box.workspace_id}/users")
    assert {"Admin", "Member"} == {user["role"] for user in users["data"]}
    assert "owner" in {member["role"] for member in members["data"]}
    assert set(box.user_ids) == {user["id"] for user in users["data"]}


async def test_only_own_workspaces_are_listed(box: Sandbox, call: Caller) -> None:
    """A foreign workspace is in no list."""
    listed = await call.get("/v1/workspaces")
    assert [box.workspace_id] == [workspace["id"] for workspace in listed["data"]]
    assert listed["data"][0] == await call.get(f"/v1/workspaces/{box.workspace_id}")


async def test_statuses_and_brand_voices_can_be_read(box: Sandbox, call: Caller) -> None:
    """Workflow statuses come by position, brand voices one by one as well."""
    statuses = (await call.get(f"/v1/workspaces/{box.workspace_id}/content-statuses"))["data"]
    voices = (await call.get(f"/v1/workspaces/{box.workspace_id}/brand-voices"))["data"]
    assert list(box.content_status_ids) == [status["id"] for status in statuses]
    assert voices[0] == await call.get(f"/v1/brand-voices/{voices[0]['id']}")


async def test_pages_of_a_collection_cover_it_once(box: Sandbox, call: Caller) -> None:
    """Walking the pages gives every item once; `hasMore` says when to stop."""
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
    """Lists are newest first, or oldest first where set so."""
    box = Sandbox(behaviour=Behaviour(order=order))  # type: ignore[arg-type]
    call = Caller(box)
    dates = [item["createdAt"] for item in (await call.get(f"/v1/workspaces/{box.workspace_id}/contents"))["data"]]
    folders = [item["id"] for item in (await call.get(f"/v1/workspaces/{box.workspace_id}/folders"))["data"]]
    assert sorted(dates, reverse=order == "newest") == dates
    assert list(box.folder_ids) == (folders[::-1] if order == "newest" else folders)
