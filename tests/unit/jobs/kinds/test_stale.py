"""What a service shows may be older than what it showed before: a lagging copy is no news, and no end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import attrs
import pytest

import cmsapi
from cmsapi.message import Request, Response
from cmsapi.sandbox import Behaviour, Fault, Sandbox
from tests.support.jobs import Spoiling, box, client_of

pytestmark = pytest.mark.looptime

Spoil = Callable[[Request, Response], Response]


def now() -> float:
    """Return the loop's time."""
    return asyncio.get_running_loop().time()


def lagging(ending: str, when: Callable[[], bool], code: int = 200, **fields: str) -> Spoil:
    """Answer reads of a document from an old copy while it lags: fields as they were, or a status of their own."""

    def spoil(request: Request, response: Response) -> Response:
        if request.method != "GET" or not request.url.partition("?")[0].endswith(ending) or not when():
            return response
        missing = {"error": {"code": "not_found", "message": "no such thing"}}
        shown = missing if code == 404 else {**json.loads(response.body), **fields}
        return attrs.evolve(response, status=code, body=json.dumps(shown).encode())

    return spoil


async def second_generation(sandbox: Sandbox) -> tuple[str, str | None]:
    """Have a content generated once and discarded; return the content, and the generation from before."""
    content_id = sandbox.content_ids[0]
    async with client_of(sandbox) as client:
        job = await client.contents.generate(content_id)
        review = await job
        await review.cancel()
        return content_id, review.generation.id


@pytest.mark.parametrize("lag", [20.0, 200.0])
async def test_the_generation_from_before_is_not_a_newer_one(lag: float) -> None:
    """A generation that was current before the launch is the old one, however long a lagging copy shows it."""
    sandbox = box(60.0)
    content_id, old = await second_generation(sandbox)
    until = [0.0]
    spoil = lagging(f"{content_id}/generation", lambda: now() < until[0], id=str(old), status="review")
    async with client_of(sandbox, transport=Spoiling(sandbox, spoil)) as client:
        job = await client.contents.generate(content_id)
        until[0] = now() + lag
        review = await job
        assert review.generation.id == job.id != old
        assert max(60.0, lag) <= job.status.elapsed <= max(60.0, lag) + 30


async def test_the_generation_from_before_is_old_also_after_the_new_one_was_seen() -> None:
    """A copy that lags shows the old generation once more after `queued` was seen; a token knows it, too."""
    sandbox = box(60.0)
    content_id, old = await second_generation(sandbox)
    lags = [False]
    spoil = lagging(f"{content_id}/generation", lambda: lags[0], id=str(old), status="review")
    async with client_of(sandbox, transport=Spoiling(sandbox, spoil)) as client:
        job = await client.contents.generate(content_id)
        assert (await job.refresh()).state == "queued"
        lags[0] = True
        assert (await job.refresh()).phase == "running"
        token = job.token
    async with client_of(sandbox, transport=Spoiling(sandbox, spoil)) as another:
        attached = another.jobs.attach(token)
        for _ in range(3):
            assert (await attached.refresh()).phase == "running"
            await asyncio.sleep(40)
        lags[0] = False
        assert (await attached).generation.id == attached.id


@pytest.mark.parametrize("meanwhile", ["nothing", "reviews", "generate"])
async def test_an_article_that_a_copy_does_not_know_is_not_over(meanwhile: str) -> None:
    """A copy without the article that waits for its decision neither hides it for good nor has it paid again."""
    sandbox = box(60.0)
    content_id = sandbox.content_ids[0]
    until = [0.0]
    spoil = lagging(f"{content_id}/generation", lambda: now() < until[0], code=404)
    async with client_of(sandbox, transport=Spoiling(sandbox, spoil)) as client:
        job = await client.contents.generate(content_id)
        await job
        until[0] = now() + 10
        if meanwhile == "reviews":
            assert await client.jobs.reviews() == []
        if meanwhile == "generate":
            assert (await client.contents.generate(content_id)).id == job.id
        await asyncio.sleep(10.1)
        (review,) = await client.jobs.reviews()
        assert review.generation.id == job.id
    assert len(sandbox.ledger.launches()) == 1


async def test_a_newer_generation_counts_when_it_stays() -> None:
    """A third identifier that a copy shows for a moment does not end the job, nor does a job that waits for it."""
    sandbox = box(60.0)
    content_id = sandbox.content_ids[0]
    until = [0.0]
    spoil = lagging(f"{content_id}/generation", lambda: now() < until[0], id="gen_third", status="queued")
    async with client_of(sandbox, transport=Spoiling(sandbox, spoil)) as client:
        job = await client.contents.generate(content_id)
        await job.refresh()
        until[0] = now() + 45
        assert (await job).generation.id == job.id


