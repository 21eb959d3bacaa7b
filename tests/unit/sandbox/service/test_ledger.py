"""The ledger: each request with its effect, and never a secret."""

from __future__ import annotations

import asyncio

import pytest

from cmsapi.sandbox import Sandbox
from tests.support.calling import Caller

pytestmark = pytest.mark.looptime


async def test_an_entry_tells_what_happened(box: Sandbox, call: Caller) -> None:
    """Arrival on the loop's clock, operation, key's label, status, target and effect are in the entry."""
    await asyncio.sleep(3)
    keyword_id = box.keyword_ids[0]
    await call("POST", f"/v1/keywords/{keyword_id}/analyze")
    (entry,) = box.ledger
    assert asyncio.get_running_loop().time() == entry.at
    assert ("POST", f"/v1/keywords/{keyword_id}/analyze", "analyze_keyword", "admin", 202, "ok", keyword_id) == (
        entry.method,
        entry.path,
        entry.operation,
        entry.key,
        entry.status,
        entry.outcome,
        entry.target_id,
    )
    assert entry.charged
    assert entry.effect


async def test_what_is_created_is_the_target(box: Sandbox, call: Caller) -> None:
    """The target of a creation is the new resource."""
    path = f"/v1/workspaces/{box.workspace_id}/content-idea-searches"
    started = (await call("POST", path, {"keyword": "x"})).json
    assert [box.ledger[0]] == box.ledger.launches(started["id"]) == box.ledger.launches()


async def test_reading_and_scoring_have_no_effect(box: Sandbox, call: Caller) -> None:
    """Only requests that change something have an effect."""
    await call.get("/v1/me")
    await call("POST", f"/v1/prompts/{box.prompt_ids[0]}/report", {"contentId": box.content_ids[0]})
    await call("POST", f"/v1/keywords/{box.keyword_ids[0]}/analyze")
    await call("POST", f"/v1/keywords/{box.keyword_ids[0]}/analyze")
    assert [entry.effect for entry in box.ledger] == [False, False, True, False]
    assert [entry.outcome for entry in box.ledger] == ["ok", "ok", "ok", "conflict"]


async def test_keys_have_labels_and_never_show(box: Sandbox, call: Caller) -> None:
    """The ledger has the label of each key, and never its text."""
    for key in (box.api_key, box.member_key, box.revoked_key, "sk_guess"):
        await Caller(box, key)("GET", f"/v1/me?key={box.api_key}")
    await call("GET", "/health")
    assert [entry.key for entry in box.ledger] == ["admin", "member", "revoked", "unknown", "none"]
    assert box.api_key not in repr(list(box.ledger)) + repr(box.ledger) + repr(box)


async def test_the_ledger_is_a_sequence(box: Sandbox, call: Caller) -> None:
    """It has a length, slices and counts."""
    for path in ("/v1/me", "/v1/none", "/v1/me"):
        await call("GET", path)
    assert (
        len(box.ledger),
        box.ledger.count(status=200, operation="get_me"),
        box.ledger.count(outcome="not_found"),
        box.ledger.count(box.ledger[1]),
    ) == (3, 2, 1, 1)
    assert list(box.ledger)[1:] == list(box.ledger[1:])
    assert box.ledger[1:2] == box.ledger.filter(operation=None)
