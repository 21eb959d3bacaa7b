"""What is written down of a launch before it is sent, and what it does about an entry that stands in its way."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from pathlib import Path
from typing import Any

import attrs
import pytest

import cmsapi
from cmsapi.config import LaunchPolicy
from cmsapi.sandbox import Fault, Sandbox
from cmsapi.state.entry import Entry, Lease
from cmsapi.testing import HandlerTransport, json_response
from tests.support.jobs import box, client_of
from tests.support.launches import leave, open_entries, rely_on_books, scope, sent, state

pytestmark = pytest.mark.looptime

HOUR = 3600.0
CHECKED = cmsapi.GenerationSettings(fact_checking_enabled=True)


def left(kind: str, target: str, sandbox: Sandbox, age: float = 0.0, **changes: Any) -> Entry:
    """Describe a job that was launched some time ago."""
    entry = attrs.evolve(sent(kind, target, sandbox), status="running", asked_at=time.time() - age)
    return attrs.evolve(entry, **changes)


async def rewrite(sandbox: Sandbox, **changes: Any) -> None:
    """Change the only entry, which has no lease."""
    ((key, entry),) = (await open_entries(sandbox)).items()
    lease = Lease(scope(sandbox), key)
    assert await state().claim(lease) is not None
    await state().update(lease, attrs.evolve(entry, **changes))
    await state().release(lease)


async def analysed(client: cmsapi.Client, sandbox: Sandbox) -> int:
    """Launch an analysis of the first keyword, wait for it, and count what was sent for it in all."""
    await (await client.keywords.analyze(sandbox.keyword_ids[0]))
    return len(sandbox.ledger.launches())


# What is written


async def test_a_long_identifier_is_written_in_full() -> None:
    """A later process polls the job by it, so that a digest, which is enough of a long keyword, would lose the job."""
    keyword_id = "kw_" + "x" * 600
    transport = HandlerTransport(lambda request: json_response({}, 202))
    launch = LaunchPolicy(baseline="none")
    async with cmsapi.Client("sk_test", base_url="https://long.invalid", transport=transport, launch=launch) as client:
        await client.keywords.analyze(keyword_id)
        assert [each.target for each in await client.jobs.journal()] == [keyword_id]


async def test_an_entry_says_what_is_launched() -> None:
    """Kind, target, time, batch and item, workspace, and a digest of the settings."""
    sandbox = box(60.0)
    keyword_id, content_id = sandbox.keyword_ids[0], sandbox.content_ids[0]
    async with client_of(sandbox) as client:
        await client.keywords.analyze(keyword_id)
        await client.contents.generate(content_id, CHECKED)
        await client.content_ideas.search(sandbox.workspace_id, "tents")

        async def run() -> None:
            async with client.jobs.batch("nightly") as batch:
                async for _ in batch.map(lambda word: client.content_ideas.search(sandbox.workspace_id, word), ["b"]):
                    pass

        running = asyncio.create_task(run())
        await asyncio.sleep(5)
        found = await open_entries(sandbox)
        await running
    assert all(time.time() - entry.asked_at == pytest.approx(0, abs=5) for entry in found.values())
    told = {
        re.sub("[0-9a-f]{16}$", "…", key): (entry.kind, entry.target, entry.batch, entry.item, bool(entry.settings))
        for key, entry in found.items()
    }
    assert told == {
        f"keyword_analysis {keyword_id}": ("keyword_analysis", keyword_id, None, None, False),
        f"generation {content_id}": ("generation", content_id, None, None, True),
        "idea_search …": ("idea_search", "tents", None, None, True),
        "idea_search for 'b' in 'nightly'": ("idea_search", "b", "nightly", "b", True),
    }
    workspaces = {entry.target: entry.facts.get("workspace", "-") for entry in found.values()}
    ours = sandbox.workspace_id
    assert workspaces == {keyword_id: "-", content_id: "-", "tents": ours, "b": ours}


async def test_launches_that_do_not_join_delay_no_other() -> None:
    """With `dedupe="allow"` each launch is an entry, a request and a credit."""
    sandbox = box(5.0)
    async with client_of(sandbox, launch=LaunchPolicy(dedupe="allow")) as client:
        for _ in range(2):
            await client.prompts.analyze(sandbox.prompt_ids[0])
            # It ends, and is not polled.
            await asyncio.sleep(6)
        assert len(await open_entries(sandbox)) == 2
    assert len(sandbox.ledger.launches()) == 2


# What stands in the way


async def test_the_waiters_of_a_launch_get_its_error() -> None:
    """When it becomes unknown, the other client that waited for it is told so too, and sends nothing."""
    sandbox = box(rules=[Fault(match="POST */analyze", drop=True)])
    prompt_id = sandbox.prompt_ids[0]
    async with client_of(sandbox) as one, client_of(sandbox) as other:
        errors = await asyncio.gather(
            *[each.prompts.analyze(prompt_id) for each in (one, other)], return_exceptions=True
        )
        evidence = [error.evidence for error in errors if isinstance(error, cmsapi.LaunchUnknownError)]
        assert evidence[1]["found"] == "another client sent it, and it could not find out whether it happened"
        assert evidence[1]["said"] == "no answer"
        assert sandbox.ledger.launches() == []
        assert await open_entries(sandbox) == {}
        # A later launch is a launch of its own.
        await (await other.prompts.analyze(prompt_id))
    assert len(sandbox.ledger.launches()) == 1


@pytest.mark.parametrize("shared", [False, True], ids=["memory", "sqlite"])
async def test_a_launch_that_was_followed_keeps_what_tells_that_it_happened(shared: bool, tmp_path: Path) -> None:
    """Two clients are told of one doubt; when the service shows the launch later, neither pays for it again."""
    lost = Fault(match="POST */analyze", drop=True, when="after")
    sandbox = box(30.0, rules=[lost, Fault(match="GET */keywords/*", status=404)])
    url, keyword_id = f"sqlite:///{tmp_path}/state.db" if shared else "memory:", sandbox.keyword_ids[0]
    async with client_of(sandbox, state=url) as one, client_of(sandbox, state=url) as other:
        errors = await asyncio.gather(
            *[each.keywords.analyze(keyword_id) for each in (one, other)], return_exceptions=True
        )
        assert [type(error) for error in errors] == [cmsapi.LaunchUnknownError] * 2
        assert "another client sent it" in str(errors[1])
        # The analysis has ended by now, so that only its time tells that it is the launch's.
        await asyncio.sleep(60.0)
        keyword = await (await other.keywords.analyze(keyword_id))
    assert keyword.analysis_status == "success"
    assert len(sandbox.ledger.launches()) == 1


async def test_all_who_wait_for_a_launch_share_its_fate() -> None:
    """When the first of them is told, the others are told so too, however late they read the journal."""
    sandbox = box(rules=[Fault(match="POST */analyze", drop=True)])
    prompt_id = sandbox.prompt_ids[0]
    async with contextlib.AsyncExitStack() as clients:
        launching = []
        for _ in range(5):
            client = await clients.enter_async_context(client_of(sandbox))
            launching.append(asyncio.create_task(client.prompts.analyze(prompt_id)))
            await asyncio.sleep(0.23)
        errors = await asyncio.gather(*launching, return_exceptions=True)
    assert {type(error) for error in errors} == {cmsapi.LaunchUnknownError}
    assert sandbox.ledger.launches() == []


async def test_a_launch_of_another_client_is_followed_until_it_is_known() -> None:
    """A second client reads the journal every second, sends nothing, and joins the job."""
    sandbox = box(60.0, latency=(2.0, 2.0))
    async with client_of(sandbox) as one, client_of(sandbox) as other:
        await one.me()
        began = asyncio.get_running_loop().time()
        jobs = await asyncio.gather(*[each.keywords.analyze(sandbox.keyword_ids[0]) for each in (one, other)])
        assert asyncio.get_running_loop().time() - began == pytest.approx(4.5, abs=0.6)
        assert jobs[0].id == jobs[1].id
    assert len(sandbox.ledger.launches()) == 1


@pytest.mark.parametrize("status", ["intent", "sending"])
async def test_a_launch_takes_the_place_of_one_that_did_not_happen(status: str) -> None:
    """The entry says afterwards what was launched now, and no longer what the dead process wished."""
    sandbox = box(60.0)
    await rely_on_books(sandbox)
    keyword_id = sandbox.keyword_ids[0]
    entry = attrs.evolve(sent("keyword_analysis", keyword_id, sandbox), status=status, batch="old", item="x")
    async with client_of(sandbox) as client:
        await client.me()
        await leave(client, sandbox, f"keyword_analysis {keyword_id}", attrs.evolve(entry, asked_at=1000.0))
        await client.keywords.analyze(keyword_id)
        (found,) = (await open_entries(sandbox)).values()
    assert (found.status, found.batch, found.item) == ("running", None, None)
    assert time.time() - found.asked_at < 5
    assert len(sandbox.ledger.launches()) == 1


@pytest.mark.parametrize("dedupe", ["join", "error"])
async def test_the_settings_of_a_launch_that_did_not_happen_do_not_matter(dedupe: Any) -> None:
    """What a dead process did not send gives way to a launch with other settings."""
    sandbox = box(60.0)
    content_id = sandbox.content_ids[0]
    entry = attrs.evolve(sent("generation", content_id, sandbox, baseline=None), status="intent", settings="another")
    async with client_of(sandbox, launch=LaunchPolicy(dedupe=dedupe)) as client:
        await client.me()
        await leave(client, sandbox, f"generation {content_id}", entry)
        await client.contents.generate(content_id, CHECKED)
        (found,) = (await open_entries(sandbox)).values()
    assert found.status == "running"
    assert found.settings not in (None, "another")
    assert len(sandbox.ledger.launches()) == 1


async def test_a_launch_that_did_happen_with_other_settings_is_not_joined() -> None:
    """The orphan of a dead process that did arrive is adopted, and the launch with other settings is refused."""
    sandbox = box(60.0)
    content_id = sandbox.content_ids[0]
    async with client_of(sandbox) as client:
        await client.contents.generate(content_id)
    facts = {"sent_at": time.time(), "settle": 0.0, "baseline": None}
    await rewrite(sandbox, status="sending", job_id=None, facts=facts)
    async with client_of(sandbox) as client:
        with pytest.raises(cmsapi.JobError, match="under way already with other settings"):
            await client.contents.generate(content_id, CHECKED)
        assert [entry.status for entry in (await open_entries(sandbox)).values()] == ["running"]
    assert len(sandbox.ledger.launches()) == 1


@pytest.mark.parametrize("resumed", [False, True])
@pytest.mark.parametrize("status", ["running", "sending"])
async def test_what_was_taken_over_is_joined_with_its_settings(status: str, resumed: bool) -> None:
    """A later launch with the same settings returns the job, one with others is refused."""
    sandbox = box(300.0)
    content_id = sandbox.content_ids[0]
    async with client_of(sandbox) as client:
        await client.contents.generate(content_id, CHECKED)
    async with client_of(sandbox) as client:
        if status == "sending":
            facts = {"sent_at": time.time(), "settle": 0.0, "baseline": None}
            await rewrite(sandbox, status="sending", job_id=None, facts=facts)
        if resumed:
            await client.jobs.resume()
        job = await client.contents.generate(content_id, CHECKED)
        assert await client.contents.generate(content_id, CHECKED) is job
        with pytest.raises(cmsapi.JobError, match="under way already with other settings; nothing was sent"):
            await client.contents.generate(content_id)
    assert len(sandbox.ledger.launches()) == 1


@pytest.mark.parametrize("held", [True, False])
async def test_a_policy_may_refuse_what_another_client_runs(held: bool) -> None:
    """`dedupe="error"` says that it is in flight elsewhere, with or without a waiter."""
    sandbox = box(60.0)
    keyword_id = sandbox.keyword_ids[0]
    async with client_of(sandbox) as one, client_of(sandbox, launch=LaunchPolicy(dedupe="error")) as other:
        job = await one.keywords.analyze(keyword_id)
        waiting = asyncio.create_task(job.wait()) if held else None
        if not held:
            await one.aclose()
        with pytest.raises(cmsapi.JobError) as caught:
            await other.keywords.analyze(keyword_id)
        assert str(caught.value).startswith(
            f"A keyword_analysis for {keyword_id} is under way already, launched by another client; "
            "nothing was sent or charged. Wait for it, or launch with LaunchPolicy(dedupe='allow')."
        )
        if waiting is not None:
            await waiting
    assert len(sandbox.ledger.launches()) == 1


@pytest.mark.parametrize(("item", "joins"), [("b", True), ("c", False)])
async def test_a_strict_policy_still_resumes_an_item(item: str, joins: bool) -> None:
    """`dedupe="error"` refuses what others wish, and takes up what the same item of the same batch launched."""
    sandbox = box(60.0)
    keyword_id = sandbox.keyword_ids[0]
    async with client_of(sandbox) as client:
        await client.me()
        await client.request("POST", f"/v1/keywords/{keyword_id}/analyze")
        entry = left("keyword_analysis", keyword_id, sandbox, batch="nightly", item="b")
        await leave(client, sandbox, f"keyword_analysis {keyword_id}", entry)
    strict = LaunchPolicy(dedupe="error")
    async with client_of(sandbox, launch=strict) as client, client.jobs.batch("nightly") as batch:
        outcomes = batch.map(client.keywords.analyze, [keyword_id], key=lambda _: item)
        (outcome,) = [each async for each in outcomes]
    assert (outcome.error is None) == joins
    assert len(sandbox.ledger.launches()) == 1


# What is stale


@pytest.mark.parametrize(
    ("age", "changes", "launches"),
    [
        (11.9 * HOUR, {}, 0),
        (12.1 * HOUR, {}, 1),
        (13 * HOUR, {"batch": "nightly", "item": "b"}, 0),
    ],
)
async def test_an_old_analysis_is_no_answer_to_a_new_launch(age: float, changes: Any, launches: int) -> None:
    """What was launched twelve hours ago and more is struck out, unless an item of a batch still waits for it."""
    sandbox = box(5.0)
    keyword_id = sandbox.keyword_ids[0]
    async with client_of(sandbox) as client:
        await client.request("POST", f"/v1/keywords/{keyword_id}/analyze")
        entry = left("keyword_analysis", keyword_id, sandbox, age, **changes)
        await asyncio.sleep(10)
        await leave(client, sandbox, f"keyword_analysis {keyword_id}", entry)
        assert await analysed(client, sandbox) == 1 + launches


async def test_an_entry_with_a_waiter_is_not_stale() -> None:
    """As long as another client that is alive holds it, an old entry is joined."""
    sandbox = box(60.0)
    keyword_id = sandbox.keyword_ids[0]
    async with client_of(sandbox) as one, client_of(sandbox) as other:
        await one.request("POST", f"/v1/keywords/{keyword_id}/analyze")
        entry = left("keyword_analysis", keyword_id, sandbox, 13 * HOUR)
        await leave(one, sandbox, f"keyword_analysis {keyword_id}", entry)
        (job,) = (await one.jobs.resume()).jobs
        waiting = asyncio.create_task(job.wait())
        await asyncio.sleep(1)
        await (await other.keywords.analyze(keyword_id))
        await waiting
    assert len(sandbox.ledger.launches()) == 1


@pytest.mark.parametrize(
    ("status", "age", "became", "launches"),
    [
        ("running", HOUR, "running", 0),
        ("running", 13 * HOUR, "running", 0),
        ("running", 13 * HOUR, "review", 0),
        ("review", HOUR, "review", 0),
        ("review", HOUR, "confirmed", 1),
        ("review", HOUR, "cancelled", 1),
        ("review", HOUR, "superseded", 1),
        ("running", 13 * HOUR, "confirmed", 1),
    ],
)
async def test_a_generation_is_an_answer_until_its_decision(
    status: str, age: float, became: str, launches: int
) -> None:
    """One that runs or waits for its decision is taken over, however old; a decided one is generated anew."""
    sandbox = box(300.0 if became == "running" else 5.0)
    content_id = sandbox.content_ids[0]
    async with client_of(sandbox) as client:
        first = await client.contents.generate(content_id)
    await asyncio.sleep(10)
    await rewrite(sandbox, status=status, asked_at=time.time() - age)
    if became == "superseded":
        sandbox.supersede_generation(content_id)
        await asyncio.sleep(10)
        sandbox.confirm_elsewhere(content_id)
    elif became == "confirmed":
        sandbox.confirm_elsewhere(content_id)
    elif became == "cancelled":
        sandbox.cancel_elsewhere(content_id)
    before = len(sandbox.ledger.launches())
    async with client_of(sandbox) as client:
        job = await client.contents.generate(content_id)
        assert (job.id == first.id) == (launches == 0)
    assert len(sandbox.ledger.launches()) == before + launches


async def test_a_generation_of_what_is_gone_is_forgotten() -> None:
    """When the service no longer knows the content, its entry goes, and the service answers the new launch."""
    sandbox = box(5.0)
    content_id = sandbox.content_ids[0]
    async with client_of(sandbox) as client:
        await client.contents.generate(content_id)
    await rewrite(sandbox, status="review")
    sandbox.forget(content_id)
    async with client_of(sandbox) as client:
        with pytest.raises(cmsapi.NotFoundError):
            await client.contents.generate(content_id)
    assert await open_entries(sandbox) == {}