async def test_a_success_from_before_the_launch_is_never_the_result() -> None:
    """A lagging copy shows an old success after a running word was seen: that document is not the result."""
    sandbox = box(60.0)
    keyword_id = sandbox.analyzed_keyword_ids[0]
    old = "2020-01-01T00:00:00Z"
    until = [0.0]
    spoil = lagging(keyword_id, lambda: now() < until[0], analysisStatus="success", lastAnalyzedAt=old)
    async with client_of(sandbox, transport=Spoiling(sandbox, spoil)) as client:
        job = await client.keywords.analyze(keyword_id)
        assert (await job.refresh()).state in ("queued", "pending")
        until[0] = now() + 100
        keyword = await job
        assert keyword.last_analyzed_at is not None
        assert keyword.last_analyzed_at.year == 2026
        assert job.status.elapsed >= 100


@pytest.mark.parametrize("behind", [90.0, 3 * 3600.0])
async def test_a_service_whose_stamps_are_late_is_understood(behind: float) -> None:
    """Where the machine that dates analyses is slow, a time later than the one shown while it ran, or none, is news."""
    sandbox = box(20.0, behaviour=Behaviour(stamps_ahead=-behind))
    first, never = sandbox.analyzed_keyword_ids[0], sandbox.keyword_ids[0]
    async with client_of(sandbox) as client:
        for keyword_id in (first, never):
            job = await client.keywords.analyze(keyword_id)
            assert (await job).analysis_status == "success"
            assert job.status.elapsed <= 31 + 60 + 10


async def test_a_time_that_is_that_of_the_launch_counts_when_it_stays() -> None:
    """Where a service dates an analysis when it begins, its end has the time that was shown while it ran."""
    sandbox = box(40.0)
    keyword_id = sandbox.analyzed_keyword_ids[0]
    launched = sandbox.now() + 1
    spoil = lagging(keyword_id, lambda: True, lastAnalyzedAt=datetime.fromtimestamp(launched, UTC).isoformat())
    async with client_of(sandbox, transport=Spoiling(sandbox, spoil)) as client:
        job = await client.keywords.analyze(keyword_id)
        assert (await job).analysis_status == "success"
        assert 40 + 60 - 1e-6 <= job.status.elapsed <= 40 + 60 + 25


async def test_a_failure_that_leaves_the_old_time_counts_when_it_stays() -> None:
    """A failure with the time of an earlier analysis may be shown by an old copy; after a minute it is this one's."""
    sandbox = box(30.0)
    keyword_id = sandbox.analyzed_keyword_ids[0]
    until = [0.0]
    old = "2020-01-01T00:00:00Z"
    spoil = lagging(keyword_id, lambda: now() < until[0], analysisStatus="failed", lastAnalyzedAt=old)
    async with client_of(sandbox, transport=Spoiling(sandbox, spoil)) as client:
        job = await client.keywords.analyze(keyword_id)
        await job.refresh()
        until[0] = now() + 40
        assert (await job).analysis_status == "success"
        sandbox.set_outcome(keyword_id, "failed")
        again = await client.keywords.analyze(keyword_id)
        with pytest.raises(cmsapi.JobFailedError):
            await again
        # The poll that is timed for the end of the doubt may come earlier by a rounding error.
        assert 30 + 60 - 1e-6 <= again.status.elapsed <= 30 + 60 + 25


async def test_a_failure_after_a_success_that_was_seen_is_a_later_one() -> None:
    """A failure that no poll saw coming leaves the time of the success before it: it does not wait for half an hour."""
    sandbox = box(1.0)
    keyword_id = sandbox.keyword_ids[0]
    async with client_of(sandbox) as client:
        await (await client.keywords.analyze(keyword_id))
        sandbox.set_outcome(keyword_id, "failed")
        job = await client.keywords.analyze(keyword_id)
        with pytest.raises(cmsapi.JobFailedError):
            await job
        assert 300 <= job.status.elapsed <= 300 + 30


def cut_list(size: Callable[[], int], has_more: bool = False) -> Spoil:
    """Show only the first ideas of a search, as its whole list."""

    def spoil(request: Request, response: Response) -> Response:
        if "/content-ideas" not in request.url or response.status != 200:
            return response
        document = json.loads(response.body)
        data = document["data"][: size()]
        pagination = {**document["pagination"], "total": len(data), "hasMore": has_more}
        return attrs.evolve(response, body=json.dumps({"data": data, "pagination": pagination}).encode())

    return spoil


