"""What makes it hard to find out about a lost launch: clocks that differ, other spellings, work that comes late."""

from __future__ import annotations

import asyncio
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

import pytest

from cmsapi.sandbox import Behaviour, Fault, FaultProxy, Fixed, Sandbox
from tests.support.calling import Caller
from tests.support.proxy import ask

pytestmark = pytest.mark.looptime
LAUNCH = "POST /v1/keywords/*/analyze"


async def test_machines_that_answer_have_clocks_of_their_own() -> None:
    """`Date` is ahead by a number, or by several in turn; the sandbox's own clock is not."""
    box = Sandbox(behaviour=Behaviour(date_ahead=(3, -4)))
    call = Caller(box)
    heard = [
        parsedate_to_datetime((await call("GET", "/v1/me")).headers["Date"]).timestamp() - box.now() for _ in range(4)
    ]
    assert heard == pytest.approx([3, -4, 3, -4], abs=1.0)


async def test_machines_that_store_have_clocks_of_their_own() -> None:
    """Stamps of usages and analyses are off likewise, and usages are listed by their stamps."""
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


@pytest.mark.parametrize(
    ("ways", "written"),
    [
        ({}, " E\u0301te\u0301 " + "x" * 300),
        ({"usage_keyword": ["lower"]}, " e\u0301te\u0301 " + "x" * 300),
        ({"usage_keyword": ["trimmed"]}, "E\u0301te\u0301 " + "x" * 300),
        ({"usage_keyword": ["nfc"]}, " \u00c9t\u00e9 " + "x" * 300),
        ({"usage_keyword": ["cut"]}, " E\u0301te\u0301 " + "x" * 248),
        ({"usage_keyword": ["cut", "nfc", "lower", "trimmed"]}, "\u00e9t\u00e9 " + "x" * 251),
    ],
)
async def test_usages_write_keywords_in_their_own_way(ways: dict[str, Any], written: str) -> None:
    """The search itself keeps what was sent."""
    box = Sandbox(behaviour=Behaviour(**ways))
    call, keyword = Caller(box), " E\u0301te\u0301 " + "x" * 300
    search = await call("POST", f"/v1/workspaces/{box.workspace_id}/content-idea-searches", {"keyword": keyword})
    assert search.json["keyword"] == keyword
    (usage,) = (await call.get("/v1/credit-usages?type=content_idea_search&limit=1"))["data"]
    assert usage["keyword"]["keyword"] == written


async def test_usages_may_write_countries_in_lower_case() -> None:
    """The keyword itself shows the code as it is."""
    box = Sandbox(behaviour=Behaviour(usage_country="lower"))
    call = Caller(box)
    await call("POST", f"/v1/keywords/{box.keyword_ids[0]}/analyze")
    keyword = await call.get(f"/v1/keywords/{box.keyword_ids[0]}")
    (usage,) = (await call.get("/v1/credit-usages?type=analysis&limit=1"))["data"]
    assert usage["keyword"]["countryCode"] == keyword["countryCode"].lower() != keyword["countryCode"]


@pytest.mark.parametrize("wrong", [{"date_ahead": ()}, {"usage_keyword": ["upper"]}, {"usage_country": "upper"}])
def test_nonsense_is_refused(wrong: dict[str, Any]) -> None:
    """There is at least one clock, and only known ways to write."""
    with pytest.raises(ValueError, match=r"date_ahead|in"):
        Behaviour(**wrong)


async def test_a_request_outlives_its_client() -> None:
    """It takes effect later, also when its client has gone by then; the answer comes after that."""
    box = Sandbox(faults=Fault(match=LAUNCH, late=8.0, times=2))
    call, loop = Caller(box), asyncio.get_running_loop()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(2.0):
            await call("POST", f"/v1/keywords/{box.keyword_ids[0]}/analyze")
    assert len(box.ledger) == 0
    began = loop.time()
    answer = await call("POST", f"/v1/keywords/{box.keyword_ids[1]}/analyze")
    assert answer.status < 300
    assert loop.time() - began == pytest.approx(8.0, abs=0.1)
    assert len(box.ledger.launches()) == 2
    assert box.faults_struck == {"late": 2}


@pytest.mark.parametrize(("told", "kind"), [({"drop": True}, "dropped"), ({"status": 504}, "504")])
async def test_a_client_is_told_before_the_effect(told: dict[str, Any], kind: str) -> None:
    """A gateway that gives up, or a connection that breaks, says nothing about what the service does then."""
    box = Sandbox(faults=Fault(match=LAUNCH, late=8.0, when="after", **told))
    call = Caller(box)
    asking = call("POST", f"/v1/keywords/{box.keyword_ids[0]}/analyze")
    if "drop" in told:
        with pytest.raises(ConnectionResetError):
            await asking
    else:
        assert (await asking).status == 504
    assert len(box.ledger.launches()) == 0
    await asyncio.sleep(9.0)
    assert len(box.ledger.launches()) == 1
    assert box.ledger[0].status == told.get("status")
    assert box.faults_struck == {f"{kind} before a late effect": 1}


@pytest.mark.parametrize(
    "wrong", [{"late": 1.0, "spoil": "html"}, {"late": 1.0, "slow": 1.0}, {"late": 1.0, "drop": True}, {"late": 0.0}]
)
def test_what_does_not_go_with_being_late(wrong: dict[str, Any]) -> None:
    """The effect comes after what the client is told, or the client waits for the answer."""
    with pytest.raises(ValueError, match="late"):
        Fault(**wrong)


@pytest.mark.looptime(False)
@pytest.mark.enable_socket
@pytest.mark.parametrize("told", [{}, {"drop": True, "when": "after"}, {"status": 502, "when": "after"}], ids=str)
async def test_a_proxy_forwards_late(told: dict[str, Any]) -> None:
    """Byte by byte the same: the effect comes after a while, whatever the client was told."""
    async with Sandbox() as box, FaultProxy(box.base_url, Fault(late=0.6 if told else 0.2, **told)) as proxy:
        answer = await ask(proxy, box, "POST", f"/v1/keywords/{box.keyword_ids[0]}/analyze")
        assert len(box.ledger) == (0 if told else 1)
        assert (b" 502 " in answer, answer == b"") == ("status" in told, "drop" in told)
        await asyncio.sleep(1.0)
        assert len(box.ledger.launches()) == 1
