"""Clients made by `with_options`: what one of them was asked to do never changes the one that it was made from."""

from __future__ import annotations

import asyncio
import gc
import math
import weakref
from pathlib import Path

import pytest

import cmsapi
from cmsapi.api.operations import OPERATIONS
from cmsapi.jobs.polling.poller import Poller
from cmsapi.sandbox import Fault, Sandbox
from tests.support.jobs import box, client_of
from tests.support.launches import rely_on_books

pytestmark = pytest.mark.looptime

# Polls go to a path that the service does not have.
LOST = OPERATIONS.override(get_keyword="GET /v1/nowhere/{keywordId}")
RARELY = cmsapi.PollPolicy(min_interval=3000.0, max_interval=3600.0)
HURRIED = cmsapi.Timeouts(deadline=0.5)


def absurd(client: cmsapi.Client) -> cmsapi.Client:
    """Make a copy with which nothing can work."""
    return client.with_options(
        limits=cmsapi.RateLimits(max_wait=0),
        retry=cmsapi.RetryPolicy(max_attempts=1, base=0.001, cap=0.001),
        polling=cmsapi.PollPolicy(min_interval=3000.0, max_interval=3600.0, budget="strict", give_up_after=0.001),
        timeouts=cmsapi.Timeouts(request=0.01, connect=0.01, deadline=0.01),
        launch=cmsapi.LaunchPolicy(dedupe="error", on_unknown="repeat", settle=0.0),
        operations=LOST,
    )


async def use(copy: cmsapi.Client, sandbox: Sandbox, token: str) -> None:
    """Do with a copy what it cannot do."""
    calls = (
        copy.me(),
        copy.keywords.get(sandbox.keyword_ids[0]),
        copy.keywords.analyze(sandbox.keyword_ids[0]),
        copy.content_ideas.search(sandbox.workspace_id, "running"),
        copy.jobs.attach(token).wait(timeout=5.0),
        copy.jobs.resume(),
        copy.jobs.reviews(),
        copy.jobs.plan("generation", 3),
        copy.jobs.gather(*[copy.jobs.watch("keyword_analysis", sandbox.keyword_ids[1])]),
    )
    tasks = [asyncio.ensure_future(call) for call in calls]
    await asyncio.sleep(20.0)
    for task in tasks:
        task.cancel()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert any(isinstance(end, cmsapi.CMSError) for end in ended)


@pytest.mark.parametrize("first", [True, False])
async def test_a_copy_with_absurd_settings_changes_nothing(first: bool) -> None:
    """Whatever a copy was asked to do, the original's calls, launches and waits take what they always take."""
    sandbox = box(30.0, latency=(0.05, 0.05))
    await rely_on_books(sandbox)
    loop = asyncio.get_running_loop()
    async with client_of(sandbox) as client:
        token = (await client.keywords.analyze(sandbox.keyword_ids[2])).token
        if first:
            await client.me()
        await use(absurd(client), sandbox, token)
        began = loop.time()
        await client.keywords.get(sandbox.keyword_ids[0])
        jobs = [await client.keywords.analyze(keyword_id) for keyword_id in sandbox.keyword_ids[:4]]
        search = await client.content_ideas.search(sandbox.workspace_id, "running")
        generation = await client.contents.generate(sandbox.content_ids[0])
        await client.jobs.gather(*jobs)
        assert (await search).ideas
        await generation.review()
        assert (await client.jobs.attach(token)).id == sandbox.keyword_ids[2]
        assert loop.time() - began < 60.0


