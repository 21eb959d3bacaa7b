"""`Timeouts.deadline` bounds a launch as its caller sees it; what is in flight then is not lost."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import cmsapi
from cmsapi.config import LaunchPolicy
from cmsapi.jobs.launching.reconcile import STAYS_OPEN
from cmsapi.sandbox import Fault, Limits
from tests.support.jobs import box, client_of
from tests.support.launches import leave, open_entries, posts, rely_on_books, sent

pytestmark = pytest.mark.looptime

LOST = Fault(match="POST *analyze", drop=True, when="after")
DEADLINE = cmsapi.Timeouts(deadline=10.0)


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_lost_answer_is_told_by_the_deadline(when: Any) -> None:
    """The caller need not wait until the launch can no longer arrive; the next launch joins it, and it is paid once."""
    sandbox = box(300.0, rules=[Fault(match="POST *analyze", drop=True, when=when)])
    await rely_on_books(sandbox)
    loop, keyword_id = asyncio.get_running_loop(), sandbox.keyword_ids[0]
    async with client_of(sandbox, timeouts=DEADLINE) as client:
        await client.me()
        began = loop.time()
        with pytest.raises(cmsapi.LaunchUnknownError, match="may have been launched and charged") as caught:
            await client.keywords.analyze(keyword_id)
        assert loop.time() - began == pytest.approx(10.0, abs=0.1)
        assert "not done within its deadline of 10 s" in caught.value.evidence["said"]
        assert caught.value.evidence["open"] == STAYS_OPEN
        assert isinstance(caught.value.__cause__, TimeoutError)
        assert [entry.status for entry in (await open_entries(sandbox)).values()] == ["sending"]
        job = await client.with_options(timeouts=cmsapi.Timeouts()).keywords.analyze(keyword_id)
        await job
    assert len(sandbox.ledger.launches()) == 1


async def test_nothing_is_sent_again_after_the_deadline() -> None:
    """A launch that is found absent when no caller waits any more is not repeated, and leaves nothing."""
    sandbox = box(30.0, rules=[Fault(match="POST *analyze", drop=True)])
    await rely_on_books(sandbox)
    async with client_of(sandbox, timeouts=DEADLINE) as client:
        await client.me()
        with pytest.raises(cmsapi.LaunchUnknownError):
            await client.keywords.analyze(sandbox.keyword_ids[0])
        await asyncio.sleep(120.0)
        assert (posts(sandbox), await open_entries(sandbox)) == (1, {})


async def test_what_stays_unknown_without_a_caller_stays_in_the_journal() -> None:
    """A doubt of which no caller heard is told to the next launch, which sends nothing."""
    sandbox = box(30.0, rules=[LOST, Fault(match="GET */prompts/*", status=404)])
    prompt_id = sandbox.prompt_ids[0]
    async with client_of(sandbox, timeouts=DEADLINE) as client:
        await client.me()
        with pytest.raises(cmsapi.LaunchUnknownError):
            await client.prompts.analyze(prompt_id)
        await asyncio.sleep(120.0)
        assert [entry.status for entry in (await open_entries(sandbox)).values()] == ["sending"]
    sandbox.clear_faults()
    async with client_of(sandbox) as client:
        await (await client.prompts.analyze(prompt_id))
    assert posts(sandbox) == 1


async def test_the_deadline_spans_all_attempts() -> None:
    """Each repeat does not start a deadline of its own."""
    sandbox = box(30.0, rules=[Fault(match="POST *analyze", status=502, times=None)])
    await rely_on_books(sandbox)
    loop, policy = asyncio.get_running_loop(), LaunchPolicy(settle=4.0)
    async with client_of(sandbox, timeouts=DEADLINE, launch=policy) as client:
        await client.me()
        began = loop.time()
        with pytest.raises(cmsapi.LaunchUnknownError):
            await client.keywords.analyze(sandbox.keyword_ids[0])
        assert loop.time() - began == pytest.approx(10.0, abs=0.1)
        assert posts(sandbox) > 1


async def test_an_orphan_is_left_to_the_next_launch() -> None:
    """While the launch of a dead process is settled, nothing of this one was sent, and the deadline says so."""
    sandbox = box(30.0)
    loop, keyword_id = asyncio.get_running_loop(), sandbox.keyword_ids[0]
    async with client_of(sandbox, timeouts=DEADLINE) as client:
        await client.me()
        entry = sent("keyword_analysis", keyword_id, sandbox, settle=60.0)
        await leave(client, sandbox, f"keyword_analysis {keyword_id}", entry)
        began = loop.time()
        with pytest.raises(cmsapi.DeadlineError, match="Nothing was sent or charged") as caught:
            await client.keywords.analyze(keyword_id)
        assert loop.time() - began == pytest.approx(10.0, abs=0.1)
        assert not caught.value.sent
        assert len(await open_entries(sandbox)) == 1
    assert posts(sandbox) == 0


async def test_of_two_callers_one_may_have_a_deadline() -> None:
    """The launch of an impatient copy goes on for the client that has joined it."""
    sandbox = box(30.0, latency=(2.0, 2.0), limits=Limits(per_second=1))
    keyword_id = sandbox.keyword_ids[0]
    async with client_of(sandbox) as client:
        patient = asyncio.create_task(client.keywords.analyze(keyword_id))
        await asyncio.sleep(0.1)
        with pytest.raises((cmsapi.LaunchUnknownError, cmsapi.DeadlineError)):
            await client.with_options(timeouts=cmsapi.Timeouts(deadline=0.5)).keywords.analyze(keyword_id)
        await (await patient)
    assert len(sandbox.ledger.launches()) == 1
