"""Late requests: they take effect after their client has got another answer or has stopped waiting."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cmsapi.sandbox import Fault, FaultProxy, Sandbox
from tests.support.calling import Caller
from tests.support.proxy import ask

pytestmark = pytest.mark.looptime
LAUNCH = "POST /v1/keywords/*/analyze"


async def test_a_request_outlives_its_client() -> None:
    """A late request takes effect even if its client has stopped waiting; its answer comes after the effect."""
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
    """The client gets an error or a broken connection at once, and the request takes effect later."""
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
    """A late fault excludes all others but an error or a drop after the effect."""
    with pytest.raises(ValueError, match="late"):
        Fault(**wrong)


@pytest.mark.looptime(False)
@pytest.mark.enable_socket
@pytest.mark.parametrize("told", [{}, {"drop": True, "when": "after"}, {"status": 502, "when": "after"}], ids=str)
async def test_a_proxy_forwards_late(told: dict[str, Any]) -> None:
    """A proxy delays the effect as the sandbox does, with and without another answer."""
    async with Sandbox() as box, FaultProxy(box.base_url, Fault(late=0.6 if told else 0.2, **told)) as proxy:
        answer = await ask(proxy, box, "POST", f"/v1/keywords/{box.keyword_ids[0]}/analyze")
        assert len(box.ledger) == (0 if told else 1)
        assert (b" 502 " in answer, answer == b"") == ("status" in told, "drop" in told)
        async with asyncio.timeout(20):
            while not box.ledger.launches():  # noqa: ASYNC110  the sandbox's ledger has no event
                await asyncio.sleep(0.02)
        assert len(box.ledger.launches()) == 1
