"""Credits: charges and usage entries (specification, sections 1, 2.7 and 4.7)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cmsapi.sandbox import Behaviour, Credits, Fixed, Sandbox
from tests.support.calling import Caller

pytestmark = pytest.mark.looptime


async def launch(call: Caller, type_: str, index: int = 0) -> int:
    """Launch a job that draws on a type of credit and return the status."""
    box = call.sandbox
    if type_ == "analysis":
        answer = await call("POST", f"/v1/keywords/{box.keyword_ids[index]}/analyze")
    elif type_ == "ai_writing":
        answer = await call("POST", f"/v1/contents/{box.content_ids[index]}/atomic", {"settings": {}})
    else:
        path = f"/v1/workspaces/{box.workspace_id}/content-idea-searches"
        answer = await call("POST", path, {"keyword": f"seed {index}"})
    return answer.status


async def usages(call: Caller, type_: str, query: str = "") -> Any:
    """Return the usage entries of a type."""
    return (await call.get(f"/v1/credit-usages?type={type_}{query}"))["data"]


TYPES = {"analysis": "analysis", "ai_writing": "ai_writing", "content_idea_search": "content_ideas_searches"}


@pytest.mark.parametrize("type_", TYPES)
async def test_a_launch_costs_one_credit(type_: str) -> None:
    """A launch takes one credit of its balance and writes one entry; without credits it is refused."""
    box = Sandbox(credits=Credits(**{TYPES[type_]: 2}))
    call, before = Caller(box), len(await usages(Caller(box), type_))
    assert [await launch(call, type_, index) for index in range(3)] == [202, 202, 409]
    entries = await usages(call, type_)
    assert before + 2 == len(entries)
    assert [(entry["amount"], entry["remainingCredits"]) for entry in entries[:2]] == [(1, 0), (1, 1)]
    assert (type_, "US", "en", box.user_ids[0], box.workspace_id) == (
        entries[0]["type"],
        entries[0]["keyword"]["countryCode"],
        entries[0]["keyword"]["languageCode"],
        entries[0]["user"]["id"],
        entries[0]["workspace"]["id"],
    )
    assert [entry.charged for entry in box.ledger.filter(method="POST")] == [True, True, False]


@pytest.mark.parametrize(("sign", "amount"), [("positive", 1), ("negative", -1)])
async def test_amounts_have_a_sign(sign: str, amount: int) -> None:
    """Amounts are credits consumed, or changes of the balance with that setting."""
    call = Caller(Sandbox(behaviour=Behaviour(amounts=sign)))  # type: ignore[arg-type]
    await launch(call, "analysis")
    assert amount == (await usages(call, "analysis"))[0]["amount"]


@pytest.mark.parametrize("failures", [0.0, 1.0])
@pytest.mark.parametrize("type_", ["analysis", "ai_writing"])
async def test_credits_may_be_charged_at_completion(type_: str, failures: float) -> None:
    """With that setting a success is charged at its end and a failure is not; a running job reserves its credit."""
    box = Sandbox(
        credits=Credits(**{TYPES[type_]: 1}),
        behaviour=Behaviour(charged="completion"),
        durations=Fixed(10.0),
        failures=failures,
    )
    call = Caller(box)
    assert [await launch(call, type_, index) for index in range(2)] == [202, 409]
    assert getattr(box.credits, TYPES[type_]) == 1
    await asyncio.sleep(10)
    await call.get("/v1/me")
    assert failures == getattr(box.credits, TYPES[type_])
    if not failures:
        assert (await usages(call, type_))[0]["createdAt"] == "2026-01-01T00:00:10.000Z"


async def test_a_deleted_target_holds_nothing_back() -> None:
    """A job whose target is deleted is not charged at completion."""
    box = Sandbox(credits=Credits(ai_writing=1), behaviour=Behaviour(charged="completion"))
    call = Caller(box)
    await launch(call, "ai_writing", 0)
    await call("DELETE", f"/v1/contents/{box.content_ids[0]}")
    assert await launch(call, "ai_writing", 1) == 202


async def test_a_search_is_charged_at_launch_always() -> None:
    """The specification charges a search when it starts (section 4.6)."""
    box = Sandbox(behaviour=Behaviour(charged="completion"))
    await launch(Caller(box), "content_idea_search")
    assert box.credits.content_ideas_searches == 9_999


@pytest.mark.parametrize("refunded", [True, False])
async def test_failures_are_refunded_only_when_set(refunded: bool) -> None:
    """A failed job keeps its credit unless set otherwise."""
    box = Sandbox(behaviour=Behaviour(refunded=refunded), failures=1.0, durations=Fixed(1.0))
    call = Caller(box)
    await launch(call, "analysis")
    await asyncio.sleep(1)
    await call.get("/v1/me")
    assert (10_000 if refunded else 9_999) == box.credits.analysis


@pytest.mark.parametrize(("price", "left"), [(1, 9_999), (0, 10_000), (3, 9_997)])
async def test_prompt_analyses_have_a_price(price: int, left: int) -> None:
    """A prompt analysis costs one analysis credit, or what is set."""
    box = Sandbox(behaviour=Behaviour(prompt_analysis_credits=price))
    call = Caller(box)
    assert (await call("POST", f"/v1/prompts/{box.prompt_ids[0]}/analyze")).status == 202
    assert left == box.credits.analysis
    assert (10 + (price > 0)) == len(await usages(call, "analysis"))


async def test_balances_can_be_set(box: Sandbox, call: Caller) -> None:
    """The balances that `/v1/me` shows can be set one by one; the setting they came from stays."""
    setting = Credits(analysis=3)
    box = Sandbox(credits=setting)
    box.set_credits(ai_writing=7, content_ideas_searches=0)
    box.credits.analysis = 1
    me = await Caller(box).get("/v1/me")
    assert me["organization"]["credits"] == {"analysis": 1, "aiWriting": 7, "contentIdeasSearches": 0}
    assert Credits(analysis=3) == setting
    assert await launch(Caller(box), "content_idea_search") == 409


async def test_the_seeded_history_leads_to_the_balance(box: Sandbox, call: Caller) -> None:
    """Entries seeded from the past count down to the present balance."""
    entries = await usages(call, "analysis")
    assert list(range(10_000, 10_010)) == [entry["remainingCredits"] for entry in entries]
