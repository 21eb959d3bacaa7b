"""Controls: a test changes the service beside the requests of its clients."""

from __future__ import annotations

import asyncio

import pytest

from cmsapi.sandbox import Sandbox
from tests.support.calling import Caller


async def test_status_words_can_be_anything(box: Sandbox, call: Caller) -> None:
    """A test can show an unknown word or null instead of the true status."""
    path = f"/v1/keywords/{box.analyzed_keyword_ids[0]}"
    for word in ("simmering", None):
        box.set_status_word(box.analyzed_keyword_ids[0], word)
        assert word == (await call.get(path))["analysisStatus"]
    box.clear_status_word(box.analyzed_keyword_ids[0])
    assert (await call.get(path))["analysisStatus"] == "success"


async def test_resources_can_be_forgotten(box: Sandbox, call: Caller) -> None:
    """A forgotten resource is not found until it is remembered, neither by path nor by reference."""
    for id_, path in (
        (box.keyword_ids[0], f"/v1/keywords/{box.keyword_ids[0]}"),
        (box.workspace_id, f"/v1/workspaces/{box.workspace_id}"),
    ):
        box.forget(id_)
        assert (await call("GET", path)).status == 404
        box.remember(id_)
        assert (await call("GET", path)).status == 200


@pytest.mark.looptime
async def test_an_outcome_may_hold_once(box: Sandbox, call: Caller) -> None:
    """With `times` only the next jobs of the target end so; without, all do until it is left to chance again."""

    async def ends(count: int) -> list[str]:
        words = []
        for _ in range(count):
            await call("POST", f"/v1/keywords/{box.keyword_ids[0]}/analyze")
            await asyncio.sleep(1000)
            words.append((await call.get(f"/v1/keywords/{box.keyword_ids[0]}"))["analysisStatus"])
        return words

    box.set_outcome(box.keyword_ids[0], "failed", times=2)
    assert await ends(3) == ["failed", "failed", "success"]
    box.set_outcome(box.keyword_ids[0], "failed")
    assert await ends(2) == ["failed", "failed"]
    box.set_outcome(box.keyword_ids[0], None)
    assert await ends(1) == ["success"]
    with pytest.raises(ValueError, match="`times` must be at least 1"):
        box.set_outcome(box.keyword_ids[0], "failed", times=0)
