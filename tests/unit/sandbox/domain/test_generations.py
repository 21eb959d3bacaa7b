"""Atomic Content: launch, review and decision (specification, sections 2.5, 3 and 4.4)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cmsapi.sandbox import Behaviour, Fixed, Sandbox
from tests.support.calling import Caller

pytestmark = pytest.mark.looptime


def fixed(**settings: Any) -> Sandbox:
    """Give a sandbox whose jobs take 100 seconds."""
    return Sandbox(durations=Fixed(100.0), **settings)


async def launch(call: Caller, **settings: Any) -> str:
    """Launch a generation on the first content and return the content's path."""
    path = f"/v1/contents/{call.sandbox.content_ids[0]}"
    launched = await call("POST", f"{path}/atomic", {"settings": settings})
    assert (launched.status, launched.json["status"]) == (202, "queued")
    return path


async def test_confirming_applies_the_text() -> None:
    """Body, score, words, dates, editor and version follow the confirmation."""
    call = Caller(fixed())
    path = await launch(call, factCheckingEnabled=True, brandVoiceId=call.sandbox.brand_voice_ids[0])
    before = await call.get(path)
    await asyncio.sleep(200)
    confirmed = await call("POST", f"{path}/generation/confirm")
    after = await call.get(path)
    assert (confirmed.status, confirmed.json["status"]) == (200, "applied")
    assert (after["version"], after["isStarted"]) == (2, True)
    assert after["contentScore"] > before["contentScore"]
    assert after["wordsCount"] > 100
    assert after["contentUpdatedAt"] == "2026-01-01T00:03:20.000Z"
    for marker in ("<!--", "data-comment", "data-fact-check"):
        assert marker in after["html"]
        assert marker not in after["htmlSanitized"]
    assert (await call("POST", f"{path}/generation/confirm")).status == 409


async def test_cancelling_discards_the_text() -> None:
    """The draft stays as it was; another generation may follow."""
    call = Caller(fixed())
    path = await launch(call)
    before = await call.get(path)
    await asyncio.sleep(200)
    assert (await call("POST", f"{path}/generation/cancel")).json["status"] == "discarded"
    after = await call.get(path)
    assert (before["version"], before["html"]) == (after["version"], after["html"])
    assert (await call("POST", f"{path}/generation/cancel")).status == 409
    first = after["lastGeneration"]["id"]
    await launch(call)
    assert first != (await call.get(f"{path}/generation"))["id"]


async def test_the_words_of_a_decision_are_settings() -> None:
    """The words after confirm, cancel and failure can be set, because the specification does not show them."""
    words = Behaviour(applied="done", discarded="dropped", generation_failed="broken")
    for action, word in (("confirm", "done"), ("cancel", "dropped")):
        call = Caller(fixed(behaviour=words))
        path = await launch(call)
        await asyncio.sleep(101)
        assert word == (await call("POST", f"{path}/generation/{action}")).json["status"]
    call = Caller(fixed(behaviour=words, failures=1.0))
    path = await launch(call)
    await asyncio.sleep(101)
    assert (await call.get(f"{path}/generation"))["status"] == "broken"
    await launch(call)


@pytest.mark.parametrize("status", [409, 422])
async def test_what_cannot_be_launched_or_decided_is_refused(status: int) -> None:
    """Deciding outside review, launching while one runs or awaits review, or without an analysis: 409 or as set."""
    box = fixed(behaviour=Behaviour(refused_launch=status))  # type: ignore[arg-type]
    call = Caller(box)
    path = await launch(call)
    again, body = f"{path}/atomic", {"settings": dict[str, str]()}
    assert status == (await call("POST", f"{path}/generation/confirm")).status
    assert status == (await call("POST", again, body)).status
    await asyncio.sleep(101)
    assert status == (await call("POST", again, body)).status
    blank = (await call("POST", f"/v1/workspaces/{box.workspace_id}/contents", {"title": "Blank"})).json
    refused = await call("POST", f"/v1/contents/{blank['id']}/atomic", {"settings": {}})
    assert (status, 1) == (refused.status, len(box.jobs))


async def test_without_a_generation_there_is_nothing(box: Sandbox, call: Caller) -> None:
    """Reading or deciding a generation that does not exist is a 404."""
    path = f"/v1/contents/{box.content_ids[0]}"
    assert (await call.get(path))["lastGeneration"] is None
    for method, action in (("GET", ""), ("POST", "/confirm"), ("POST", "/cancel")):
        assert (await call(method, f"{path}/generation{action}")).status == 404


async def test_an_unknown_brand_voice_is_named(box: Sandbox, call: Caller) -> None:
    """A brand voice must exist."""
    body = {"settings": {"brandVoiceId": "none"}}
    answer = await call("POST", f"/v1/contents/{box.content_ids[0]}/atomic", body)
    assert (answer.status, answer.message.split(":")[0]) == (422, "settings.brandVoiceId")


async def test_colleagues_decide_and_supersede() -> None:
    """A colleague may confirm, cancel, or launch another generation with a new identifier."""
    box = fixed()
    call, content_id = Caller(box), box.content_ids[0]
    path = await launch(call)
    newer = box.supersede_generation(content_id)
    assert newer == (await call.get(f"{path}/generation"))["id"]
    assert [job.done for job in box.jobs] == [True, False]
    await asyncio.sleep(101)
    box.confirm_elsewhere(content_id)
    content = await call.get(path)
    assert ("applied", box.user_ids[2]) == (content["lastGeneration"]["status"], content["contentUpdatedBy"]["id"])
    box.supersede_generation(content_id)
    box.finish(content_id, "review")
    box.cancel_elsewhere(content_id)
    assert (await call.get(f"{path}/generation"))["status"] == "discarded"
    assert box.touch_content(content_id, title="Elsewhere") == 3
    assert (await call.get(path))["title"] == "Elsewhere"
