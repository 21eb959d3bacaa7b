"""What is read to find out whether a launch happened, when, in which order, and what follows from it."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import attrs
import pytest

import cmsapi
from cmsapi.config import LaunchPolicy
from cmsapi.sandbox import Behaviour, Fault, Limits, Sandbox
from cmsapi.state.entry import Entry, Lease
from tests.support.jobs import box, client_of
from tests.support.launches import leave, scope, sent, state

pytestmark = pytest.mark.looptime

UNEXPLAINED = "no launch that is known here explains a charge by this user"
CHARGES = ["get_me", "list_credit_usages"]


@attrs.frozen
class Told:
    """Say what was found of one launch: the verdict or its reason, the requests that it took, and the seconds."""

    verdict: str
    read: list[str]
    took: float


async def find_out(client: cmsapi.Client, sandbox: Sandbox, entry: Entry) -> Told:
    """Leave a launch behind, and let the client find out about it."""
    await leave(client, sandbox, "k", entry)
    seen, began = len(sandbox.ledger), asyncio.get_running_loop().time()
    resumed = await client.jobs.resume()
    verdict = "adopted" if resumed.jobs and resumed.jobs[0].adopted else "launched" if resumed.jobs else "absent"
    if resumed.unknown:
        verdict = resumed.unknown[0].evidence["found"]
    read = [each.operation or "" for each in list(sandbox.ledger)[seen:]]
    return Told(verdict, read, round(asyncio.get_running_loop().time() - began, 1))


def settled(kind: str, target: str, sandbox: Sandbox, **facts: Any) -> Entry:
    """Describe a launch that was sent a moment ago and can arrive no longer."""
    return sent(kind, target, sandbox, **{"settle": 0.0, **facts})


def analysable(kind: str, sandbox: Sandbox) -> tuple[str, str]:
    """Return what an analysis of a kind works on, and the segment of its path."""
    if kind == "keyword_analysis":
        return sandbox.keyword_ids[0], "keywords"
    return sandbox.prompt_ids[0], "prompts"


async def search(client: cmsapi.Client, sandbox: Sandbox, keyword: str = "tents") -> None:
    """Launch a search that no journal knows."""
    path = f"/v1/workspaces/{sandbox.workspace_id}/content-idea-searches"
    await client.request("POST", path, json={"keyword": keyword})


# When


@pytest.mark.parametrize(
    ("sent_at", "served_at", "settle", "seconds"),
    [
        (-3.0, -3.0, 10.0, 7.0),
        (-9.5, -9.5, 10.0, 0.5),
        (-30.0, -30.0, 10.0, 0.0),
        (-0.7, -0.7, 2.0, 1.3),
        (-3.0, None, 10.0, 7.0),
        (-3600.0, -4.0, 10.0, 6.0),
        (50.0, -4.0, 10.0, 10.0),
        (-3.0, -3.0, None, 0.0),
        (None, -3.0, 10.0, 0.0),
        (None, -3.0, None, 0.0),
    ],
)
async def test_what_another_process_sent_is_given_time_to_arrive(
    sent_at: float | None, served_at: float | None, settle: float | None, seconds: float
) -> None:
    """The rest of the settle time is waited for, whichever clock was set; nothing when it is unknown."""
    sandbox = box()
    facts = {"sent_at": None if sent_at is None else time.time() + sent_at, "settle": settle}
    async with client_of(sandbox) as client:
        await client.me()
        entry = sent("prompt_analysis", sandbox.prompt_ids[0], sandbox, **facts)
        entry = attrs.evolve(entry, served_at=None if served_at is None else sandbox.now() + served_at)
        told = await find_out(client, sandbox, entry)
    assert told.read == ["get_prompt"]
    assert told.took == pytest.approx(seconds, abs=0.3)


@pytest.mark.parametrize("settle", [0.0, 12.0])
async def test_what_was_sent_here_is_given_time_to_arrive(settle: float) -> None:
    """It is looked up when the settle time since it left is over, and not a moment later."""
    sandbox = box(rules=[Fault(match="POST *analyze", drop=True)])
    async with client_of(sandbox, launch=LaunchPolicy(settle=settle)) as client:
        await client.me()
        began = asyncio.get_running_loop().time()
        await client.keywords.analyze(sandbox.keyword_ids[0])
        assert asyncio.get_running_loop().time() - began == pytest.approx(settle, abs=0.3)
    operations = [each.operation for each in sandbox.ledger]
    assert operations == ["get_me", "analyze_keyword", "get_keyword", *CHARGES, "analyze_keyword"]


@pytest.mark.parametrize(("settle", "seconds"), [(12.0, 12.0), (2.0, 8.0)])
async def test_the_time_that_an_answer_was_waited_for_counts(settle: float, seconds: float) -> None:
    """After eight seconds without an answer only the rest of the settle time is waited for, if there is one."""
    sandbox = box(300.0, rules=[Fault(match="POST *analyze", slow=60.0)])
    timeouts = cmsapi.Timeouts(request=8.0)
    async with client_of(sandbox, launch=LaunchPolicy(settle=settle), timeouts=timeouts) as client:
        await client.me()
        began = asyncio.get_running_loop().time()
        await client.keywords.analyze(sandbox.keyword_ids[0])
        assert asyncio.get_running_loop().time() - began == pytest.approx(seconds, abs=0.3)
    assert [each.operation for each in sandbox.ledger] == ["get_me", "analyze_keyword", "get_keyword"]


async def test_the_first_launch_of_all_is_dated() -> None:
    """The request before it tells the service's time at the launch, so that an earlier analysis is no proof of it."""
    sandbox = box(5.0)
    keyword_id = sandbox.keyword_ids[0]
    async with client_of(sandbox) as client:
        await (await client.keywords.analyze(keyword_id))
    # Long enough for its charge to be from before, whatever clocks say.
    await asyncio.sleep(1000)
    sandbox.add_fault(Fault(match="POST *analyze", drop=True))
    seen = len(sandbox.ledger)
    # Another spelling of the service's address is another account, whose clock no client has read.
    other = cmsapi.Client(sandbox.api_key, base_url="https://other.invalid", transport=sandbox.transport)
    async with other:
        job = await other.keywords.analyze(keyword_id)
        assert not job.adopted
        await job
    operations = [each.operation for each in sandbox.ledger][seen:]
    assert operations[:6] == ["get_me", "analyze_keyword", "get_keyword", *CHARGES, "analyze_keyword"]
    assert len(sandbox.ledger.launches()) == 2


