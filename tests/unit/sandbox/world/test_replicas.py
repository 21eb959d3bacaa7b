"""A replica that lags: reads show what was, whatever was shown before."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cmsapi.sandbox import Behaviour, Fixed, Sandbox
from tests.support.calling import Answer, Caller

pytestmark = pytest.mark.looptime


def lagging(lag: float = 20.0, share: float = 1.0, **settings: Any) -> Caller:
    """Give a caller of a service whose jobs take 100 seconds, and whose reads are late."""
    behaviour = Behaviour(replica_lag=lag, replica_share=share, **settings)
    return Caller(Sandbox(durations=Fixed(100.0), behaviour=behaviour))


async def each(seconds: float, call: Caller, path: str, times: int) -> list[Answer]:
    """Read a path several times, with a pause before each."""
    answers = []
    for _ in range(times):
        await asyncio.sleep(seconds)
        answers.append(await call("GET", path))
    return answers


async def test_the_generation_from_before_is_shown_for_a_while() -> None:
    """After a launch the content shows the generation from before it, and each later state 20 s late."""
    call = lagging()
    content_id = call.sandbox.content_ids[0]
    path = f"/v1/contents/{content_id}"
    ids = []
    for _ in range(2):
        ids.append((await call("POST", f"{path}/atomic", {"settings": {}})).json["id"])
        await asyncio.sleep(110.0)
        shown = [answer.json["status"] for answer in await each(5.0, call, f"{path}/generation", 3)]
        assert shown == ["queued", "review", "review"]
        assert (await call("POST", f"{path}/generation/cancel")).json["status"] == "discarded"
        await asyncio.sleep(30.0)
    await call("POST", f"{path}/atomic", {"settings": {}})
    assert (await call.get(path))["lastGeneration"]["id"] == ids[1]
    newest = call.sandbox.supersede_generation(content_id)
    stale, new = await each(15.0, call, f"{path}/generation", 2)
    assert (stale.json["id"], stale.json["status"], new.json["id"]) == (ids[1], "discarded", newest)


async def test_a_new_generation_and_a_new_search_are_not_found_at_first() -> None:
    """What is new exists for a lagging read only after the lag, although its launch was answered."""
    call = lagging(90.0)
    content = f"/v1/contents/{call.sandbox.content_ids[0]}"
    assert (await call("POST", f"{content}/atomic", {"settings": {}})).status == 202
    started = await call(
        "POST", f"/v1/workspaces/{call.sandbox.workspace_id}/content-idea-searches", {"keyword": "tents"}
    )
    search = f"/v1/content-idea-searches/{started.json['id']}"
    for path in (f"{content}/generation", search, f"{search}/content-ideas"):
        assert (await call("GET", path)).status == 404
    await asyncio.sleep(91.0)
    assert (await call.get(f"{content}/generation"))["status"] == "queued"
    assert (await call.get(search))["status"] == "pending"
    # The search ended nine seconds later, which is shown 90 s after that.
    await asyncio.sleep(60.0)
    assert (await call("GET", f"{search}/content-ideas")).status == 409
    await asyncio.sleep(40.0)
    assert (await call.get(search))["nbContentIdeas"] == (await call.get(f"{search}/content-ideas"))["pagination"][
        "total"
    ]


async def test_an_analysis_is_late_in_lists_too() -> None:
    """Status and timestamp are those of one moment, alone and in a list."""
    call = lagging()
    box, path = call.sandbox, f"/v1/keywords/{call.sandbox.analyzed_keyword_ids[0]}"
    old = await call.get(path)
    await call("POST", f"{path}/analyze")
    listed = f"/v1/pages/{old['pageId']}/keywords?limit=100"

    async def shown() -> tuple[str, str]:
        alone = await call.get(path)
        (item,) = (item for item in (await call.get(listed))["data"] if item["id"] == alone["id"])
        assert item == alone
        return alone["analysisStatus"], alone["lastAnalyzedAt"]

    seen = []
    for pause in (10.0, 15.0, 15.0, 70.0, 15.0):
        await asyncio.sleep(pause)
        seen.append(await shown())
    before = old["lastAnalyzedAt"]
    assert seen[:4] == [("success", before), ("queued", before), ("pending", before), ("pending", before)]
    assert seen[4][0] == "success"
    assert seen[4][1] > before
    assert box.jobs[0].stamp is not None


async def test_the_replica_answers_a_share_of_the_reads() -> None:
    """A state that was seen goes back to the one before it, at moments that depend on the seed."""
    words = []
    for _ in range(2):
        call = lagging(40.0, 0.5)
        path = f"/v1/prompts/{call.sandbox.prompt_ids[0]}"
        await call("POST", f"{path}/analyze")
        words.append([answer.json["analysisStatus"] for answer in await each(1.0, call, path, 12)])
    assert words[0] == words[1]
    assert set(words[0]) == {None, "queued", "pending"}
    assert None in words[0][words[0].index("queued") :]


async def test_a_knowledge_document_appears_late() -> None:
    """A new document is in no list, and then pending after its end."""
    call = lagging()
    listed = f"/v1/workspaces/{call.sandbox.workspace_id}/knowledge-documents?limit=100"
    count = (await call.get(listed))["pagination"]["total"]
    made = await call("POST", listed.partition("?")[0], {"name": "Tone", "text": "Plain"})
    path = f"/v1/knowledge-documents/{made.json['id']}"
    assert [(await call("GET", path)).status, (await call.get(listed))["pagination"]["total"]] == [404, count]
    words = [answer.json["status"] for answer in await each(55.0, call, path, 3)]
    assert words == ["pending", "pending", "success"]
    assert count + 1 == (await call.get(listed))["pagination"]["total"]
