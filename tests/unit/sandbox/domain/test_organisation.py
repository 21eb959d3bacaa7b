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