# What


@pytest.mark.parametrize("kind", ["keyword_analysis", "idea_search"])
async def test_without_the_services_time_charges_prove_it(kind: str) -> None:
    """A launch of another process that was the first request of all is found absent by the balances alone."""
    sandbox = box()
    target = {"keyword_analysis": sandbox.keyword_ids[0], "idea_search": "tents"}[kind]
    async with client_of(sandbox) as client:
        await client.me()
        told = await find_out(client, sandbox, attrs.evolve(settled(kind, target, sandbox), served_at=None))
    assert told.verdict == "absent"


@pytest.mark.parametrize("kind", ["keyword_analysis", "idea_search"])
async def test_without_a_balance_nothing_is_proven(kind: str) -> None:
    """A launch before which no balance was read is told as unknown, and no charge is read."""
    sandbox = box()
    target = {"keyword_analysis": sandbox.keyword_ids[0], "idea_search": "tents"}[kind]
    async with client_of(sandbox) as client:
        await client.me()
        entry = settled(kind, target, sandbox)
        facts = {name: fact for name, fact in entry.facts.items() if name not in ("mark", "balance")}
        told = await find_out(client, sandbox, attrs.evolve(entry, facts=facts))
    assert told.verdict == "no balance was read before the launch"
    assert told.read == (["get_keyword"] if kind == "keyword_analysis" else [])


async def test_what_is_gone_tells_nothing() -> None:
    """An unreadable keyword leaves the launch unknown; the error names the status."""
    sandbox = box()
    async with client_of(sandbox) as client:
        await client.me()
        told = await find_out(client, sandbox, settled("keyword_analysis", "kwd_unheard_of", sandbox))
    assert (told.verdict, told.read) == ("what would tell cannot be read (404)", ["get_keyword"])


@pytest.mark.parametrize("kind", ["keyword_analysis", "prompt_analysis"])
async def test_an_analysis_that_runs_is_taken_up(kind: str) -> None:
    """One read of the document is enough."""
    sandbox = box(300.0)
    target, path = analysable(kind, sandbox)
    async with client_of(sandbox) as client:
        await client.me()
        await client.request("POST", f"/v1/{path}/{target}/analyze")
        told = await find_out(client, sandbox, settled(kind, target, sandbox))
    assert (told.verdict, told.read) == ("launched", [f"get_{path[:-1]}"])


@pytest.mark.parametrize("kind", ["keyword_analysis", "prompt_analysis"])
async def test_an_analysis_of_tomorrow_proves_nothing(kind: str) -> None:
    """When the service's clock was set back since, its dates are no evidence, and nothing more is read."""
    sandbox = box(5.0)
    target, path = analysable(kind, sandbox)
    async with client_of(sandbox) as client:
        await client.me()
        entry = settled(kind, target, sandbox)
        await client.request("POST", f"/v1/{path}/{target}/analyze")
        await asyncio.sleep(10)
        # The service dates an analysis when it is read.
        await client.request("GET", f"/v1/{path}/{target}")
        sandbox.step_clock(-3600)
        await client.me()
        told = await find_out(client, sandbox, entry)
    assert told.verdict.endswith("later than the service's clock says now")
    assert told.read == [f"get_{path[:-1]}"]