@pytest.mark.parametrize("state", ["memory:", "sqlite"])
@pytest.mark.looptime(False)
async def test_a_patient_copy_holds_up_no_launch(state: str, tmp_path: Path) -> None:
    """While a copy waits for an answer as long as it was told to, its original launches with its own patience."""
    sandbox = box(0.1, rules=[Fault(match="GET /v1/me", slow=30.0)])
    url = state if state == "memory:" else f"sqlite:///{tmp_path / 'state.db'}"
    polling = cmsapi.PollPolicy(min_interval=0.1, max_interval=0.2)
    async with client_of(sandbox, state=url, polling=polling, timeouts=cmsapi.Timeouts(deadline=5.0)) as client:
        # The first request of a key goes alone.
        await client.keywords.get(sandbox.keyword_ids[0])
        patient = client.with_options(timeouts=cmsapi.Timeouts(request=60.0))
        waiting = asyncio.create_task(patient.keywords.analyze(sandbox.keyword_ids[0]))
        await asyncio.sleep(0.2)
        async with asyncio.timeout(10.0):
            await client.keywords.analyze(sandbox.keyword_ids[1])
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)


@pytest.mark.parametrize("retry_after", [None, 10])
async def test_a_copy_that_backs_off_for_days_delays_no_other_client(retry_after: int | None) -> None:
    """After a 429 all clients rest as long as the service says and a little longer, whatever the backoff of a copy."""
    sandbox = box(rules=[Fault(match="GET /v1/me", status=429, retry_after=retry_after)])
    loop = asyncio.get_running_loop()
    async with client_of(sandbox) as client:
        slow = client.with_options(retry=cmsapi.RetryPolicy(base=1e6, cap=1e6))
        waiting = asyncio.create_task(slow.me())
        await asyncio.sleep(1.0)
        await client.keywords.get(sandbox.keyword_ids[0])
        assert loop.time() < (retry_after or 0) + 3.0
        assert not waiting.done()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)


@pytest.mark.looptime(False)
async def test_a_copy_does_not_open_the_journal_for_its_original(tmp_path: Path) -> None:
    """Whose journal it is, each client finds out with its own settings, and no copy stays in memory for that."""
    sandbox = box(0.1, latency=(0.05, 0.05))
    state = f"sqlite:///{tmp_path / 'state.db'}"
    polling = cmsapi.PollPolicy(min_interval=0.1, max_interval=0.2)
    async with client_of(sandbox, state=state, polling=polling) as client:
        _ = client.jobs.statistics
        others = weakref.WeakSet(each for each in gc.get_objects() if isinstance(each, Poller))
        copy = client.with_options(timeouts=cmsapi.Timeouts(deadline=0.01))
        with pytest.raises(cmsapi.DeadlineError):
            await copy.jobs.journal()
        await (await client.keywords.analyze(sandbox.keyword_ids[0]))
        del copy
        gc.collect()
        assert not [each for each in gc.get_objects() if isinstance(each, Poller) and each not in others]


async def test_the_original_polls_what_it_joins() -> None:
    """A job that a copy has launched is polled with the settings of the original once that one waits for it too."""
    sandbox = box(30.0)
    loop = asyncio.get_running_loop()
    keyword_id = sandbox.keyword_ids[0]
    async with client_of(sandbox) as client:
        job = await client.with_options(polling=RARELY, operations=LOST).keywords.analyze(keyword_id)
        waiter = asyncio.create_task(job.wait())
        await asyncio.sleep(1.0)
        began = loop.time()
        assert await client.keywords.analyze(keyword_id) is job
        assert await job is await waiter
        assert loop.time() - began < 60.0


async def test_a_copy_that_joins_takes_nothing_over() -> None:
    """A job of the original is polled as before when a copy has joined it."""
    sandbox = box(30.0)
    loop = asyncio.get_running_loop()
    keyword_id = sandbox.keyword_ids[0]
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(keyword_id)
        copy = client.with_options(polling=RARELY, operations=LOST)
        assert await copy.keywords.analyze(keyword_id) is job
        assert copy.jobs.attach(job.token) is job
        began = loop.time()
        await job
        assert loop.time() - began < 60.0