@pytest.mark.parametrize("early", [0, 7])
async def test_ideas_that_come_late_are_waited_for(early: int) -> None:
    """A search that announces more ideas than its list shows is finished once they are there."""
    sandbox = box(20.0)
    until = [0.0]
    spoil = cut_list(lambda: early if now() < until[0] else 1000)
    async with client_of(sandbox, transport=Spoiling(sandbox, spoil)) as client:
        job = await client.content_ideas.search(sandbox.workspace_id, "tents")
        until[0] = now() + 60
        ideas = await job
        assert len(ideas) == ideas.search.nb_content_ideas
        assert ideas.complete
        assert 60 <= job.status.elapsed <= 80


async def test_ideas_that_never_come_are_told(caplog: pytest.LogCaptureFixture) -> None:
    """After two minutes the ideas that there are come as the result, which says that it is not complete."""
    sandbox = box(20.0)
    async with client_of(sandbox, transport=Spoiling(sandbox, cut_list(lambda: 7))) as client:
        job = await client.content_ideas.search(sandbox.workspace_id, "tents")
        ideas = await job
        announced = ideas.search.nb_content_ideas
        assert (len(ideas), ideas.complete) == (7, False)
        assert announced is not None
        assert announced > 7
        assert 120 <= job.status.elapsed <= 170
    assert [record.levelname for record in caplog.records if f"7 of {announced} ideas" in record.message] == ["WARNING"]


@pytest.mark.parametrize("kind", ["search", "generation"])
async def test_a_job_that_is_not_there_yet_is_waited_for(kind: str) -> None:
    """A launch that was answered may be followed by 404 for minutes: a job that was never seen has not vanished."""
    sandbox = box(30.0)
    until = [0.0]
    ending = "/generation" if kind == "generation" else ""

    def spoil(request: Request, response: Response) -> Response:
        looked_up = request.method == "GET" and (
            "content-idea-searches/" in request.url or "/generation" in request.url
        )
        if looked_up and now() < until[0]:
            return lagging(ending, lambda: True, 404)(request, response)
        return response

    async with client_of(sandbox, transport=Spoiling(sandbox, spoil)) as client:
        until[0] = now() + 90
        if kind == "generation":
            job: cmsapi.jobs.Job[Any] = await client.contents.generate(sandbox.content_ids[0])
        else:
            job = await client.content_ideas.search(sandbox.workspace_id, "tents")
        await job
        assert job.status.elapsed <= 120


async def test_the_analysis_of_a_moment_ago_is_not_the_new_one() -> None:
    """An analysis that is launched again within a second of its end is not ended by the success from before."""
    sandbox = box(30.0)
    keyword_id = sandbox.keyword_ids[0]
    kept: list[Response] = []
    until = [0.0]

    def spoil(request: Request, response: Response) -> Response:
        if request.method == "GET" and now() < until[0]:
            return kept[-1]
        kept.append(response)
        return response

    async with client_of(sandbox, transport=Spoiling(sandbox, spoil)) as client:
        first = await client.keywords.analyze(keyword_id)
        await asyncio.sleep(5)
        sandbox.finish(keyword_id)
        await first.refresh()
        before = first.result().last_analyzed_at
        job = await client.keywords.analyze(keyword_id)
        until[0] = now() + 25
        newest = (await job).last_analyzed_at
        assert job.status.elapsed >= 25
        assert before is not None
        assert newest is not None
        assert newest > before


async def test_ideas_whose_number_is_not_told_are_taken_as_far_as_they_go() -> None:
    """A list that says for ever that more follows, and repeats its page, does not keep the paid ideas back."""
    sandbox = box(20.0)

    def spoil(request: Request, response: Response) -> Response:
        if request.method != "GET" or "content-idea" not in request.url or response.status != 200:
            return response
        document = json.loads(response.body)
        if "data" in document:
            document["pagination"] = {**document["pagination"], "total": None, "hasMore": True}
            document["data"] = document["data"] or kept[0]
            kept.append(document["data"])
        else:
            document["nbContentIdeas"] = None
        return attrs.evolve(response, body=json.dumps(document).encode())

    kept: list[object] = []
    async with client_of(sandbox, transport=Spoiling(sandbox, spoil)) as client:
        job = await client.content_ideas.search(sandbox.workspace_id, "tents")
        ideas = await job
        assert len(ideas) > 0
        assert job.status.elapsed <= 40


async def test_null_for_a_generation_is_none() -> None:
    """Where a service answers null and not 404, an article can be launched, and one whose answer is lost is found."""
    sandbox = box(80.0, rules=[Fault(match="POST */atomic", drop=True, when="after")])

    def spoil(request: Request, response: Response) -> Response:
        none = request.url.endswith("/generation") and response.status == 404
        return attrs.evolve(response, status=200, body=b"null") if none else response

    async with client_of(sandbox, transport=Spoiling(sandbox, spoil)) as client:
        job = await client.contents.generate(sandbox.content_ids[0])
        assert (await job).generation.status == "review"
    assert len(sandbox.ledger.launches()) == 1
