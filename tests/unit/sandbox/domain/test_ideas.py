"""Content-idea searches (specification, sections 2.6 and 4.6)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cmsapi.sandbox import Behaviour, Fixed, Sandbox
from tests.support.calling import Caller

pytestmark = pytest.mark.looptime


async def search(call: Caller) -> tuple[str, Any]:
    """Start a search and return its path and its record."""
    path = f"/v1/workspaces/{call.sandbox.workspace_id}/content-idea-searches"
    started = await call("POST", path, {"keyword": "trail running"})
    assert started.status == 202
    return f"/v1/content-idea-searches/{started.json['id']}", started.json


async def test_a_search_finds_ideas() -> None:
    """A search is pending without results, then a success with the number of ideas that it reports."""
    box = Sandbox(durations=Fixed(60.0))
    call = Caller(box)
    path, started = await search(call)
    assert (
        started["keyword"],
        started["status"],
        started["nbContentIdeas"],
        started["searchVolume"],
    ) == ("trail running", "pending", None, None)
    assert started == await call.get(path)
    await asyncio.sleep(60)
    found = await call.get(path)
    ideas = await call.get(f"{path}/content-ideas?limit=100")
    assert ("success", len(ideas["data"])) == (found["status"], found["nbContentIdeas"])
    assert found["searchVolume"] > 0
    assert {"2026-01-01T00:01:00.000Z"} == {idea["createdAt"] for idea in ideas["data"]}
    assert all("trail running" in idea["keyword"] for idea in ideas["data"])


@pytest.mark.parametrize(("setting", "status"), [("conflict", 409), ("empty", 200)])
async def test_ideas_before_success(setting: str, status: int) -> None:
    """Reading ideas of an unfinished or failed search is a conflict, or an empty page with that setting."""
    box = Sandbox(failures={"idea_search": 1.0}, behaviour=Behaviour(ideas_before_success=setting))  # type: ignore[arg-type]
    call = Caller(box)
    path, _ = await search(call)
    assert status == (await call("GET", f"{path}/content-ideas")).status
    await asyncio.sleep(10_000)
    assert (await call.get(path))["status"] == "failed"
    answer = await call("GET", f"{path}/content-ideas")
    assert status == answer.status
    assert status == 409 or answer.json["data"] == []


async def test_ideas_are_listed_late() -> None:
    """After the success the list is empty, then grows until it has the number that the search tells."""
    box = Sandbox(durations=Fixed(60.0), behaviour=Behaviour(ideas_lag=20.0))
    call = Caller(box)
    path, _ = await search(call)
    await asyncio.sleep(60.0)
    told = (await call.get(path))["nbContentIdeas"]
    counts = []
    for _ in range(3):
        page = await call.get(f"{path}/content-ideas?limit=100")
        counts.append((len(page["data"]), page["pagination"]["total"], page["pagination"]["hasMore"]))
        await asyncio.sleep(10.0)
    assert counts == [(0, 0, False), (told // 2, told // 2, False), (told, told, False)]


@pytest.mark.parametrize("count", [0, 50, 300])
async def test_a_search_finds_a_chosen_number_of_ideas(count: int) -> None:
    """The number may be more than a page holds, and the ideas differ."""
    box = Sandbox(durations=Fixed(60.0), behaviour=Behaviour(ideas=count))
    call = Caller(box)
    path, _ = await search(call)
    await asyncio.sleep(60.0)
    assert (await call.get(path))["nbContentIdeas"] == count
    pages = [(await call.get(f"{path}/content-ideas?limit=100&page={page}"))["data"] for page in (1, 2, 3, 4)]
    assert len({idea["keyword"] for page in pages for idea in page}) == count


async def test_a_list_of_ideas_may_be_cut() -> None:
    """The list ends after the cap, and says that this was all."""
    box = Sandbox(durations=Fixed(60.0), behaviour=Behaviour(ideas_cap=3))
    call = Caller(box)
    path, _ = await search(call)
    await asyncio.sleep(60.0)
    page = await call.get(f"{path}/content-ideas")
    assert (await call.get(path))["nbContentIdeas"] > 3
    assert (len(page["data"]), page["pagination"]["hasMore"]) == (3, False)
