"""Searches of ideas whose answer is lost, beside others: what is known by name explains its own charge and no other."""

from __future__ import annotations

import asyncio

import pytest

import cmsapi
from cmsapi.sandbox import Fault, Fixed, Sandbox
from tests.support.launches import rely_on_books
from tests.support.resources import client_of

pytestmark = pytest.mark.looptime

SEARCHES = "POST /v1/workspaces/*/content-idea-searches"


def box(when: str) -> Sandbox:
    """Give a service that loses the first search that is launched after a hundred seconds."""
    fault = Fault(match=SEARCHES, drop=True, when=when, between=(100.0, 1e9))  # type: ignore[arg-type]
    return Sandbox(durations=Fixed(300.0), faults=fault)


async def begun(client: cmsapi.Client, before: float = 0.5) -> None:
    """Let the service's time be known, and wait until so many seconds before the hundredth."""
    await client.me()
    await asyncio.sleep(100.0 - before)


async def test_a_search_that_did_not_arrive_is_sent_again() -> None:
    """The only charge since is that of another search, which is known by name: the lost one was not launched."""
    sandbox = box("before")
    async with client_of(sandbox) as client:
        await rely_on_books(sandbox)
        await begun(client)
        known = await client.content_ideas.search(sandbox.workspace_id, "boots")
        await asyncio.sleep(1.0)
        lost = await client.content_ideas.search(sandbox.workspace_id, "tents")
        assert known.id != lost.id
    assert len(sandbox.ledger.launches()) == 2


async def test_a_search_that_was_charged_is_not_sent_again() -> None:
    """Two charges and one search that is known by name: the other charge is that of the lost one."""
    sandbox = box("after")
    async with client_of(sandbox) as client:
        await begun(client)
        await client.content_ideas.search(sandbox.workspace_id, "tents")
        await asyncio.sleep(1.0)
        with pytest.raises(cmsapi.LaunchUnknownError):
            await client.content_ideas.search(sandbox.workspace_id, "tents")
    assert len(sandbox.ledger.launches()) == 2


@pytest.mark.parametrize(("keyword", "before"), [("boots", 1.0), ("tents", 60.0)], ids=["another", "earlier"])
async def test_what_explains_nothing(keyword: str, before: float) -> None:
    """A search of something else, or of an earlier time, does not explain what was charged for the lost one."""
    sandbox = box("after")
    async with client_of(sandbox) as client:
        await begun(client, before)
        await client.content_ideas.search(sandbox.workspace_id, keyword)
        await asyncio.sleep(before + 0.5)
        with pytest.raises(cmsapi.LaunchUnknownError):
            await client.content_ideas.search(sandbox.workspace_id, "tents")
    assert len(sandbox.ledger.launches()) == 2
