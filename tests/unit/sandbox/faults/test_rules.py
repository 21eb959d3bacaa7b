"""Faults: delays, errors and broken connections, before or after the effect."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cmsapi.sandbox import Fault, Faults, Limits, Sandbox
from cmsapi.sandbox.faults.spoiling import SPOILINGS
from tests.support.calling import Caller

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
    """The client sees the same before and after the effect; the ledger shows the difference."""
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
    """`times` counts the requests that the fault has broken."""
    call = Caller(faulty(Fault(match="GET /v1/me", status=503, times=2)))
    statuses = [(await call("GET", path)).status for path in ("/v1/users", "/v1/me", "/v1/me", "/v1/me")]
    assert statuses == [200, 503, 503, 200]


async def test_a_fault_may_have_a_chance() -> None:
    """`probability` is the seeded chance of each request; the code of other statuses is that of their class."""
    box = Sandbox(faults=Faults(rules=[Fault(status=504, times=None, probability=0.5)]), limits=Limits.unlimited())
    call = Caller(box)
    answers = [await call("GET", "/v1/me") for _ in range(200)]
    struck = [answer for answer in answers if answer.status == 504]
    assert 70 < len(struck) < 130
    assert struck[0].code == "internal_error"
    assert "Date" in struck[0].headers


@pytest.mark.parametrize("status", [301, 304, 402, 405, 409, 410, 418, 429, 500, 501])
async def test_a_status_may_last(status: int) -> None:
    """A fault without a number strikes for ever, with any status; a redirect has no body."""
    call = Caller(faulty(Fault(match="GET /v1/me", status=status, times=None)))
    for _ in range(3):
        answer = await call("GET", "/v1/me")
        assert answer.status == status
        assert (answer.body == b"") == (status < 400)
        assert "Retry-After" not in answer.headers
        await asyncio.sleep(100_000.0)
    assert (await call("GET", "/v1/users")).status == 200
    # Lists and status codes of the ledger tell the same.
    assert {entry.status for entry in call.sandbox.ledger if entry.operation == "get_me"} == {status}


async def test_a_wait_may_be_absurd() -> None:
    """`Retry-After` is any number of seconds."""
    call = Caller(faulty(Fault(status=429, retry_after=10**9, times=None)))
    assert (await call("GET", "/v1/me")).headers["Retry-After"] == "1000000000"


@pytest.mark.parametrize(("spoil", "id_"), [("empty id", ""), ("dots id", "..")])
async def test_an_identifier_is_spoiled(spoil: Any, id_: str) -> None:
    """A search is launched and charged, and its answer has an identifier that no path can contain."""
    box = faulty(Fault(match="POST /v1/*/content-idea-searches", spoil=spoil))
    answer = await Caller(box)("POST", f"/v1/workspaces/{box.workspace_id}/content-idea-searches", {"keyword": "a"})
    assert (answer.status, answer.json["id"], answer.json["status"]) == (202, id_, "pending")
    assert (len(box.jobs), box.credits.content_ideas_searches) == (1, 9_999)


async def test_a_broken_fault_is_refused() -> None:
    """A fault breaks requests in exactly one way."""
    for wrong in ({}, {"status": 500, "drop": True}, {"spoil": "html", "slow": 1.0}):
        with pytest.raises(ValueError, match="exactly one"):
            Fault(**wrong)
    for nonsense in (
        {"status": 500, "when": "within"},
        {"drop": True, "between": (2, 1)},
        {"spoil": "sour"},
        {"status": 200},
    ):
        with pytest.raises(ValueError, match=r"within|between|spoil|status"):
            Fault(**nonsense)


@pytest.mark.parametrize("name", sorted(SPOILINGS))
async def test_a_spoiled_answer_took_effect(name: str) -> None:
    """The request takes effect and counts; its answer has the true status and a wrong body."""
    box = faulty(Fault(spoil=name))  # type: ignore[arg-type]
    call = Caller(box)
    answer = await call("POST", f"/v1/workspaces/{box.workspace_id}/folders", {"name": "New"})
    (entry,) = box.ledger
    assert (201, 201, name, True) == (answer.status, entry.status, entry.outcome, entry.effect)
    assert {name: 1} == box.faults_struck
    if name == "oversized":
        assert len(answer.body) == 40 * 1024 * 1024


async def test_a_status_is_spoiled() -> None:
    """The spoiled statuses are null or an unlisted word, in lists, too; the rest of the document stays."""
    box = faulty(Fault(spoil="null status"), Fault(spoil="unknown status"))
    call = Caller(box)
    path = f"/v1/keywords/{box.analyzed_keyword_ids[0]}"
    documents = [await call.get(path) for _ in range(3)]
    assert [document["analysisStatus"] for document in documents] == [None, "reticulating", "success"]
    assert len({document["id"] for document in documents}) == 1
    listing = faulty(Fault(spoil="null status"))
    items = (await Caller(listing).get(f"/v1/pages/{listing.page_ids[0]}/keywords"))["data"]
    assert {None} == {item["analysisStatus"] for item in items}


async def test_another_generation_is_shown() -> None:
    """A superseded document has another identifier."""
    box = faulty(Fault(spoil="superseded"))
    call = Caller(box)
    first, second = [await call.get("/v1/me") for _ in range(2)]
    assert first["id"] == f"{second['id']}-newer"


async def test_garbage_is_no_answer_in_process() -> None:
    """Garbage breaks the connection after the effect."""
    box = faulty(Fault(spoil="garbage"))
    with pytest.raises(ConnectionResetError):
        await Caller(box)("POST", f"/v1/keywords/{box.keyword_ids[0]}/analyze")
    assert (box.ledger[0].status, box.ledger[0].outcome, len(box.ledger.launches())) == (None, "garbage", 1)


async def test_errors_of_the_service_are_not_spoiled() -> None:
    """An error stays as it is."""
    answer = await Caller(faulty(Fault(spoil="html")))("GET", "/v1/keywords/none")
    assert (answer.status, answer.code) == (404, "not_found")


async def test_a_page_that_is_no_json_keeps_its_text() -> None:
    """A document without a status stays as it is."""
    answer = await Caller(faulty(Fault(spoil="null status")))("GET", "/docs")
    assert answer.body.startswith(b"<!doctype html>")


async def test_slow_bytes_arrive_late_and_whole() -> None:
    """A slow answer is the true one, later; the request arrived at once."""
    box = faulty(Fault(slow=7.0))
    loop = asyncio.get_running_loop()
    started = loop.time()
    assert (await Caller(box).get("/v1/me"))["id"] == box.user_ids[0]
    assert (started, started + 7.0) == (box.ledger[0].at, loop.time())


async def test_a_fault_has_its_time() -> None:
    """A fault strikes only in its period since the first request."""
    box = faulty(Fault(status=429, retry_after=3, times=None, between=(10.0, 20.0)))
    call, statuses = Caller(box), []
    for _ in range(5):
        statuses.append((await call("GET", "/v1/me")).status)
        await asyncio.sleep(6.0)
    assert statuses == [200, 200, 429, 429, 200]
    assert box.faults_struck == {"429 with Retry-After": 2}


async def test_the_clock_steps() -> None:
    """The service's clock jumps once and goes on; intervals, limits and jobs do not change."""
    box = Sandbox(faults=Faults(clock_steps=[(5.0, -100.0), (2.0, 1000.0)]))
    call, dates = Caller(box), []
    for _ in range(4):
        await call("GET", "/v1/me")
        dates.append(box.now())
        await asyncio.sleep(2.0)
    assert [round(date - dates[0]) for date in dates] == [0.0, 1002.0, 1004.0, 906.0]
    assert box.faults_struck["clock step"] == 2
    box.step_clock(60.0)
    assert round(box.now() - dates[0]) == 968.0
