"""Faults: delays, errors and broken connections, before or after the effect."""

from __future__ import annotations

import asyncio
import random

import pytest

from cmsapi.sandbox import Fault, Faults, Limits, Sandbox

from .calling import Caller

pytestmark = pytest.mark.looptime
LAUNCH = "POST /v1/keywords/*/analyze"


def faulty(*rules: Fault) -> Sandbox:
    """Give a sandbox with some faults."""
    return Sandbox(faults=Faults(rules=rules))


async def test_latency_delays_each_way() -> None:
    """A request arrives one delay later and its answer leaves one delay after that."""
    box = Sandbox(faults=Faults(latency=lambda rng: 2.0))
    loop = asyncio.get_running_loop()
    started = loop.time()
    await Caller(box).get("/v1/me")
    assert (started + 2.0, started + 4.0) == (box.ledger[0].at, loop.time())


async def test_latency_is_seeded() -> None:
    """The same seed gives the same delays, within the range."""
    arrivals = []
    for _ in range(2):
        box, started = Sandbox(faults=Faults(latency=(0.1, 0.2))), asyncio.get_running_loop().time()
        for _ in range(3):
            await Caller(box).get("/v1/me")
        arrivals.append([round(entry.at - started, 6) for entry in box.ledger])
    assert arrivals[0] == arrivals[1]
    assert 0.1 <= arrivals[0][0] <= 0.2


@pytest.mark.parametrize(("when", "launched"), [("before", 0), ("after", 1)])
@pytest.mark.parametrize("broken", [{"status": 502, "retry_after": 7}, {"drop": True}])
async def test_a_fault_strikes_before_or_after_the_effect(when: str, launched: int, broken: dict[str, int]) -> None:
    """Either way the client cannot tell; the ledger can."""
    box = faulty(Fault(match=LAUNCH, when=when, **broken))  # type: ignore[arg-type]
    call, path = Caller(box), f"/v1/keywords/{box.keyword_ids[0]}/analyze"
    if "drop" in broken:
        with pytest.raises(ConnectionResetError):
            await call("POST", path)
    else:
        answer = await call("POST", path)
        assert (answer.status, answer.code, answer.headers["Retry-After"]) == (502, "bad_gateway", "7")
    (entry,) = box.ledger
    assert (broken.get("status"), "analyze_keyword", "admin", bool(launched)) == (
        entry.status,
        entry.operation,
        entry.key,
        entry.effect,
    )
    assert ("bad_gateway" if "status" in broken else "dropped") == entry.outcome
    assert launched == len(box.jobs) == len(box.ledger.launches(box.keyword_ids[0])) == 10_000 - box.credits.analysis
    assert (409 if launched else 202) == (await call("POST", path)).status


async def test_a_fault_strikes_as_often_as_told() -> None:
    """`times` counts the strikes, only those that match."""
    call = Caller(faulty(Fault(match="GET /v1/me", status=503, times=2)))
    statuses = [(await call("GET", path)).status for path in ("/v1/users", "/v1/me", "/v1/me", "/v1/me")]
    assert statuses == [200, 503, 503, 200]


async def test_a_fault_may_have_a_chance() -> None:
    """`probability` is the seeded chance of each request; other statuses have a code of their hundred."""
    box = Sandbox(faults=Faults(rules=[Fault(status=504, times=None, probability=0.5)]), limits=Limits.unlimited())
    call = Caller(box)
    answers = [await call("GET", "/v1/me") for _ in range(200)]
    struck = [answer for answer in answers if answer.status == 504]
    assert 70 < len(struck) < 130
    assert struck[0].code == "internal_error"
    assert "Date" in struck[0].headers


async def test_a_broken_fault_is_refused() -> None:
    """A fault does one thing."""
    for wrong in ({}, {"status": 500, "drop": True}):
        with pytest.raises(ValueError, match="status or drop"):
            Fault(**wrong)  # type: ignore[arg-type]


async def test_latency_may_be_any_draw() -> None:
    """A callable draws from the given generator."""
    box = Sandbox(faults=Faults(latency=random.Random.random))
    await Caller(box).get("/v1/me")
    assert box.ledger[0].at > 0
