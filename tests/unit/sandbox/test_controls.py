"""Controls: a test changes the service beside the requests of its clients."""

from __future__ import annotations

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
