"""Behaviour: clocks that differ, and settings that are refused."""

from __future__ import annotations

import asyncio
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

import pytest

from cmsapi.sandbox import Behaviour, Fixed, Sandbox
from tests.support.calling import Caller

pytestmark = pytest.mark.looptime


async def test_machines_that_answer_have_clocks_of_their_own() -> None:
    """`Date` is ahead by a number, or by several in turn; the sandbox's own clock is not."""
    box = Sandbox(behaviour=Behaviour(date_ahead=(3, -4)))
    call = Caller(box)
    heard = [
        parsedate_to_datetime((await call("GET", "/v1/me")).headers["Date"]).timestamp() - box.now() for _ in range(4)
    ]
    assert heard == pytest.approx([3, -4, 3, -4], abs=1.0)


async def test_machines_that_store_have_clocks_of_their_own() -> None:
    """Stamps of usages and analyses are ahead by their own numbers, and usages are listed by their stamps."""
    box = Sandbox(behaviour=Behaviour(stamps_ahead=(0, -60)), durations=Fixed(5.0))
    call = Caller(box)
    for keyword_id in box.keyword_ids[:2]:
        await call("POST", f"/v1/keywords/{keyword_id}/analyze")
    began = box.now()
    usages = (await call.get("/v1/credit-usages?type=analysis"))["data"][:2]
    stamps = [datetime.fromisoformat(usage["createdAt"]).timestamp() - began for usage in usages]
    assert stamps == pytest.approx([0, -60], abs=0.1)
    assert usages[0]["remainingCredits"] == usages[1]["remainingCredits"] + 1
    await asyncio.sleep(6.0)
    ends = [(await call.get(f"/v1/keywords/{each}"))["lastAnalyzedAt"] for each in box.keyword_ids[:2]]
    assert [datetime.fromisoformat(end).timestamp() - began for end in ends] == pytest.approx([5, -55], abs=0.1)


async def test_status_words_may_be_written_otherwise() -> None:
    """The chosen writings appear in launches, reads and lists; other words stay."""
    words = {"queued": "WAITING", "pending": " Running ", "success": "COMPLETED", "review": None}
    box = Sandbox(behaviour=Behaviour(words=words), durations=Fixed(100.0))
    call, keyword, content = Caller(box), f"/v1/keywords/{box.keyword_ids[0]}", f"/v1/contents/{box.content_ids[0]}"
    await call("POST", f"{keyword}/analyze")
    launched = await call("POST", f"{content}/atomic", {"settings": {}})
    searched = await call("POST", f"/v1/workspaces/{box.workspace_id}/content-idea-searches", {"keyword": "tents"})
    assert (launched.json["status"], searched.json["status"]) == ("WAITING", " Running ")
    seen = []
    for _ in range(3):
        seen.append((await call.get(keyword))["analysisStatus"])
        await asyncio.sleep(60.0)
    assert seen == ["WAITING", " Running ", "COMPLETED"]
    assert (await call.get(content))["lastGeneration"]["status"] is None
    (item, *_) = (await call.get(f"/v1/pages/{(await call.get(keyword))['pageId']}/keywords"))["data"]
    assert item["analysisStatus"] in ("COMPLETED", None)


@pytest.mark.parametrize(
    "wrong",
    [
        {"date_ahead": ()},
        {"usage_keyword": ["upper"]},
        {"usage_country": "upper"},
        {"replica_lag": -1},
        {"replica_share": 1.5},
        {"ideas": -1},
        {"ideas_lag": -1},
        {"ideas_cap": -1},
        {"item_ids": {"list_users": "odd"}},
        {"has_more": "maybe"},
        {"total": "maybe"},
    ],
)
def test_nonsense_is_refused(wrong: dict[str, Any]) -> None:
    """A setting outside its range is refused, and the message names it."""
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Behaviour(**wrong)
