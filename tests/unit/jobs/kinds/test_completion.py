"""When a word is the end of this job, of an earlier one, or of nothing at all: completion is an edge, not a level."""

from __future__ import annotations

import asyncio
import time

import pytest

import cmsapi
from cmsapi.config import PollPolicy
from cmsapi.jobs import Observed, PollFailed
from cmsapi.sandbox import Behaviour
from tests.support.jobs import Spoiling, box, changed, client_of, polls

pytestmark = pytest.mark.looptime

KIND = "keyword_analysis"
DOUBT = 300.0
DOUBTING = PollPolicy(give_up_after=DOUBT)


@pytest.mark.parametrize("stale", ["success", "failed"])
async def test_a_stale_word_is_not_the_end(stale: str) -> None:
    """The end of an earlier analysis, still shown after a launch, does not count (rule 2)."""
    sandbox = box(40.0)
    keyword_id = sandbox.analyzed_keyword_ids[0]
    async with client_of(sandbox) as client:
        before = await client.keywords.get(keyword_id)
        assert before.analysis_status == "success"
        job = await client.keywords.analyze(keyword_id)
        sandbox.set_status_word(keyword_id, stale)
        observed = [event async for event in job.events() if isinstance(event, Observed)]
        assert {event.status.phase for event in observed[:-1]} == {"running"}
        assert {event.status.state for event in observed[:-1]} == {stale}
        if stale == "success":
            keyword = await job
            assert before.last_analyzed_at is not None
            assert keyword.last_analyzed_at is not None
            assert keyword.last_analyzed_at > before.last_analyzed_at
        else:
            with pytest.raises(cmsapi.JobFailedError):
                await job
        assert job.status.elapsed >= 40.0


async def test_a_running_word_makes_the_next_end_count() -> None:
    """After a running word even a failure with the old timestamp is this analysis, once it has lasted a minute."""
    sandbox = box(40.0)
    keyword_id = sandbox.analyzed_keyword_ids[0]
    sandbox.set_outcome(keyword_id, "failed")
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(keyword_id)
        with pytest.raises(cmsapi.JobFailedError):
            await job
        assert 40.0 + 60.0 <= job.status.elapsed <= 51.0 + 60.0


async def test_an_unforeseen_failure_ends_the_job_in_doubt() -> None:
    """A failure that leaves the old timestamp and was never seen running ends with an error in time (rule 5)."""
    sandbox = box(1.0)
    keyword_id = sandbox.analyzed_keyword_ids[0]
    sandbox.set_outcome(keyword_id, "failed")
    async with client_of(sandbox, polling=DOUBTING) as client:
        job = await client.keywords.analyze(keyword_id)
        with pytest.raises(cmsapi.UnknownJobStateError, match="'failed'") as caught:
            await job
        assert caught.value.status.phase == "unknown"
        assert DOUBT <= job.status.elapsed <= DOUBT + 21
        assert job.done()


async def test_doubt_has_an_end_by_default() -> None:
    """Without a policy of one's own, doubt ends after half an hour."""
    sandbox = box(1.0)
    keyword_id = sandbox.analyzed_keyword_ids[0]
    sandbox.set_outcome(keyword_id, "failed")
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(keyword_id)
        with pytest.raises(cmsapi.UnknownJobStateError):
            await job
        assert 1800.0 <= job.status.elapsed <= 1821.0


async def test_doubt_is_counted_from_the_first_poll_that_shows_it() -> None:
    """A job first polled long after its launch is in doubt for no less long."""
    sandbox = box(1.0)
    keyword_id = sandbox.analyzed_keyword_ids[0]
    sandbox.set_outcome(keyword_id, "failed")
    async with client_of(sandbox, polling=DOUBTING) as client:
        job = await client.keywords.analyze(keyword_id)
        await asyncio.sleep(2 * DOUBT)
        with pytest.raises(cmsapi.UnknownJobStateError):
            await job
        assert 3 * DOUBT <= job.status.elapsed <= 3 * DOUBT + 11


@pytest.mark.parametrize("outcome", ["success", "failed"])
async def test_without_a_timestamp_a_late_poll_counts(outcome: str) -> None:
    """When the service shows no time of analysis, a poll 5 s or more after the launch counts (rule 4)."""
    sandbox = box(2.0)
    keyword_id = sandbox.analyzed_keyword_ids[0]
    sandbox.set_outcome(keyword_id, "success" if outcome == "success" else "failed")
    spoiling = Spoiling(sandbox, changed(f"/v1/keywords/{keyword_id}", lastAnalyzedAt=None))
    async with client_of(sandbox, transport=spoiling, polling=DOUBTING) as client:
        job = await client.keywords.analyze(keyword_id)
        await asyncio.sleep(3)
        assert (await job.refresh()).phase == "running"
        if outcome == "success":
            await job
        else:
            with pytest.raises(cmsapi.JobFailedError):
                await job
        assert job.status.polls == 2