# Charges


async def test_charges_that_explain_the_balance_are_read_once() -> None:
    """When every credit that went is accounted for, that is proof enough."""
    sandbox = box()
    async with client_of(sandbox) as client:
        await client.me()
        told = await find_out(client, sandbox, settled("keyword_analysis", sandbox.keyword_ids[0], sandbox))
    assert told == Told("absent", ["get_keyword", *CHARGES], 0.0)


async def test_charges_that_are_not_listed_yet_are_waited_for() -> None:
    """An unexplained balance is compared three times within two seconds before the launch is unknown."""
    sandbox = box()
    async with client_of(sandbox) as client:
        await (await client.keywords.analyze(sandbox.keyword_ids[1]))
        sandbox.set_credits(analysis=sandbox.credits.analysis - 1)
        told = await find_out(client, sandbox, settled("keyword_analysis", sandbox.keyword_ids[0], sandbox))
    assert told.verdict.startswith("the usages do not explain how the balance")
    assert (told.read, told.took) == (["get_keyword", *CHARGES * 3], 2.0)


@pytest.mark.parametrize("step", [3600.0, 3.0, -3.0, -3600.0])
async def test_a_clock_that_was_set_hides_no_charge(step: float) -> None:
    """What was charged since is found by the balances, whatever it is dated."""
    sandbox = box(5.0)
    async with client_of(sandbox) as client:
        await client.me()
        entry = settled("keyword_analysis", sandbox.keyword_ids[0], sandbox)
        sandbox.step_clock(step)
        await client.request("POST", f"/v1/keywords/{sandbox.keyword_ids[1]}/analyze")
        await client.me()
        told = await find_out(client, sandbox, entry)
    assert told.verdict.startswith((UNEXPLAINED, "the usages do not explain"))


async def bought(sandbox: Sandbox, pause: float) -> None:
    """Let a colleague launch 110 searches."""
    url = f"{sandbox.base_url}/v1/workspaces/{sandbox.workspace_id}/content-idea-searches"
    headers = {"Authorization": f"Bearer {sandbox.member_key}", "Content-Type": "application/json"}
    for _ in range(110):
        answer = await sandbox.transport.send(cmsapi.Request("POST", url, headers, b'{"keyword": "boots"}'))
        assert answer.status < 300
        await asyncio.sleep(pause)


@pytest.mark.parametrize(("order", "pages"), [("newest", 1), ("oldest", 2)])
@pytest.mark.parametrize("happened", [True, False])
@pytest.mark.parametrize("at_once", [True, False])
async def test_the_list_is_read_as_far_as_it_matters(order: Any, pages: int, happened: bool, at_once: bool) -> None:
    """The newest first, one page reaches back to the launch; the oldest first, all of them have to be read."""
    sandbox = box(behaviour=Behaviour(order=order), limits=Limits(per_second=1000))
    async with client_of(sandbox) as client, client_of(sandbox, api_key=sandbox.member_key) as colleague:
        await bought(sandbox, 0.0 if at_once else 0.1)
        await asyncio.sleep(700)
        entry = settled("idea_search", "tents", sandbox, workspace=sandbox.workspace_id)
        await asyncio.gather(*(search(colleague, sandbox, "caps") for _ in range(3)))
        if happened:
            await search(client, sandbox)
        told = await find_out(client, sandbox, entry)
    assert told.read == ["get_me", *["list_credit_usages"] * pages]
    assert told.verdict.startswith("its credit was charged" if happened else "absent")


async def test_charges_of_the_minutes_before_are_read() -> None:
    """Clocks may differ by ten minutes: what is dated so long before the launch is read, on the second page too."""
    sandbox = box(limits=Limits(per_second=1000))
    async with client_of(sandbox) as client:
        await bought(sandbox, 0.0)
        await asyncio.sleep(590)
        entry = settled("idea_search", "boots", sandbox, workspace=sandbox.workspace_id)
        told = await find_out(client, sandbox, entry)
    assert told == Told("absent", ["get_me", *["list_credit_usages"] * 2], 0.0)


