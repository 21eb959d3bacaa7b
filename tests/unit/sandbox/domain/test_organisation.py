"""Users, workspaces and what belongs to them (specification, sections 2 and 4)."""

from __future__ import annotations

from cmsapi.sandbox import Credits, Sandbox
from tests.support.calling import Caller


async def test_me_shows_the_organisation_with_its_balances() -> None:
    """The user contains the organisation, which contains the three balances."""
    box = Sandbox(credits=Credits(analysis=5, ai_writing=6, content_ideas_searches=7))
    me = await Caller(box).get("/v1/me")
    assert me["organization"]["credits"] == {"analysis": 5, "aiWriting": 6, "contentIdeasSearches": 7}
    assert (me["organization"]["usersCount"], me["organization"]["workspacesCount"]) == (5, 1)


async def test_roles_have_other_words_in_a_workspace(box: Sandbox, call: Caller) -> None:
    """Members of the organisation are `Admin` or `Member`; a workspace has roles of its own."""
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
