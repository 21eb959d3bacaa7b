"""Keywords and their analysis (specification, section 4.5)."""

from __future__ import annotations

import asyncio

import pytest

from cmsapi.sandbox import Fixed, Sandbox

pytestmark = pytest.mark.looptime


async def test_an_analysis_runs_through_its_words(caller) -> None:
    """An analysis is queued, then pending, then a success whose moment is the end of the job."""
    box = Sandbox(durations=Fixed(100.0))
    call, keyword_id = caller(box), box.keyword_ids[0]
    words = [(await call.get(f"/v1/keywords/{keyword_id}"))["analysisStatus"]]
    launched = await call("POST", f"/v1/keywords/{keyword_id}/analyze")
    assert launched.status == 202
    for _ in range(3):
        words.append((await call.get(f"/v1/keywords/{keyword_id}"))["analysisStatus"])
        await asyncio.sleep(50)
    keyword = await call.get(f"/v1/keywords/{keyword_id}")
    assert words == [None, "queued", "pending", "success"]
    assert keyword["lastAnalyzedAt"] == "2026-01-01T00:01:40.000Z"
