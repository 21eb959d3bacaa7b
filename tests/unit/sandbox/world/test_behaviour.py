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


@pytest.mark.parametrize("wrong", [{"date_ahead": ()}, {"usage_keyword": ["upper"]}, {"usage_country": "upper"}])
def test_nonsense_is_refused(wrong: dict[str, Any]) -> None:
    """A behaviour has at least one clock, and only known spellings."""
    with pytest.raises(ValueError, match=r"date_ahead|in"):
        Behaviour(**wrong)