# Searches


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "absent"),
        ({"mark": "another:2"}, "absent"),
        ({"served_at": None}, "absent"),
        ({"mark": "another:0"}, "charged"),
        ({"mark": "a third:7"}, "charged"),
        ({"mark": "another"}, "charged"),
        ({"mark": None}, "charged"),
        ({"status": "unknown"}, "charged"),
        ({"job_id": None}, "charged"),
        ({"kind": "keyword_analysis"}, "charged"),
        ({"target": "Tents"}, "absent"),
        ({"workspace": "wrk_other"}, "absent"),
    ],
    ids=str,
)
@pytest.mark.parametrize("over", [False, True])
async def test_what_explains_the_charge_of_a_search(changes: dict[str, Any], verdict: str, over: bool) -> None:
    """A search that was taken for certain, and after the balance was read, explains one charge, however written."""
    sandbox = box(300.0)
    async with client_of(sandbox) as client:
        await client.me()
        await asyncio.sleep(10)
        lost = attrs.evolve(
            settled("idea_search", "tents", sandbox, workspace=sandbox.workspace_id), batch="b", item="lost"
        )
        known = attrs.evolve(lost, item="known", job_id="cis_known", status="running", asked_at=lost.asked_at + 1)
        facts = {name: value for name, value in changes.items() if name in ("mark", "workspace")}
        known = attrs.evolve(known, facts={**known.facts, **facts}, **{n: changes[n] for n in changes.keys() - facts})
        await search(client, sandbox)
        lease = Lease(scope(sandbox), "known")
        await state().begin(lease, known)
        if over:
            status = known.status if known.status == "unknown" else "succeeded"
            await state().end(lease, attrs.evolve(known, status=status, ended_at=time.time()))
        told = await find_out(client, sandbox, lost)
    assert told.read == CHARGES
    assert ("charged" if "credit was charged" in told.verdict else told.verdict) == verdict


@pytest.mark.parametrize(
    ("on_its_way", "charged", "verdict"),
    [
        ("boots", "boots", "absent"),
        ("boots", "Boots", UNEXPLAINED),
        ("boots", "caps", UNEXPLAINED),
        ("tent", "tent", UNEXPLAINED),
        ("TENTS", "tents", "its credit was charged"),
        ("tents", "tents", "its credit was charged"),
    ],
)
async def test_what_is_in_doubt_explains_its_own_charge(on_its_way: str, charged: str, verdict: str) -> None:
    """A search that may not have been taken explains only a charge that names it and cannot be the lost one's."""
    sandbox = box(300.0)
    async with client_of(sandbox) as client:
        await client.me()
        lost = settled("idea_search", "tents", sandbox, workspace=sandbox.workspace_id)
        other = attrs.evolve(lost, target=on_its_way, asked_at=lost.asked_at + 1)
        await state().begin(Lease(scope(sandbox), "other"), other)
        await search(client, sandbox, charged)
        told = await find_out(client, sandbox, lost)
    assert told.verdict.startswith(verdict)


# Generations


@pytest.mark.parametrize("before", ["none", "same", "unread", "another"])
async def test_what_is_read_of_a_generation(before: str) -> None:
    """Charges tell whose another generation is than before, and bear out that there was none."""
    sandbox = box(300.0)
    content_id = sandbox.content_ids[0]
    async with client_of(sandbox) as client:
        await client.me()
        entry = settled("generation", content_id, sandbox)
        known: dict[str, Any] = {} if before == "unread" else {"baseline": None}
        if before != "none":
            path = f"/v1/contents/{content_id}/atomic"
            generation: Any = await client.request("POST", path, json={"settings": {}})
            if before != "unread":
                known = {"baseline": generation["id"] if before == "same" else "gen_before"}
        if before == "same":
            entry = settled("generation", content_id, sandbox)
        told = await find_out(client, sandbox, attrs.evolve(entry, facts={**entry.facts, **known}))
    assert told.verdict == {"none": "absent", "same": "absent", "unread": "adopted", "another": "launched"}[before]
    assert told.read == ["get_generation", *CHARGES]


async def test_a_generation_is_taken_up_although_its_charge_cannot_be_read() -> None:
    """Who must not read the usages cannot tell whose it is, and follows it as theirs."""
    sandbox = box(300.0, rules=[Fault(match="GET *credit-usages*", status=403)])
    content_id = sandbox.content_ids[0]
    async with client_of(sandbox) as client:
        await client.me()
        entry = settled("generation", content_id, sandbox, baseline=None)
        await client.request("POST", f"/v1/contents/{content_id}/atomic", json={"settings": {}})
        assert (await find_out(client, sandbox, entry)).verdict == "launched"


async def test_a_service_that_fails_tells_nothing() -> None:
    """While the usages cannot be read for the service's own fault, the launch stays in the journal."""
    sandbox = box(300.0, rules=[Fault(match="GET *credit-usages*", status=500, times=None)])
    content_id = sandbox.content_ids[0]
    async with client_of(sandbox) as client:
        await client.me()
        entry = settled("generation", content_id, sandbox, baseline=None)
        await client.request("POST", f"/v1/contents/{content_id}/atomic", json={"settings": {}})
        with pytest.raises(cmsapi.ServerError):
            await find_out(client, sandbox, entry)
        assert [each.state for each in await client.jobs.journal()] == ["sending"]
