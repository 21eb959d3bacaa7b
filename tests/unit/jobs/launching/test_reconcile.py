"""What is read to find out whether a launch happened, when, in which order, and what follows from it."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import attrs
import pytest

import cmsapi
from cmsapi.config import LaunchPolicy
from cmsapi.sandbox import Books, Fault, Sandbox
from cmsapi.state.entry import Entry
from tests.support.jobs import box, client_of
from tests.support.launches import leave, rely_on_books, sent, state

pytestmark = pytest.mark.looptime

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
    await rely_on_books(sandbox)
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
        await (await client.keywords.analyze(sandbox.keyword_ids[1]))
    await asyncio.sleep(1000)
    sandbox.add_fault(Fault(match="POST *analyze", drop=True))
    seen = len(sandbox.ledger)
    # Another spelling of the service's address is another account, whose clock no client has read.
    other = cmsapi.Client(sandbox.api_key, base_url="https://other.invalid", transport=sandbox.transport)
    account = cmsapi.config.Account(sandbox.api_key, "https://other.invalid").digest
    seen_before = {"holds": True, "within": 0.0, "user": sandbox.user_ids[0], "at": 0.0}
    await state().compare_and_set(account, "books keyword_analysis", None, seen_before)
    async with other:
        job = await other.keywords.analyze(keyword_id)
        assert not job.adopted
        await job
    operations = [each.operation for each in sandbox.ledger][seen:]
    assert operations[:6] == ["get_me", "analyze_keyword", "get_keyword", *CHARGES, "analyze_keyword"]
    assert len(sandbox.ledger.launches()) == 3


# What


@pytest.mark.parametrize("kind", ["keyword_analysis", "idea_search"])
async def test_without_the_services_time_charges_prove_it(kind: str) -> None:
    """A launch of another process that was the first request of all is found absent by the balances alone."""
    sandbox = box()
    await rely_on_books(sandbox)
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
    assert told.verdict == "the balance was not read before the launch"
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


async def test_books_that_balance_are_read_once() -> None:
    """When nothing was charged, that is proof enough where books were seen to work."""
    sandbox = box()
    await rely_on_books(sandbox)
    async with client_of(sandbox) as client:
        await client.me()
        told = await find_out(client, sandbox, settled("keyword_analysis", sandbox.keyword_ids[0], sandbox))
    assert told == Told("absent", ["get_keyword", *CHARGES], 0.0)


async def test_books_that_do_not_balance_are_read_again() -> None:
    """They are read three times within four seconds before the launch is unknown."""
    sandbox = box()
    await rely_on_books(sandbox)
    async with client_of(sandbox) as client:
        await (await client.keywords.analyze(sandbox.keyword_ids[1]))
        sandbox.set_credits(analysis=sandbox.credits.analysis - 1)
        told = await find_out(client, sandbox, settled("keyword_analysis", sandbox.keyword_ids[0], sandbox))
    assert "does not lead to the balance" in told.verdict
    assert (told.read, told.took) == (["get_keyword", *CHARGES * 3], 4.0)


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
    assert told.verdict.startswith(("it was not seen yet", "usage "))


# Generations


@pytest.mark.parametrize("before", ["none", "same", "unread", "another"])
async def test_what_is_read_of_a_generation(before: str) -> None:
    """Charges tell whose another generation is than before; usages name none, so that their absence is no proof."""
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
    nothing = "usages do not tell which generation they are of"
    verdicts = {"none": nothing, "same": nothing, "unread": "adopted", "another": "launched"}
    assert told.verdict == verdicts[before]
    assert told.read == ["get_generation", *(CHARGES if before == "another" else [])]


async def test_a_generation_is_ours_where_the_balance_was_not_read() -> None:
    """Without the balance before a launch nothing tells whose the credits since are, and what is shown counts."""
    sandbox = box(300.0)
    content_id = sandbox.content_ids[0]
    async with client_of(sandbox) as client:
        entry = settled("generation", content_id, sandbox, baseline=None, balance=None)
        await client.request("POST", f"/v1/contents/{content_id}/atomic", json={"settings": {}})
        assert (await find_out(client, sandbox, entry)).verdict == "launched"


@pytest.mark.parametrize("page_size", [1, 100])
async def test_a_generation_beside_a_colleagues_is_watched_only(page_size: int) -> None:
    """A colleague who has spent such a credit since may have launched it, on whatever page that credit stands."""
    sandbox = box(300.0, books=Books(page_size=page_size))
    content_id, other = sandbox.content_ids[:2]
    async with client_of(sandbox) as client:
        for each in sandbox.content_ids[2:4]:
            await client.contents.generate(each)
        entry = settled("generation", content_id, sandbox, baseline=None)
        sandbox.supersede_generation(other)
        await client.request("POST", f"/v1/contents/{content_id}/atomic", json={"settings": {}})
        assert (await find_out(client, sandbox, entry)).verdict == "adopted"


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
    await rely_on_books(sandbox)
    async with client_of(sandbox) as client:
        await client.me()
        with pytest.raises(cmsapi.ServerError):
            await find_out(client, sandbox, settled("idea_search", "tents", sandbox))
        assert [each.state for each in await client.jobs.journal()] == ["sending"]
