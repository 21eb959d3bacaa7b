"""Hooks of a client and of its `with_options` copies."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

import cmsapi
from cmsapi.sandbox import Fixed, Limits, Sandbox
from tests.support.resources import client_of

pytestmark = pytest.mark.looptime


def names(events: Sequence[cmsapi.Event]) -> list[str]:
    """Return the names of events."""
    return [event.name.removeprefix("cmsapi.") for event in events]


async def test_a_copy_adds_hooks_and_leaves_its_original_alone() -> None:
    """Events of a copy go to the hooks of both, those of the original to its own only."""
    first: list[cmsapi.Event] = []
    second: list[cmsapi.Event] = []
    async with client_of(Sandbox(), hooks=[first.append]) as client:
        copy = client.with_options(hooks=[second.append])
        await copy.me()
        assert first == second != []
        again = copy.with_options(timeouts=cmsapi.Timeouts(request=10.0))
        await again.me()
        assert first == second
        second.clear()
        await client.me()
        assert second == []
        assert names(first[-2:]) == ["request.finished", "call.finished"]


async def test_the_polls_of_a_job_report_to_the_client_that_waited_first() -> None:
    """A hook that sees a job watched also sees it released, also when other clients wait for the job."""
    of_copy: list[cmsapi.Event] = []
    box = Sandbox(durations=Fixed(20))
    async with client_of(box) as client:
        copy = client.with_options(hooks=[of_copy.append])
        job = await copy.keywords.analyze(box.keyword_ids[0])
        waiter = asyncio.create_task(job.wait())
        await asyncio.sleep(1)
        await (await client.keywords.analyze(box.keyword_ids[0]))
        await waiter
    seen = [name for name in names(of_copy) if name.startswith("job.")]
    assert (seen[0], seen[-1]) == ("job.watched", "job.released")
    assert set(seen[1:-1]) == {"job.observed"}
    assert seen.count("job.released") == 1


async def test_what_concerns_all_clients_is_told_once_to_each_hook() -> None:
    """Where jobs of a client and of its copy are polled less often, a hook that both have hears it once."""
    both: list[cmsapi.Event] = []
    copys: list[cmsapi.Event] = []
    box = Sandbox(keywords=100, durations=Fixed(600), limits=Limits(per_hour=300))
    limits = cmsapi.RateLimits(per_hour=300)
    async with client_of(box, hooks=[both.append], limits=limits) as client:
        copy = client.with_options(hooks=[copys.append])
        pairs = zip([client, copy] * 40, box.keyword_ids, strict=False)
        jobs = [await each.keywords.analyze(keyword_id) for each, keyword_id in pairs]
        await client.jobs.gather(*jobs)
    throttled = [event for event in both if isinstance(event, cmsapi.Throttled)]
    assert throttled
    assert throttled == [event for event in copys if isinstance(event, cmsapi.Throttled)]
    assert len({(event.jobs, event.interval) for event in throttled}) == len(throttled)


async def test_a_hook_that_fails_on_each_event_fills_no_log(caplog: pytest.LogCaptureFixture) -> None:
    """The first error of a place has its traceback, and each that follows is one line with the error."""

    def broken(event: object) -> None:
        raise KeyError(type(event).__name__)

    box = Sandbox(durations=Fixed(20))
    async with client_of(box, hooks=[broken]) as client:
        await client.me()
        await (await client.keywords.analyze(box.keyword_ids[0]))
    async with client_of(box) as client:
        for keyword_id in box.keyword_ids[1:4]:
            job = await client.keywords.analyze(keyword_id)
            job.on(cmsapi.Finished, lambda event: broken(event))
            await job
    hooks, listeners = caplog.records[:-3], caplog.records[-3:]
    for records, last in ((hooks, "JobReleased"), (listeners, "Finished")):
        assert [record.exc_info is not None for record in records] == [True] + [False] * (len(records) - 1)
        assert records[-1].getMessage() == f"A hook failed on {last}, as before: KeyError('{last}')"