async def test_the_original_finds_out_what_became_of_a_copys_launch() -> None:
    """When a copy's deadline cuts off the launch that the original has joined, that one finds out and pays once."""
    sandbox = box(30.0, latency=(1.0, 1.0))
    await rely_on_books(sandbox)
    keyword_id = sandbox.keyword_ids[0]
    async with client_of(sandbox) as client:
        # Evidence rests on the service's clock, which an answer tells.
        await client.me()
        hurried, job = await asyncio.gather(
            client.with_options(timeouts=HURRIED).keywords.analyze(keyword_id),
            client.keywords.analyze(keyword_id),
            return_exceptions=True,
        )
        assert isinstance(hurried, cmsapi.CMSError)
        assert isinstance(job, cmsapi.Job)
        await job
    assert len(sandbox.ledger.launches(keyword_id)) == 1


async def test_one_page_of_a_list_is_read_as_the_least_patient_wishes() -> None:
    """Jobs of a patient copy on the same page of a list do not keep the original from reading it."""
    sandbox = box(30.0, keywords=200)
    loop = asyncio.get_running_loop()
    async with client_of(sandbox) as client:
        lists = [[keyword.id async for keyword in client.keywords.list(page_id)] for page_id in sandbox.page_ids]
        ids = max(lists, key=len)
        patient = client.with_options(polling=RARELY)
        theirs = [await patient.keywords.analyze(keyword_id) for keyword_id in ids[:2]]
        waiting = asyncio.gather(*theirs)
        assert len(ids) > 5
        mine = [await client.keywords.analyze(keyword_id) for keyword_id in ids[2:6]]
        began = loop.time()
        await client.jobs.gather(*mine)
        assert loop.time() - began < 60.0
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)


async def test_a_page_of_a_list_is_read_with_the_settings_of_the_original() -> None:
    """A copy that waits for hours for an answer does not read the lists that show jobs of its original."""
    rule = Fault(match="GET /v1/pages/*/keywords", slow=3000.0, times=None, between=(40.0, math.inf))
    sandbox = box(30.0, keywords=200, rules=[rule])
    loop = asyncio.get_running_loop()
    async with client_of(sandbox) as client:
        lists = [[keyword.id async for keyword in client.keywords.list(page_id)] for page_id in sandbox.page_ids]
        ids = max(lists, key=len)
        await asyncio.sleep(50.0)
        patient = client.with_options(timeouts=cmsapi.Timeouts(request=10_000.0))
        theirs = [await patient.keywords.analyze(keyword_id) for keyword_id in ids[:2]]
        waiting = asyncio.gather(*theirs)
        mine = [await client.keywords.analyze(keyword_id) for keyword_id in ids[2:6]]
        began = loop.time()
        await client.jobs.gather(*mine)
        assert loop.time() - began < 120.0
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)


async def test_a_job_does_not_wait_for_a_page_that_a_patient_copy_reads() -> None:
    """While a copy waits for hours for a page of a list, a job of its original that is on that page is polled alone."""
    rule = Fault(match="GET /v1/pages/*/keywords", slow=9000.0, times=None, between=(40.0, math.inf))
    sandbox = box(300.0, keywords=200, rules=[rule])
    loop = asyncio.get_running_loop()
    async with client_of(sandbox) as client:
        lists = [[keyword.id async for keyword in client.keywords.list(page_id)] for page_id in sandbox.page_ids]
        ids = max(lists, key=len)
        await asyncio.sleep(50.0)
        before = sandbox.ledger.count(operation="list_keywords")
        patient = client.with_options(timeouts=cmsapi.Timeouts(request=10_000.0))
        theirs = [await patient.keywords.analyze(keyword_id) for keyword_id in ids[:2]]
        waiting = asyncio.gather(*theirs)
        await asyncio.sleep(30.0)
        assert sandbox.ledger.count(operation="list_keywords") == before + 1
        mine = await client.keywords.analyze(ids[2])
        joined = await client.keywords.analyze(ids[0])
        began = loop.time()
        await client.jobs.gather(mine, joined)
        assert loop.time() - began < 320.0
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
