"""What becomes of launches in doubt when something else goes wrong as well."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import attrs
import pytest

import cmsapi
from cmsapi.config import LaunchPolicy
from cmsapi.jobs import Job
from cmsapi.sandbox import Fault, Fixed, Sandbox
from cmsapi.state.entry import Lease
from tests.support.jobs import box, client_of
from tests.support.launches import leave, open_entries, rely_on_books, scope, sent, state

pytestmark = pytest.mark.looptime


async def test_repeats_that_stay_unknown_are_told_as_such() -> None:
    """Who repeats what is unknown is not told in the end that nothing was charged."""
    sandbox = box(30.0, rules=[Fault(match="POST */analyze", status=502, times=None)])
    async with client_of(sandbox, launch=LaunchPolicy(on_unknown="repeat", settle=1.0)) as client:
        await client.me()
        with pytest.raises(cmsapi.LaunchUnknownError) as caught:
            await client.prompts.analyze(sandbox.prompt_ids[0])
    assert not any("nothing was launched" in note for note in getattr(caught.value, "__notes__", []))
    assert await open_entries(sandbox) == {}


async def test_a_search_explains_one_charge_however_often_it_is_known() -> None:
    """A search that ends while the journal is read, and is seen open and ended, explains no charge of another one."""
    fault = Fault(match="POST *content-idea-searches", drop=True, when="after", between=(100.0, 1e9))
    sandbox = Sandbox(durations=Fixed(300.0), faults=fault)
    async with client_of(sandbox) as client:
        await client.me()
        await asyncio.sleep(99.5)

        async def search(item: str) -> Job[Any]:
            if item == "lost":
                await asyncio.sleep(1.0)
            return await client.content_ideas.search(sandbox.workspace_id, "tents")

        async with client.jobs.batch("ideas") as batch:
            running = asyncio.create_task(_all(batch.map(search, ["known", "lost"])))
            await asyncio.sleep(0.75)
            (known,) = (await open_entries(sandbox)).values()
            lease = Lease(scope(sandbox), "an end")
            await state().begin(lease, attrs.evolve(known, item="another"))
            await state().end(lease, attrs.evolve(known, item="another", ended_at=known.asked_at))
            outcomes = {outcome.item: outcome for outcome in await running}
    assert isinstance(outcomes["lost"].error, cmsapi.LaunchUnknownError)
    assert len(sandbox.ledger.launches()) == 2


async def _all(outcomes: Any) -> list[cmsapi.Outcome[Any, Any]]:
    return [outcome async for outcome in outcomes]


async def test_an_error_of_resume_names_what_is_unknown() -> None:
    """What was struck out as unknown is told although something else could not be looked up."""
    sandbox = box(30.0, rules=[Fault(match="GET /v1/keywords/*", status=500, times=None)])
    keyword_id, prompt_id = sandbox.keyword_ids[0], sandbox.prompt_ids[0]
    async with client_of(sandbox) as client:
        await client.me()
        await leave(client, sandbox, f"prompt_analysis {prompt_id}", sent("prompt_analysis", prompt_id, sandbox))
        await leave(client, sandbox, f"keyword_analysis {keyword_id}", sent("keyword_analysis", keyword_id, sandbox))
        with pytest.raises(cmsapi.ServerError) as caught:
            await client.jobs.resume()
    assert any(prompt_id in note for note in caught.value.__notes__)
    assert [entry.target for entry in (await open_entries(sandbox)).values()] == [keyword_id]


async def test_a_clock_that_is_set_forward_does_not_settle_a_launch() -> None:
    """A launch that is still on its way is waited for, whatever this machine's clock says of the time since."""
    sandbox = box(30.0)
    keyword_id = sandbox.keyword_ids[0]
    async with client_of(sandbox) as client:
        await client.me()
        entry = sent("keyword_analysis", keyword_id, sandbox, sent_at=time.time() - 3600.0)
        await leave(client, sandbox, f"keyword_analysis {keyword_id}", entry)
        launching = asyncio.create_task(client.keywords.analyze(keyword_id))
        await asyncio.sleep(3.0)
        await client.request("POST", f"/v1/keywords/{keyword_id}/analyze")
        await (await launching)
    assert len(sandbox.ledger.launches()) == 1


async def test_the_charge_of_a_twin_is_no_proof() -> None:
    """Of two keywords of one text one was analysed: a lost launch of the other one is not taken for launched."""
    sandbox = box(30.0)
    async with client_of(sandbox) as client:
        first = await client.keywords.get(sandbox.analyzed_keyword_ids[0])
        assert first.page_id is not None
        assert first.keyword is not None
        twin = await client.keywords.create(first.page_id, first.keyword)
        await leave(client, sandbox, f"keyword_analysis {first.id}", sent("keyword_analysis", first.id, sandbox))
        await (await client.keywords.analyze(twin.id))
        with pytest.raises(cmsapi.LaunchUnknownError):
            await client.keywords.analyze(first.id)


async def test_what_was_not_launched_is_no_credit_of_the_policy() -> None:
    """A launch of which it was found out each time that it did not happen leaves its credit to the next one."""
    sandbox = box(30.0, rules=[Fault(match="POST */analyze", status=502, times=None)])
    await rely_on_books(sandbox)
    async with client_of(sandbox, launch=LaunchPolicy(max_credits=1, settle=1.0)) as client:
        await client.me()
        with pytest.raises(cmsapi.JobError, match="nothing was launched or charged"):
            await client.keywords.analyze(sandbox.keyword_ids[0])
        sandbox.clear_faults()
        await (await client.keywords.analyze(sandbox.keyword_ids[0]))
    assert len(sandbox.ledger.launches()) == 1


async def test_the_time_of_a_first_request_is_kept() -> None:
    """A launch that was the first request of its client, and was found, ends for the next client too."""
    sandbox = box(30.0, rules=[Fault(match="POST */analyze", drop=True, when="after")])
    async with client_of(sandbox, launch=LaunchPolicy(settle=5.0)) as client:
        await client.prompts.analyze(sandbox.prompt_ids[0])
    await asyncio.sleep(30.0)
    async with client_of(sandbox) as client:
        (job,) = (await client.jobs.resume()).jobs
        await job.wait(timeout=60)
    assert len(sandbox.ledger.launches()) == 1
