"""Faults between client and service."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from cmsapi.errors import NotSentError, OutcomeUnknownError
from cmsapi.messages import Response
from cmsapi.sandbox import Fault, Faults, Sandbox
from tests.support.wire import Wire
from tests.unit.sandbox.conftest import CheckedWire

pytestmark = pytest.mark.looptime

ANSWERS = [
    (Fault(status=500), 0),
    (Fault(status=502, effect=True), 1),
    (Fault(status=504, body="foreign"), 0),
    (Fault(status=504, body="foreign", effect=True), 1),
    (Fault(garbage=True), 1),
]
LOSSES = [
    (Fault(refuse=True), NotSentError, 0, 0),
    (Fault(drop="before"), OutcomeUnknownError, 0, 1),
    (Fault(drop="after"), OutcomeUnknownError, 1, 1),
]


def faulty(*rules: Fault, **settings: Any) -> CheckedWire:
    """Return a sender to a sandbox with faults."""
    return CheckedWire(Sandbox(faults=Faults(list(rules), **settings)))


async def analyze(wire: CheckedWire) -> Response:
    """Launch an analysis and return the response, whatever it is."""
    return await Wire(wire.sandbox).send("POST", f"/v1/keywords/{wire.sandbox.keyword_ids[0]}/analyze")


async def test_hits_an_operation_some_times_after_some() -> None:
    """A fault matches a name or a glob, lets some requests pass, hits some, and is then over."""
    wire = faulty(Fault(match="get_m*", status=503, after=1, times=2, retry_after=7))
    assert await wire.status("GET", "/v1/workspaces") == 200
    answers = [await wire.send("GET", "/v1/me") for _ in range(4)]
    assert [answer.status for answer in answers] == [200, 503, 503, 200]
    assert answers[1].headers["retry-after"] == "7"
    assert "x-ratelimit-remaining" in answers[1].headers


async def test_hits_while_it_lasts() -> None:
    """A fault may begin and end at set times, and the first of several that match is applied."""
    wire = faulty(Fault(status=502, since=10, until=20), Fault(status=500, since=15))
    statuses = []
    for _ in range(5):
        statuses.append(await wire.status("GET", "/v1/me"))
        await asyncio.sleep(5)
    assert statuses == [200, 200, 502, 502, 500]


@pytest.mark.parametrize(("fault", "launched"), ANSWERS)
async def test_what_a_faulty_answer_has_done(fault: Fault, launched: int) -> None:
    """An error says nothing about the launch behind it, which was accepted only if the fault says so."""
    wire, is_foreign = faulty(fault), fault.body == "foreign"
    answer = await analyze(wire)
    assert (answer.status, len(wire.sandbox.ledger.launches)) == (fault.status or 202, launched)
    assert ("x-ratelimit-remaining" in answer.headers) is not is_foreign
    if is_foreign or fault.garbage:
        with pytest.raises(json.JSONDecodeError):
            answer.json()


@pytest.mark.parametrize(("fault", "error", "launched", "logged"), LOSSES)
async def test_what_a_lost_connection_has_done(
    fault: Fault, error: type[Exception], launched: int, logged: int
) -> None:
    """A refused connection carried nothing; a dropped one may have carried the request."""
    wire = faulty(fault)
    with pytest.raises(error):
        await analyze(wire)
    assert (len(wire.sandbox.ledger.launches), wire.sandbox.ledger.count()) == (launched, logged)


async def test_what_never_arrived_does_not_count() -> None:
    """Requests that the service never saw, and a fault's 429, do not count in the windows."""
    wire = faulty(Fault(drop="before", times=1), Fault(status=429, times=1))
    with pytest.raises(OutcomeUnknownError):
        await analyze(wire)
    refused = await analyze(wire)
    assert (refused.status, refused.headers["retry-after"]) == (429, "1")
    assert (await wire.send("GET", "/v1/me")).headers["x-ratelimit-remaining"] == "999"


async def test_a_slow_answer_is_late_and_its_effect_is_not() -> None:
    """A client that stops waiting has nevertheless launched its job."""
    wire = faulty(Fault(slow=60))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(5):
            await analyze(wire)
    assert [launch.time for launch in wire.sandbox.ledger.launches] == [0]


@pytest.mark.parametrize("latency", [0.2, (0.2, 0.2)])
async def test_latency_is_half_there_and_half_back(latency: Any) -> None:
    """A request arrives after half of the latency, even if the client has gone."""
    wire = faulty(latency=latency)
    await wire.send("GET", "/v1/me")
    assert asyncio.get_running_loop().time() == pytest.approx(0.2)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await analyze(wire)
    await asyncio.sleep(1)
    assert [request.time for request in wire.sandbox.ledger.requests] == [pytest.approx(0.1), pytest.approx(0.3)]
    assert len(wire.sandbox.ledger.launches) == 1
