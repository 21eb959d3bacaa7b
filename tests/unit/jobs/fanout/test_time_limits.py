"""Items of fan-outs that run out of time: they hold nothing up, are not paid twice, and are found again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import cmsapi
from cmsapi.api.models.keyword import Keyword
from cmsapi.jobs import Job
from tests.support.jobs import box, client_of, polls

pytestmark = pytest.mark.looptime

KIND = "keyword_analysis"
STUCK = 1e9


async def test_stuck_items_are_outcomes_and_hold_up_no_other() -> None:
    """Three stuck items take all places in flight, and give them back when their time is over."""
    sandbox = box(STUCK)
    items, stuck = sandbox.keyword_ids[:9], set(sandbox.keyword_ids[:3])
    async with client_of(sandbox) as client:

        async def launch(item: str) -> Job[Keyword]:
            job = await client.keywords.analyze(item)
            if item not in stuck:
                sandbox.finish(item)
            return job

        fan_out = client.jobs.map(launch, items, in_flight=3, timeout=600)
        outcomes = {outcome.item: outcome async for outcome in fan_out}
        assert {item for item, outcome in outcomes.items() if not outcome.ok} == stuck
        for item in stuck:
            error, job = outcomes[item].error, outcomes[item].job
            assert isinstance(error, cmsapi.JobWaitTimeoutError)
            assert job is not None
            assert error.token == job.token
        assert {job.target for job in fan_out.launched} == stuck
        assert (fan_out.progress.failed, fan_out.progress.finished) == (3, 9)
        await asyncio.sleep(1)
        seen = len(polls(sandbox, KIND))
        await asyncio.sleep(600)
        assert len(polls(sandbox, KIND)) == seen


async def test_an_item_that_others_wait_for_is_polled_on() -> None:
    """The end of one wait says nothing to another waiter of the job."""
    sandbox = box(300.0)
    async with client_of(sandbox) as client:
        patient = asyncio.create_task(client.jobs.run(client.keywords.analyze(sandbox.keyword_ids[0])))
        (outcome,) = [
            each async for each in client.jobs.map(client.keywords.analyze, sandbox.keyword_ids[:1], timeout=60)
        ]
        assert isinstance(outcome.error, cmsapi.JobWaitTimeoutError)
        assert (await patient).analysis_status == "success"
    assert len(sandbox.ledger.launches()) == 1


@pytest.mark.parametrize("kind", ["keyword_analysis", "idea_search"])
@pytest.mark.parametrize("shared", [True, False])
async def test_a_rerun_finds_the_running_job(kind: str, shared: bool, tmp_path: Path) -> None:
    """A batch keeps no end of an item that ran out of time: the next run joins its job, and one credit was spent."""
    sandbox = box(300.0)
    state = f"sqlite:///{tmp_path}/state.db" if shared else "memory:"
    item = sandbox.keyword_ids[0]

    async def run(client: cmsapi.Client, **options: Any) -> Any:
        async def search(keyword: str) -> Any:
            return await client.content_ideas.search(sandbox.workspace_id, keyword)

        launch: Any = search if kind == "idea_search" else client.keywords.analyze
        async with client.jobs.batch("nightly") as batch:
            (outcome,) = [outcome async for outcome in batch.map(launch, [item], **options)]
            return outcome, batch.unfinished, batch.failed

    async with client_of(sandbox, state=state) as client:
        first, unfinished, failed = await run(client, timeout=60)
        assert isinstance(first.error, cmsapi.JobWaitTimeoutError)
        assert (unfinished, failed) == ((item,), ())
        second, _, _ = await run(client, **({"timeout": 60} if shared else {}))
    if shared:
        # It was polled once, and its time was over.
        assert isinstance(second.error, cmsapi.JobWaitTimeoutError)
        async with client_of(sandbox, state=state) as client:
            second, _, _ = await run(client)
    assert second.ok
    assert second.job.id == first.job.id
    assert len(sandbox.ledger.launches()) == 1


async def test_a_rerun_after_days_pays_for_new_items_only() -> None:
    """The next run joins jobs whose time was over, however old they are and whatever was launched in between."""
    sandbox = box(STUCK)
    items = sandbox.keyword_ids[:4]
    async with client_of(sandbox) as client:

        async def run(items: Sequence[str], patience: float) -> dict[str, Any]:
            async with client.jobs.batch("nightly") as batch:
                outcomes = batch.map(client.keywords.analyze, items, timeout=patience)
                return {outcome.item: outcome async for outcome in outcomes}

        first = await run(items[:3], 60)
        assert all(isinstance(outcome.error, cmsapi.JobWaitTimeoutError) for outcome in first.values())
        await asyncio.sleep(2 * 86_400)
        for item in items[:3]:
            sandbox.finish(item)
        second = await run([items[3], *items[:3]], 60)
    assert [second[item].ok for item in items] == [True, True, True, False]
    assert len(sandbox.ledger.launches()) == 4
