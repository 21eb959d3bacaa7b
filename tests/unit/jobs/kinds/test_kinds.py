"""Each kind of job from launch to end, and how often it is polled on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Any

import attrs
import pytest

import cmsapi
from cmsapi.api.models.keyword import Keyword, Prompt
from cmsapi.api.models.knowledge_document import KnowledgeDocument
from cmsapi.jobs import ContentIdeas, GenerationReview, Job
from cmsapi.sandbox import Behaviour, Fault, Sandbox
from tests.support.jobs import box, client_of, polls

pytestmark = pytest.mark.looptime

LaunchRequest = Callable[[cmsapi.Client, Sandbox], Awaitable[Job[Any]]]


async def analyze_keyword(client: cmsapi.Client, sandbox: Sandbox) -> Job[Keyword]:
    """Launch the analysis of a keyword."""
    return await client.keywords.analyze(sandbox.keyword_ids[0])


async def analyze_prompt(client: cmsapi.Client, sandbox: Sandbox) -> Job[Prompt]:
    """Launch the analysis of a prompt."""
    return await client.prompts.analyze(sandbox.prompt_ids[0])


async def search(client: cmsapi.Client, sandbox: Sandbox) -> Job[ContentIdeas]:
    """Launch a search of content ideas."""
    return await client.content_ideas.search(sandbox.workspace_id, "trail running")


async def generate(client: cmsapi.Client, sandbox: Sandbox) -> Job[GenerationReview]:
    """Launch a generation."""
    return await client.contents.generate(sandbox.content_ids[0])


async def create_document(client: cmsapi.Client, sandbox: Sandbox) -> Job[KnowledgeDocument]:
    """Create a knowledge document."""
    return await client.knowledge_documents.create(sandbox.workspace_id, "Tone", text="Plain and warm.")


@attrs.frozen
class Kind:
    """Hold a kind and how it is launched and ends."""

    name: str
    launch: LaunchRequest
    result: type
    phase: str = "succeeded"
    state: str = "success"


KINDS = [
    Kind("keyword_analysis", analyze_keyword, Keyword),
    Kind("prompt_analysis", analyze_prompt, Prompt),
    Kind("idea_search", search, ContentIdeas),
    Kind("generation", generate, GenerationReview, "review", "review"),
    Kind("knowledge_document", create_document, KnowledgeDocument),
]
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


@each_kind
async def test_success_gives_the_result(kind: Kind) -> None:
    """A job that succeeds gives its typed result, once and to everybody who asks later."""
    sandbox = box(30.0)
    async with client_of(sandbox) as client:
        job = await kind.launch(client, sandbox)
        before = len(polls(sandbox, kind.name))
        assert (job.kind, job.done(), job.status.phase) == (kind.name, False, "running")
        result = await job
        assert isinstance(result, kind.result)
        assert await job is result
        status = job.status
        assert (job.done(), status.phase, status.state) == (True, kind.phase, kind.state)
        assert 30.0 <= status.elapsed <= 41.0
        assert (status.next_poll_at, status.why_next) == (None, "it is finished")
        assert status.polls == len(polls(sandbox, kind.name)) - before


@each_kind
async def test_failure_is_an_error_with_a_way_on(kind: Kind) -> None:
    """A job that the service calls failed raises `JobFailedError`, which carries job, token and status."""
    sandbox = Sandbox(failures=1.0, behaviour=Behaviour(failed_analysis_timestamp="new"))
    async with client_of(sandbox) as client:
        job = await kind.launch(client, sandbox)
        for _ in range(2):
            with pytest.raises(cmsapi.JobFailedError, match="credit_usages") as caught:
                await job
            assert (caught.value.job, caught.value.token, caught.value.status.phase) == (job, job.token, "failed")
        assert job.done()


@each_kind
async def test_polls_come_every_five_to_ten_seconds(kind: Kind) -> None:
    """The gaps between the polls of a job lie between 5 and 10 seconds and differ."""
    sandbox = box(200.0)
    async with client_of(sandbox) as client:
        job = await kind.launch(client, sandbox)
        launched, before = sandbox.ledger[-1].at, len(polls(sandbox, kind.name))
        await job
    times = [entry.at for entry in polls(sandbox, kind.name)[before:]]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert len(times) > 20
    assert all(5.0 - 1e-6 <= gap <= 10.001 for gap in gaps)
    assert len({round(gap, 3) for gap in gaps}) > 2
    if kind.name != "knowledge_document":
        assert 5.0 <= times[0] - launched <= 10.001


@each_kind
async def test_many_awaiters_share_one_stream(kind: Kind) -> None:
    """Ten awaiters of a job cost the polls of one and get the same result."""
    sandbox = box(60.0)
    async with client_of(sandbox) as client:
        job = await kind.launch(client, sandbox)
        results = await asyncio.gather(*[job.wait() for _ in range(10)])
        assert all(result is results[0] for result in results)
    assert 6 <= len(polls(sandbox, kind.name)) <= 13


async def test_jobs_launched_together_are_not_polled_together() -> None:
    """The moment of a poll is drawn anew for each job."""
    sandbox = box(60.0)
    async with client_of(sandbox) as client:
        jobs = [await client.keywords.analyze(id_) for id_ in sandbox.keyword_ids[:10]]
        await client.jobs.gather(*jobs)
    firsts = [round(polls(sandbox, "keyword_analysis", id_)[0].at, 2) for id_ in sandbox.keyword_ids[:10]]
    assert len(set(firsts)) > 2
    assert max(firsts.count(first) for first in firsts) < 8


async def test_a_search_gives_all_its_ideas() -> None:
    """The result of a search is the sequence of its ideas, with the record beside it."""
    sandbox = box(10.0)
    async with client_of(sandbox) as client:
        found = await (await client.content_ideas.search(sandbox.workspace_id, "trail running"))
        assert found.search.keyword == "trail running"
        assert len(found) == found.search.nb_content_ideas == len(set(found))
        assert (found[0], found[:2], list(found)[-1]) == (found.ideas[0], found.ideas[:2], found.ideas[-1])
        listed = [idea async for idea in client.content_ideas.list(found.search.id)]
        assert listed == list(found.ideas)
        assert await client.content_ideas.get(found.search.id) == found.search


@each_kind
async def test_a_job_shows_what_it_is(kind: Kind) -> None:
    """Representation, identifier and target name the job."""
    sandbox = box(30.0)
    async with client_of(sandbox) as client:
        job = await kind.launch(client, sandbox)
        assert job.id in repr(job)
        assert kind.name in repr(job)
        assert (job.id == job.target) is (kind.name != "generation")
        await job.refresh()
        assert f"({job.status.state})" in repr(job)


async def test_only_a_generation_has_a_review() -> None:
    """`review()` waits for a generation's review, and refuses other kinds at once."""
    sandbox = box(30.0)
    async with client_of(sandbox) as client:
        job = await client.contents.generate(sandbox.content_ids[0])
        review = await job.review()
        assert review.generation.status == "review"
        assert job.id == review.generation.id
        analysis = await client.keywords.analyze(sandbox.keyword_ids[0])
        seen = len(sandbox.ledger)
        with pytest.raises(cmsapi.ArgumentError, match="only a generation has a review, got a keyword_analysis"):
            await analysis.review()
        assert len(sandbox.ledger) == seen


async def test_ideas_that_cannot_be_read_yet_are_read_later() -> None:
    """A failure between the success of a search and its ideas only makes the next poll due."""
    sandbox = box(10.0, rules=[Fault(match="GET *content-ideas", status=409, times=2)])
    async with client_of(sandbox) as client:
        found = await (await client.content_ideas.search(sandbox.workspace_id, "tents"))
        assert len(found) > 0
    assert len(polls(sandbox, "idea_search")) >= 3