def dateless(request: cmsapi.Request, response: cmsapi.Response) -> cmsapi.Response:
    """Take the `Date` from an answer."""
    headers = {name: value for name, value in response.headers.items() if name != "date"}
    return cmsapi.Response(response.status, headers, response.body)


@pytest.mark.parametrize("off", [-100.0, 0.0, 100.0])
async def test_without_the_services_clock_this_machines_has_to_do(off: float) -> None:
    """Without `Date` a later analysis counts when its time is after the launch by this machine's clock, or nearly."""
    sandbox = box(30.0)
    sandbox.step_clock(time.time() - sandbox.now() + off)
    keyword_id = sandbox.keyword_ids[0]
    async with client_of(sandbox, transport=Spoiling(sandbox, dateless), polling=DOUBTING) as client:
        job = await client.keywords.analyze(keyword_id)
        sandbox.finish(keyword_id)
        assert (await job).analysis_status == "success"
        await client.keywords.analyze(sandbox.keyword_ids[1])
        sandbox.finish(sandbox.keyword_ids[1])
    async with client_of(sandbox, transport=Spoiling(sandbox, dateless), polling=DOUBTING) as another:
        (left,) = (await another.jobs.resume()).jobs
        assert (await left).analysis_status == "success"


async def test_without_the_services_clock_an_earlier_timestamp_proves_nothing() -> None:
    """Where this machine's clock is later by months, seeing an analysis run still counts, else doubt ends it."""
    sandbox = box(30.0)
    async with client_of(sandbox, transport=Spoiling(sandbox, dateless), polling=DOUBTING) as client:
        seen_running = await client.keywords.analyze(sandbox.analyzed_keyword_ids[0])
        assert (await seen_running).analysis_status == "success"
        unseen = await client.keywords.analyze(sandbox.analyzed_keyword_ids[1])
        sandbox.finish(sandbox.analyzed_keyword_ids[1])
        with pytest.raises(cmsapi.UnknownJobStateError):
            await unseen


@pytest.mark.parametrize("word", ["thinking", None])
async def test_an_unlisted_word_decides_nothing(word: str | None) -> None:
    """An unlisted word, or null, is neither success nor failure, and the job ends when a listed one comes."""
    sandbox = box(60.0)
    keyword_id = sandbox.keyword_ids[0]
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(keyword_id)
        sandbox.set_status_word(keyword_id, word)
        status = await job.refresh()
        assert (status.phase, status.state) == ("unknown", word)
        waiter = asyncio.create_task(job.wait())
        await asyncio.sleep(200)
        assert not job.done()
        sandbox.clear_status_word(keyword_id)
        assert (await waiter).analysis_status == "success"


KINDS = ["keyword_analysis", "idea_search", "generation", "knowledge_document"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("word", ["thinking", None])
async def test_an_unlisted_word_for_ever_is_an_error(kind: str, word: str | None) -> None:
    """An unlisted word, or null, ends each kind with `UnknownJobStateError` instead of never."""
    sandbox = box(60.0)
    async with client_of(sandbox, polling=DOUBTING) as client:
        match kind:
            case "keyword_analysis":
                target = sandbox.keyword_ids[0]
                await client.keywords.analyze(target)
            case "idea_search":
                target = (await client.content_ideas.search(sandbox.workspace_id, "tents")).target
            case "generation":
                target = sandbox.content_ids[0]
                await client.contents.generate(target)
            case _:
                target = sandbox.knowledge_document_ids[0]
        sandbox.set_status_word(target, word)
        job = client.jobs.watch(kind, target)  # type: ignore[call-overload]
        with pytest.raises(
            cmsapi.UnknownJobStateError, match=f"{word!r}, which" if word else "showing no status for it"
        ):
            await job
        assert DOUBT <= job.status.elapsed <= DOUBT + 21


async def test_a_superseded_generation_ends_its_job() -> None:
    """Another identifier on the content is a newer generation of another client, whatever its status."""
    sandbox = box(60.0)
    content_id = sandbox.content_ids[0]
    async with client_of(sandbox) as client:
        job = await client.contents.generate(content_id)
        newer = sandbox.supersede_generation(content_id)
        with pytest.raises(cmsapi.JobSupersededError, match=newer) as caught:
            await job
        assert caught.value.status.phase == "superseded"
        review = await client.jobs.watch("generation", content_id)
        assert review.generation.id == newer


async def test_a_watched_generation_is_the_one_seen_first() -> None:
    """A watch takes the generation that it finds, and another one later supersedes it."""
    sandbox = box(60.0)
    content_id = sandbox.content_ids[0]
    first = sandbox.supersede_generation(content_id)
    async with client_of(sandbox) as client:
        job = client.jobs.watch("generation", content_id)
        assert job.id == content_id
        await job.refresh()
        assert job.id == first
        sandbox.supersede_generation(content_id)
        with pytest.raises(cmsapi.JobSupersededError):
            await job


@pytest.mark.parametrize("gone_for", [25.0, 59.0])
async def test_a_short_absence_is_survived(gone_for: float) -> None:
    """404 for less than a minute says nothing about the job."""
    sandbox = box(30.0)
    keyword_id = sandbox.keyword_ids[0]
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(keyword_id)
        sandbox.forget(keyword_id)
        waiter = asyncio.create_task(job.wait())
        await asyncio.sleep(gone_for)
        assert not job.done()
        sandbox.remember(keyword_id)
        assert (await waiter).analysis_status == "success"


async def test_an_absence_is_measured_anew_after_a_poll_that_found_it() -> None:
    """Absences with a sighting between them do not add up."""
    sandbox = box(1000.0)
    keyword_id = sandbox.keyword_ids[0]
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(keyword_id)
        waiter = asyncio.create_task(job.wait())
        for _ in range(4):
            sandbox.forget(keyword_id)
            await asyncio.sleep(40)
            sandbox.remember(keyword_id)
            await asyncio.sleep(11)
        assert not job.done()
        sandbox.finish(keyword_id)
        await waiter


async def test_a_vanished_job_ends() -> None:
    """404 for a minute and three polls ends the job with an error that names its token."""
    sandbox = box(30.0)
    keyword_id = sandbox.keyword_ids[0]
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(keyword_id)
        await job.refresh()
        sandbox.forget(keyword_id)
        events = [event async for event in job.events()]
        missing = [event for event in events if isinstance(event, PollFailed)]
        assert len(missing) >= 7
        with pytest.raises(cmsapi.JobVanishedError) as caught:
            await job
        assert caught.value.status.phase == "vanished"
        times = [entry.at for entry in polls(sandbox, KIND)][1:]
        assert 60.0 - 1e-6 <= times[-1] - times[0] <= 71.0
        sandbox.remember(keyword_id)
        assert (await client.jobs.attach(job.token)).analysis_status == "success"


async def test_a_vanished_job_takes_three_polls() -> None:
    """Two 404s far apart are not enough."""
    sandbox = box(30.0)
    keyword_id = sandbox.keyword_ids[0]
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(keyword_id)
        await job.refresh()
        sandbox.forget(keyword_id)
        for _ in range(2):
            with pytest.raises(cmsapi.NotFoundError):
                await job.refresh()
            await asyncio.sleep(100)
        assert not job.done()
        with pytest.raises(cmsapi.NotFoundError):
            await job.refresh()
        assert job.done()


@pytest.mark.parametrize("timestamps", ["unchanged", "new"])
@pytest.mark.parametrize("charged", ["launch", "completion"])
async def test_a_failed_analysis_is_told_whatever_it_leaves_behind(timestamps: str, charged: str) -> None:
    """A failed analysis is a failure whether or not it moves `lastAnalyzedAt`, and whenever it is charged."""
    behaviour = Behaviour(failed_analysis_timestamp=timestamps, charged=charged, refunded=True)  # type: ignore[arg-type]
    sandbox = box(40.0, behaviour=behaviour)
    for keyword_id in (sandbox.keyword_ids[0], sandbox.analyzed_keyword_ids[0]):
        sandbox.set_outcome(keyword_id, "failed")
        async with client_of(sandbox) as client:
            with pytest.raises(cmsapi.JobFailedError):
                await (await client.keywords.analyze(keyword_id))


async def test_a_failed_generation_in_another_word_ends_in_doubt() -> None:
    """The specification lists no words after `review`: an unknown one ends the job with an error in time."""
    sandbox = box(30.0, behaviour=Behaviour(generation_failed="gave_up"))
    sandbox.set_outcome(sandbox.content_ids[0], "failed")
    async with client_of(sandbox, polling=DOUBTING) as client:
        job = await client.contents.generate(sandbox.content_ids[0])
        with pytest.raises(cmsapi.UnknownJobStateError, match="gave_up"):
            await job


async def test_a_search_succeeds_where_early_reads_are_empty() -> None:
    """A service that shows an empty page of ideas before success gives the same result."""
    sandbox = box(30.0, behaviour=Behaviour(ideas_before_success="empty"))
    async with client_of(sandbox) as client:
        job = await client.content_ideas.search(sandbox.workspace_id, "tents")
        assert len(await client.content_ideas.list(job.id)) == 0
        assert len(await job) > 0
