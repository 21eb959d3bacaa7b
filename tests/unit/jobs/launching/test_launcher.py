"""A launch is paid at most once: joined, refused, unknown, called back or left alone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Literal

import attrs
import pytest

import cmsapi
from cmsapi.api.models.generation import GenerationSettings
from cmsapi.config import LaunchPolicy
from cmsapi.jobs import GenerationReview, Job
from cmsapi.message import Request, Response
from cmsapi.sandbox import Behaviour, Credits, Fault, Limits, Sandbox
from tests.support.jobs import Spoiling, box, client_of, unreadable
from tests.support.launches import NeverConnected, posts, rely_on_books, spent

pytestmark = pytest.mark.looptime

LaunchRequest = Callable[[cmsapi.Client, Sandbox], Awaitable[Job[Any]]]

LAUNCHES: dict[str, tuple[str, LaunchRequest]] = {
    "keyword_analysis": ("POST /v1/keywords/*/analyze", lambda c, s: c.keywords.analyze(s.keyword_ids[0])),
    "prompt_analysis": ("POST /v1/prompts/*/analyze", lambda c, s: c.prompts.analyze(s.prompt_ids[0])),
    "idea_search": ("POST *content-idea-searches", lambda c, s: c.content_ideas.search(s.workspace_id, "tents")),
    "generation": ("POST *atomic", lambda c, s: c.contents.generate(s.content_ids[0])),
}
each_launch = pytest.mark.parametrize("kind", LAUNCHES)
each_joined_launch = pytest.mark.parametrize("kind", [kind for kind in LAUNCHES if kind != "idea_search"])


# Joining


@each_joined_launch
async def test_launches_join_the_one_that_is_being_sent(kind: str) -> None:
    """Launches of the same work at the same time are one request, one job and one credit."""
    sandbox = box(30.0, latency=(1.0, 1.0))
    async with client_of(sandbox) as client:
        jobs = await asyncio.gather(*[LAUNCHES[kind][1](client, sandbox) for _ in range(5)])
        assert len(set(jobs)) == 1
        await jobs[0]
    assert (posts(sandbox), len(sandbox.ledger.launches()), spent(sandbox)) == (1, 1, 1)


@each_joined_launch
@pytest.mark.parametrize("waited", [True, False])
async def test_launches_join_the_one_that_runs(kind: str, waited: bool) -> None:
    """A launch during the job returns it; one poll is spent when it has no waiters."""
    sandbox = box(60.0)
    async with client_of(sandbox) as client:
        launch = LAUNCHES[kind][1]
        job = await launch(client, sandbox)
        waiter = asyncio.create_task(job.wait()) if waited else None
        await asyncio.sleep(2)
        seen = len(sandbox.ledger)
        assert await launch(client, sandbox) is job
        assert len(sandbox.ledger) == seen + (not waited)
        await (waiter or job)
    assert (posts(sandbox), spent(sandbox)) == (1, 1)


async def test_copies_of_a_client_join_each_others_launches() -> None:
    """A client made by `with_options` does not pay again for what the other launched or is sending."""
    sandbox = box(30.0, latency=(1.0, 1.0))
    keyword_id = sandbox.keyword_ids[0]
    async with client_of(sandbox) as client:
        copy = client.with_options(timeouts=cmsapi.Timeouts(request=10.0))
        jobs = await asyncio.gather(client.keywords.analyze(keyword_id), copy.keywords.analyze(keyword_id))
        assert jobs[0] is jobs[1] is await copy.keywords.analyze(keyword_id)
        await jobs[0]
    assert (posts(sandbox), spent(sandbox)) == (1, 1)


async def test_a_finished_job_is_not_joined() -> None:
    """A launch after the end is another job and another credit, also when no poll saw the end."""
    sandbox = box(30.0)
    keyword_id = sandbox.keyword_ids[0]
    async with client_of(sandbox) as client:
        first = await client.keywords.analyze(keyword_id)
        await first
        second = await client.keywords.analyze(keyword_id)
        assert second is not first
        await asyncio.sleep(60)
        third = await client.keywords.analyze(keyword_id)
        assert third is not second
        assert second.done()
        await third
    assert (posts(sandbox), spent(sandbox)) == (3, 3)


async def test_two_who_find_the_end_at_once_launch_once() -> None:
    """Two launches that both find an earlier job ended are one launch."""
    sandbox = box(30.0, latency=(0.5, 1.0))
    keyword_id = sandbox.keyword_ids[0]
    async with client_of(sandbox) as client:
        first = await client.keywords.analyze(keyword_id)
        await asyncio.sleep(60)
        jobs = await asyncio.gather(*[client.keywords.analyze(keyword_id) for _ in range(4)])
        assert len(set(jobs)) == 1
        assert jobs[0] is not first
    assert (posts(sandbox), spent(sandbox)) == (2, 2)


@each_joined_launch
async def test_a_detached_job_is_joined_while_it_goes_on(kind: str) -> None:
    """A launch after `detach` returns the job and is not paid again; after the end it is another one."""
    sandbox = box(60.0)
    async with client_of(sandbox) as client:
        launch = LAUNCHES[kind][1]
        job = await launch(client, sandbox)
        job.detach()
        assert await launch(client, sandbox) is job
        assert posts(sandbox) == 1
        await job


@pytest.mark.parametrize("kind", ["keyword_analysis", "prompt_analysis"])
async def test_an_attached_job_is_joined_while_it_goes_on(kind: str) -> None:
    """A launch of what another process launched joins its job once that is attached, and is not paid again."""
    sandbox = box(60.0)
    launch = LAUNCHES[kind][1]
    async with client_of(sandbox) as client:
        token = (await launch(client, sandbox)).token
    async with client_of(sandbox) as client:
        job = client.jobs.attach(token)
        assert await launch(client, sandbox) is job
        assert client.jobs.attach(token) is job
        await job
        assert (posts(sandbox), spent(sandbox)) == (1, 1)
        assert await launch(client, sandbox) is not job
    assert (posts(sandbox), spent(sandbox)) == (2, 2)


async def test_an_attached_generation_is_not_paid_again() -> None:
    """A token does not say with which settings a generation was launched, so another launch is refused."""
    sandbox = box(60.0)
    content_id = sandbox.content_ids[0]
    async with client_of(sandbox) as client:
        token = (await client.contents.generate(content_id)).token
    async with client_of(sandbox) as client:
        job = client.jobs.attach(token)
        with pytest.raises(cmsapi.JobError, match="not known to this client") as caught:
            await client.contents.generate(content_id)
        assert caught.value.job is job
    assert (posts(sandbox), spent(sandbox)) == (1, 1)


async def test_a_watched_job_that_is_attached_is_not_joined() -> None:
    """A client that watches the work of another one still launches its own, as without the token."""
    sandbox = box(60.0)
    keyword_id = sandbox.keyword_ids[0]
    async with client_of(sandbox) as client:
        watched = client.jobs.attach(client.jobs.watch("keyword_analysis", keyword_id).token)
        assert await client.keywords.analyze(keyword_id) is not watched
    assert posts(sandbox) == 1


async def test_searches_are_never_joined() -> None:
    """Two searches for one keyword are separate requests and are never merged."""
    sandbox = box(30.0)
    async with client_of(sandbox) as client:
        jobs = await asyncio.gather(*[client.content_ideas.search(sandbox.workspace_id, "tents") for _ in range(2)])
        assert jobs[0].id != jobs[1].id
    assert (posts(sandbox), spent(sandbox)) == (2, 2)


async def test_other_settings_are_an_error() -> None:
    """A generation with other settings than the one under way is neither sent nor joined."""
    sandbox = box(30.0, latency=(1.0, 1.0))
    content_id = sandbox.content_ids[0]
    checked = GenerationSettings(fact_checking_enabled=True)
    async with client_of(sandbox) as client:
        first = asyncio.create_task(client.contents.generate(content_id, checked))
        await asyncio.sleep(0.5)
        with pytest.raises(cmsapi.JobError, match="with other settings"):
            await client.contents.generate(content_id)
        job = await first
        with pytest.raises(cmsapi.JobError, match="with other settings") as caught:
            await client.contents.generate(content_id, GenerationSettings(fact_checking_enabled=False))
        assert caught.value.job is job
        same = GenerationSettings(fact_checking_enabled=True)
        assert await client.contents.generate(content_id, same) is job
        await job
    assert posts(sandbox) == 1


async def test_a_policy_may_forbid_joining() -> None:
    """`dedupe="error"` refuses a second launch while it is sent and while it runs, and allows it afterwards."""
    sandbox = box(30.0, latency=(1.0, 1.0))
    keyword_id = sandbox.keyword_ids[0]
    async with client_of(sandbox, launch=LaunchPolicy(dedupe="error")) as client:
        first = asyncio.create_task(client.keywords.analyze(keyword_id))
        await asyncio.sleep(0.5)
        with pytest.raises(cmsapi.JobError, match="under way already; nothing was sent"):
            await client.keywords.analyze(keyword_id)
        job = await first
        with pytest.raises(cmsapi.JobError, match="under way already") as caught:
            await client.keywords.analyze(keyword_id)
        assert caught.value.token == job.token
        await asyncio.sleep(60)
        await (await client.keywords.analyze(keyword_id))
    assert posts(sandbox) == 2


async def test_a_policy_may_allow_paying_twice() -> None:
    """`dedupe="allow"` sends every launch; the service's answer is the answer."""
    sandbox = box(30.0)
    keyword_id = sandbox.keyword_ids[0]
    async with client_of(sandbox, launch=LaunchPolicy(dedupe="allow")) as client:
        results = await asyncio.gather(*[client.keywords.analyze(keyword_id) for _ in range(2)], return_exceptions=True)
        assert [type(result) for result in results] == [Job, cmsapi.ConflictError]
    assert posts(sandbox) == 2


async def test_a_poll_that_fails_keeps_a_launch_from_being_sent() -> None:
    """When it cannot be seen whether the earlier job runs, nothing is paid."""
    sandbox = box(60.0, rules=[Fault(match="GET /v1/keywords/*", status=503, times=5)])
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        with pytest.raises(cmsapi.ServiceUnavailableError):
            await client.keywords.analyze(sandbox.keyword_ids[0])
        assert await client.keywords.analyze(sandbox.keyword_ids[0]) is job
    assert posts(sandbox) == 1


async def test_a_poll_that_decides_on_a_launch_is_repeated() -> None:
    """One bad answer to the question whether the earlier job runs does not fail the launch."""
    sandbox = box(60.0, rules=[Fault(match="GET /v1/keywords/*", status=503)])
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        assert await client.keywords.analyze(sandbox.keyword_ids[0]) is job
    assert posts(sandbox) == 1


async def test_jobs_of_yesterday_are_forgotten() -> None:
    """A job that was not polled for a day is not kept in memory for ever."""
    sandbox = box(30.0)
    first, second = sandbox.keyword_ids[:2]
    async with client_of(sandbox) as client:
        await client.keywords.analyze(first)
        await asyncio.sleep(90_000)
        await client.keywords.analyze(second)
        seen = len(sandbox.ledger)
        await client.keywords.analyze(first)
        assert [entry.operation for entry in sandbox.ledger[seen:]] == ["analyze_keyword"]


# An article that waits for its decision


@pytest.mark.parametrize("seen", [True, False])
async def test_an_undecided_article_is_joined(seen: bool) -> None:
    """A generation whose article waits in review is not paid again, whether or not a poll saw that."""
    sandbox = box(30.0)
    content_id = sandbox.content_ids[0]
    async with client_of(sandbox) as client:
        job = await client.contents.generate(content_id)
        if seen:
            await job
        await asyncio.sleep(60)
        again = await client.contents.generate(content_id, on_review=lambda review: "confirm")
        review = await again
        assert (again.id, review.decision) == (job.id, "confirm")
    assert (posts(sandbox), spent(sandbox)) == (1, 1)


async def test_after_a_failed_hook_the_article_is_joined() -> None:
    """Once a failing hook is repaired, launching again decides on the article that is there."""

    def fail(review: GenerationReview) -> Any:
        raise RuntimeError("no idea")

    sandbox = box(30.0)
    content_id = sandbox.content_ids[0]
    async with client_of(sandbox) as client:
        with pytest.raises(RuntimeError):
            await (await client.contents.generate(content_id, on_review=fail))
        left = await (await client.contents.generate(content_id, on_review=lambda review: "leave"))
        assert left.decision == "leave"
        review = await (await client.contents.generate(content_id, on_review=lambda review: "cancel"))
        assert review.decision == "cancel"
    assert (posts(sandbox), spent(sandbox)) == (1, 1)


async def test_two_who_find_an_undecided_article_decide_once() -> None:
    """Two launches at once that find an article in review are one job, and one hook decides."""
    sandbox = box(30.0, latency=(0.1, 1.0))
    content_id = sandbox.content_ids[0]
    calls: list[GenerationReview] = []

    def hook(review: GenerationReview) -> Any:
        calls.append(review)
        return "confirm"

    async with client_of(sandbox) as client:
        await (await client.contents.generate(content_id))
        jobs = await asyncio.gather(*[client.contents.generate(content_id, on_review=hook) for _ in range(3)])
        reviews = await client.jobs.gather(*jobs)
        assert {review.decision for review in reviews} == {"confirm"}
        assert len(set(jobs)) == len(calls) == 1
    assert sandbox.ledger.count(operation="confirm_generation") == posts(sandbox) == 1


async def test_a_decided_article_is_not_joined() -> None:
    """After a decision, here or elsewhere, a launch is another generation."""
    sandbox = box(30.0)
    content_id = sandbox.content_ids[0]
    async with client_of(sandbox) as client:
        first = await client.contents.generate(content_id)
        await (await first).confirm()
        second = await client.contents.generate(content_id)
        await second
        sandbox.cancel_elsewhere(content_id)
        third = await client.contents.generate(content_id)
        assert len({first.id, second.id, third.id}) == 3
    assert (posts(sandbox), spent(sandbox)) == (3, 3)


async def test_of_several_hooks_the_first_decides() -> None:
    """A joined launch does not replace the hook of the one that it joins."""
    sandbox = box(30.0)
    content_id = sandbox.content_ids[0]
    async with client_of(sandbox) as client:
        job = await client.contents.generate(content_id, on_review=lambda review: "cancel")
        assert await client.contents.generate(content_id, on_review=lambda review: "confirm") is job
        assert (await job).decision == "cancel"


# Unknown outcomes


@each_launch
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("how", ["drop", "500", "502", "503", "504"])
async def test_a_lost_answer_is_looked_up(kind: str, when: Any, how: str) -> None:
    """After a 5xx or a lost answer a launch is taken up, or sent again if it did not happen, and paid once.

    Usages name neither prompts nor articles, and nothing lists searches. What the service fails at by its own account
    is sent again all the same unless something shows a launch; before the launch of a prompt no balance is read.
    """
    match, launch = LAUNCHES[kind]
    status = None if how == "drop" else int(how)
    sandbox = box(60.0, rules=[Fault(match=match, status=status, drop=status is None, when=when)])
    await rely_on_books(sandbox)
    own = status in (500, 503) and kind != "prompt_analysis"
    lost = (kind, when) == ("idea_search", "after") or (
        when == "before" and kind in ("prompt_analysis", "generation") and not own
    )
    async with client_of(sandbox) as client:
        if lost:
            with pytest.raises(cmsapi.LaunchUnknownError):
                await launch(client, sandbox)
        else:
            job = await launch(client, sandbox)
            await job
            assert not job.adopted
    assert posts(sandbox) == (1 if lost or when == "after" else 2)
    assert spent(sandbox) == len(sandbox.ledger.launches()) == (not lost or when == "after")


@pytest.mark.parametrize(
    ("before", "after", "when"), [(0.0, -7200.0, "after"), (-7200.0, 0.0, "before")], ids=["since", "before"]
)
async def test_a_launch_is_not_repeated_when_a_clock_was_set_back(
    before: float, after: float, when: Literal["before", "after"]
) -> None:
    """What the service dates tells nothing then; its charge still tells that it may have happened."""
    lost = Fault(match="POST /v1/keywords/*/analyze", drop=True, when=when)
    null = Fault(match="GET /v1/keywords/*", spoil="null status", times=None)
    sandbox = box(10.0)
    keyword_id = sandbox.keyword_ids[0]
    async with client_of(sandbox) as client:
        await (await client.keywords.analyze(keyword_id))
        sandbox.step_clock(before)
        await asyncio.sleep(60.0)
        await client.me()
        for fault in (lost, null):
            sandbox.add_fault(fault)
        launch = asyncio.create_task(client.keywords.analyze(keyword_id))
        await asyncio.sleep(0.5)
        sandbox.step_clock(after)
        with pytest.raises(cmsapi.LaunchUnknownError):
            await launch
    assert posts(sandbox) == 2


@pytest.mark.parametrize("kind", ["prompt_analysis", "idea_search"])
async def test_an_unknown_outcome_is_told_and_not_repeated(kind: str) -> None:
    """When nothing tells whether a launch happened there is one POST, and an error that carries the evidence."""
    match, launch = LAUNCHES[kind]
    when: Any = "before" if kind == "prompt_analysis" else "after"
    sandbox = box(30.0, rules=[Fault(match=match, status=502, when=when)])
    async with client_of(sandbox) as client:
        with pytest.raises(cmsapi.LaunchUnknownError) as caught:
            await launch(client, sandbox)
    error, (post,) = caught.value, [entry for entry in sandbox.ledger if entry.method == "POST"]
    assert (error.kind, error.evidence["operation"]) == (kind, post.operation)
    assert error.target in ("tents", post.path.split("/")[3])
    assert error.evidence["asked_at"].endswith("+00:00")
    assert "502" in error.evidence["said"]
    told = "the balance was not read" if kind == "prompt_analysis" else "its credit was charged (usage "
    assert error.evidence["found"].startswith(told)
    assert "paid twice" in str(error)


@each_launch
async def test_an_unreadable_answer(kind: str) -> None:
    """A 2xx that is no JSON launched the job; only the identifier of a search cannot be found out."""
    match, launch = LAUNCHES[kind]
    ending = match.rpartition("*")[2]
    sandbox = box(30.0)
    async with client_of(sandbox, transport=Spoiling(sandbox, unreadable("POST", ending))) as client:
        if kind == "idea_search":
            with pytest.raises(cmsapi.LaunchUnknownError):
                await launch(client, sandbox)
        else:
            await (await launch(client, sandbox))
    assert (posts(sandbox), spent(sandbox)) == (1, 1)


@pytest.mark.parametrize("effect", [True, False])
async def test_a_page_of_another_server_is_a_lost_answer(effect: bool) -> None:
    """A 200 with HTML says nothing of an analysis: it is found, or sent again because it certainly did not happen."""
    sandbox = box(80.0)
    keyword_id = sandbox.keyword_ids[0]
    pages: list[Request] = []

    class Portal:
        async def send(self, request: Request) -> Response:
            if pages or not request.url.endswith(f"{keyword_id}/analyze"):
                return await sandbox.transport.send(request)
            pages.append(request)
            if effect:
                await sandbox.transport.send(request)
            return Response(200, {"content-type": "text/html"}, b"\n<!DOCTYPE html><html>Please log in</html>")

    async with client_of(sandbox, transport=Portal()) as client:
        await rely_on_books(sandbox)
        job = await client.keywords.analyze(keyword_id)
        assert asyncio.get_running_loop().time() >= 60
        assert (await job).analysis_status == "success"
    assert (posts(sandbox), spent(sandbox)) == (1, 1)


async def test_an_answer_without_an_identifier() -> None:
    """A 2xx whose document has no identifier is told as unknown, with what was wrong."""

    def spoil(request: cmsapi.Request, response: cmsapi.Response) -> cmsapi.Response:
        if request.method == "GET":
            return response
        return cmsapi.Response(202, response.headers, b'{"message": "started"}')

    sandbox = box(30.0)
    async with client_of(sandbox, transport=Spoiling(sandbox, spoil)) as client:
        with pytest.raises(cmsapi.LaunchUnknownError) as caught:
            await client.content_ideas.search(sandbox.workspace_id, "tents")
    assert "$.id" in caught.value.evidence["said"]


async def test_joined_launches_share_an_unknown_outcome() -> None:
    """Everybody who joined a launch hears that its outcome is unknown, each with an error of their own."""
    rules = [Fault(match="POST /v1/prompts/*/analyze", drop=True)]
    sandbox = box(30.0, rules=rules, latency=(1.0, 1.0))
    async with client_of(sandbox) as client:
        calls = [client.prompts.analyze(sandbox.prompt_ids[0]) for _ in range(3)]
        errors = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(error, cmsapi.LaunchUnknownError) for error in errors)
    assert len({id(error) for error in errors}) == 3
    assert posts(sandbox) == 1


async def test_a_transport_that_breaks_its_promise_is_an_unknown_outcome() -> None:
    """Whatever a transport raises, a launch that it was given may have happened."""

    def spoil(request: cmsapi.Request, response: cmsapi.Response) -> cmsapi.Response:
        if request.url.endswith("/me"):
            return response
        raise KeyError("odd")

    sandbox = box(30.0)
    async with client_of(sandbox, transport=Spoiling(sandbox, spoil)) as client:
        with pytest.raises(cmsapi.LaunchUnknownError) as caught:
            await client.keywords.analyze(sandbox.keyword_ids[0])
        assert isinstance(caught.value.__cause__, KeyError)
    assert posts(sandbox) == 1


@pytest.mark.parametrize("late", [True, False])
async def test_a_deadline_is_unknown_only_when_something_was_sent(late: bool) -> None:
    """A deadline over the answer is an unknown launch; one over the wait for quota is a plain deadline."""
    latency = (2.0, 2.0) if late else None
    sandbox = box(30.0, latency=latency, limits=Limits(per_second=1))
    limits, timeouts = cmsapi.RateLimits(per_second=1), cmsapi.Timeouts(deadline=0.5 if not late else 3.0)
    async with client_of(sandbox, limits=limits, timeouts=timeouts) as client:
        if late:
            with pytest.raises(cmsapi.LaunchUnknownError):
                await client.prompts.analyze(sandbox.prompt_ids[0])
        else:
            await client.me()
            with pytest.raises(cmsapi.DeadlineError):
                await client.prompts.analyze(sandbox.prompt_ids[0])
    assert posts(sandbox) == late


# Refusals


async def test_a_429_is_repeated() -> None:
    """A launch that was put off is repeated after the wait that the service asks for, and paid once."""
    sandbox = box(30.0, rules=[Fault(match="POST *analyze", status=429, retry_after=9, times=2)])
    async with client_of(sandbox) as client:
        await (await client.keywords.analyze(sandbox.keyword_ids[0]))
    assert (posts(sandbox), spent(sandbox)) == (3, 1)


@pytest.mark.parametrize("refused", [409, 422])
async def test_refusals_are_the_services_own(refused: Any) -> None:
    """Without a completed analysis the service's error comes unchanged; without credits the error says what is left."""
    error: type[cmsapi.CMSError] = cmsapi.ConflictError if refused == 409 else cmsapi.ValidationError
    empty = r"credits left\. The balance is 0\. Nothing was launched or charged\. Credits are bought in"
    behaviour = Behaviour(refused_launch=refused)
    sandbox = box(30.0, behaviour=behaviour, credits=Credits(analysis=0, content_ideas_searches=0))
    async with client_of(sandbox) as client:
        draft = await client.contents.create(sandbox.workspace_id, "A blank draft")
        with pytest.raises(error, match="no completed analysis"):
            await client.contents.generate(draft.id)
        for kind in ("keyword_analysis", "prompt_analysis", "idea_search"):
            with pytest.raises(cmsapi.OutOfCreditsError, match=empty):
                await LAUNCHES[kind][1](client, sandbox)
        sandbox.set_credits(ai_writing=0)
        with pytest.raises(cmsapi.OutOfCreditsError, match=empty):
            await client.contents.generate(sandbox.content_ids[0])
        sandbox.set_credits(analysis=1)
        await (await client.keywords.analyze(sandbox.keyword_ids[0]))
        with pytest.raises(cmsapi.OutOfCreditsError, match=empty):
            await client.keywords.analyze(sandbox.keyword_ids[1])


async def test_a_refused_setting_is_named() -> None:
    """A 422 for a nested setting names the setting."""
    sandbox = box(30.0)
    async with client_of(sandbox) as client:
        with pytest.raises(cmsapi.ValidationError) as caught:
            await client.contents.generate(sandbox.content_ids[0], GenerationSettings(brand_voice_id="bvc_0"))
        assert caught.value.field == "brandVoiceId"
    assert spent(sandbox) == 0


# Callers that go


async def test_cancelling_the_caller_does_not_lose_the_job() -> None:
    """A launch whose caller is cancelled during the POST is found and joined by a later one."""
    sandbox = box(30.0, latency=(1.0, 1.0))
    keyword_id = sandbox.keyword_ids[0]
    async with client_of(sandbox) as client:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await client.keywords.analyze(keyword_id)
        assert posts(sandbox) == 0
        joined = asyncio.create_task(client.keywords.analyze(keyword_id))
        await asyncio.sleep(5)
        assert await client.keywords.analyze(keyword_id) is await joined
        assert (await (await joined)).analysis_status == "success"
    assert (posts(sandbox), spent(sandbox)) == (1, 1)


async def test_cancelling_a_caller_who_waits_for_quota_calls_the_launch_back() -> None:
    """A launch that has not left yet is not paid for after everybody who wanted it has gone."""
    sandbox = box(30.0)
    limits = cmsapi.RateLimits(per_second=1, per_hour=2)
    first, second = sandbox.keyword_ids[:2]
    async with client_of(sandbox, limits=limits) as client:
        await client.me()
        await client.me()
        calls = [asyncio.create_task(client.keywords.analyze(id_)) for id_ in (first, second, second)]
        await asyncio.sleep(10)
        calls[0].cancel()
        calls[1].cancel()
        await asyncio.gather(*calls[:2], return_exceptions=True)
        # The first launch has no waiter left, the second one has.
        job = await calls[2]
        assert job.target == second
        assert [entry.target_id for entry in sandbox.ledger.launches()] == [second]
        again = await client.keywords.analyze(first)
        assert again.target == first
    assert spent(sandbox) == 2


class NeverConnectedTelling(NeverConnected):
    """Do so and tell when bytes leave."""

    async def send_aware(self, request: Request, departing: Callable[[], None]) -> Response:
        """Carry one request."""
        departing()
        return await self.send(request)


@pytest.mark.parametrize("how", ["429", "no connection", "no connection, telling"])
async def test_a_launch_that_was_not_executed_can_be_called_back_again(how: str) -> None:
    """After a 429, or when nothing was sent, a launch without waiters is not sent again."""
    refusal = Fault(match="POST *analyze", status=429, retry_after=3000)
    sandbox = box(30.0, rules=[refusal] if how == "429" else [])
    transport = {
        "429": sandbox.transport,
        "no connection": NeverConnected(sandbox),
        "no connection, telling": NeverConnectedTelling(sandbox),
    }[how]
    slow = cmsapi.RetryPolicy(base=3000.0, cap=3000.0)
    async with client_of(sandbox, transport=transport, retry=slow) as client:
        launch = asyncio.create_task(client.keywords.analyze(sandbox.keyword_ids[0]))
        await asyncio.sleep(0.001)
        launch.cancel()
        await asyncio.gather(launch, return_exceptions=True)
        await asyncio.sleep(7200)
    assert spent(sandbox) == 0
    assert not sandbox.ledger.launches()


@attrs.define
class SlowToConnect:
    """Take twenty seconds to connect, and tell when bytes leave."""

    sandbox: Sandbox

    async def send(self, request: Request) -> Response:
        """Carry one request."""
        return await self.send_aware(request, lambda: None)

    async def send_aware(self, request: Request, departing: Callable[[], None]) -> Response:
        """Carry one request; launches wait for their connection."""
        if request.method == "POST":
            await asyncio.sleep(20.0)
        departing()
        return await self.sandbox.transport.send(request)


@pytest.mark.parametrize("after", [10.0, 20.001])
async def test_a_launch_is_called_back_until_its_bytes_may_leave(after: float) -> None:
    """A launch that is cancelled while it connects is not paid for; one that is in flight goes on as a job."""
    sandbox = box(30.0, latency=(1.0, 1.0))
    async with client_of(sandbox, transport=SlowToConnect(sandbox)) as client:
        await client.me()
        launch = asyncio.create_task(client.keywords.analyze(sandbox.keyword_ids[0]))
        await asyncio.sleep(after)
        launch.cancel()
        await asyncio.gather(launch, return_exceptions=True)
        await asyncio.sleep(60.0)
        assert spent(sandbox) == (after > 20.0)
        assert [entry.state for entry in await client.jobs.journal()] == (["running"] if after > 20.0 else [])


async def test_closing_a_client_does_not_cancel_its_callers() -> None:
    """A launch that waits for that of another client ends with an error when its own client is closed."""
    sandbox = box(30.0, latency=(10.0, 10.0))
    keyword_id = sandbox.keyword_ids[0]
    async with client_of(sandbox) as one, client_of(sandbox) as other:
        await one.me()
        first = asyncio.create_task(one.keywords.analyze(keyword_id))
        await asyncio.sleep(1.0)
        second = asyncio.create_task(other.keywords.analyze(keyword_id))
        await asyncio.sleep(1.5)
        await other.aclose()
        with pytest.raises(cmsapi.ClientClosedError, match="nothing was charged"):
            await second
        await first
    assert posts(sandbox) == 1


@pytest.mark.parametrize("turns", range(5))
async def test_a_launch_that_is_being_called_back_is_not_joined(turns: int) -> None:
    """A launch in the moment in which an earlier one is called back is sent by itself."""
    sandbox = box(30.0)
    async with client_of(sandbox, limits=cmsapi.RateLimits(per_second=1)) as client:
        await client.me()
        first = asyncio.create_task(client.keywords.analyze(sandbox.keyword_ids[0]))
        await asyncio.sleep(0.5)
        first.cancel()
        for _ in range(turns):
            await asyncio.sleep(0)
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        assert first.cancelled()
        await job
    assert posts(sandbox) == 1


@pytest.mark.looptime(False)
def test_a_program_that_ends_during_a_launch_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """When the loop ends while a launch is under way, the log says that it may have been paid."""
    sandbox = box(30.0, latency=(5.0, 5.0))

    async def main() -> None:
        client = client_of(sandbox)
        launching = asyncio.create_task(client.prompts.analyze(sandbox.prompt_ids[0]))
        async with asyncio.timeout(20):
            while not client.rate_limit.in_flight:  # noqa: ASYNC110  the program itself looks
                await asyncio.sleep(0.01)
        launching.cancel()
        await asyncio.wait([launching])

    asyncio.run(main())
    assert "no caller waits for this launch any more" in caplog.text


async def test_an_unknown_outcome_without_a_waiter_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """When the caller has gone, a launch that may have been paid is not swallowed."""
    sandbox = box(30.0, latency=(1.0, 1.0), rules=[Fault(match="POST *analyze", drop=True, when="after")])
    async with client_of(sandbox) as client:
        await client.me()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await client.keywords.analyze(sandbox.keyword_ids[0])
        await asyncio.sleep(5)
    assert "no caller waits for this launch any more" in caplog.text
    assert sandbox.keyword_ids[0] in caplog.text


async def test_a_searched_text_writes_no_line_of_its_own_into_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """A keyword that a stranger has typed can forge no line, and colours no terminal, through a log or an error."""
    sandbox = box(
        30.0, latency=(1.0, 1.0), rules=[Fault(match="POST */content-idea-searches", drop=True, when="after")]
    )
    typed = "tents\n2026-01-01 ERROR forged\x1b[31m"
    async with client_of(sandbox, launch=cmsapi.LaunchPolicy(settle=1.0)) as client:
        await client.me()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await client.content_ideas.search(sandbox.workspace_id, typed)
        await asyncio.sleep(5)
        none = client.with_options(launch=cmsapi.LaunchPolicy(max_credits=1))
        with pytest.raises(cmsapi.OutOfCreditsError) as refused:
            await none.content_ideas.search(sandbox.workspace_id, typed)
    assert "no caller waits for this launch any more" in caplog.text
    told = [record.getMessage() for record in caplog.records if "no caller" in record.getMessage()]
    assert all(text.isprintable() for text in (*told, str(refused.value)))


async def test_credits_go_down_by_what_was_launched() -> None:
    """Each kind of launch takes one credit of its balance."""
    sandbox = box(5.0)
    async with client_of(sandbox) as client:
        before = (await client.me()).organization.credits
        for _, launch in LAUNCHES.values():
            await launch(client, sandbox)
        after = (await client.me()).organization.credits
        assert before.analysis - after.analysis == 2
        assert before.ai_writing - after.ai_writing == 1
        assert before.content_ideas_searches - after.content_ideas_searches == 1


# What is said


async def test_a_hook_that_is_no_function_is_refused() -> None:
    """The parameter is named, and nothing is sent."""
    sandbox = box()
    hook: Any = "confirm"
    async with client_of(sandbox) as client:
        with pytest.raises(cmsapi.ArgumentError) as caught:
            await client.contents.generate(sandbox.content_ids[0], on_review=hook)
    assert str(caught.value).startswith("`on_review` must be a function, got 'confirm'.")
    assert caught.value.parameter == "on_review"
    assert len(sandbox.ledger) == 0


async def test_a_refusal_to_join_says_what_is_under_way() -> None:
    """While it is sent and while it runs: the kind, the target, whether the settings differ, and what can be done."""
    sandbox = box(60.0, latency=(1.0, 1.0))
    content_id = sandbox.content_ids[0]

    def said(problem: str) -> str:
        return (
            f"A generation for {content_id} is under way already{problem}; nothing was sent or charged. Wait for it, "
            "or launch with LaunchPolicy(dedupe='allow')."
        )

    async with client_of(sandbox) as client:
        strict = client.with_options(launch=LaunchPolicy(dedupe="error"))
        first = asyncio.create_task(client.contents.generate(content_id))
        await asyncio.sleep(3)
        told = []
        for _ in range(2):
            for other, settings in ((strict, None), (client, GenerationSettings(fact_checking_enabled=True))):
                with pytest.raises(cmsapi.JobError) as caught:
                    await other.contents.generate(content_id, settings)
                told.append(str(caught.value))
            await first
        token = (await first).token
    assert [text.partition("\n")[0] for text in told] == [said(""), said(" with other settings")] * 2
    async with client_of(sandbox) as client:
        client.jobs.attach(token)
        with pytest.raises(cmsapi.JobError) as caught:
            await client.contents.generate(content_id)
        assert str(caught.value).startswith(said(" with settings not known to this client"))


async def test_a_hook_does_not_decide_on_a_colleagues_article(caplog: pytest.LogCaptureFixture) -> None:
    """A generation that may be of another client is watched, its article left alone, and the log says so."""
    sandbox = box(5.0, rules=[Fault(match="POST *atomic", drop=True)])
    content_id = sandbox.content_ids[0]
    async with client_of(sandbox, launch=LaunchPolicy(settle=5.0)) as client:
        await client.me()
        launching = asyncio.create_task(client.contents.generate(content_id, on_review=lambda review: "confirm"))
        await asyncio.sleep(1)
        sandbox.supersede_generation(content_id)
        job = await launching
        assert job.adopted
        assert (await job).decision is None
    (said,) = [text for record in caplog.records if "colleague" in (text := record.getMessage())]
    assert said.startswith("<Job generation gen_")
    assert said.endswith(" may be a colleague's, so that on_review does not decide on it")


async def test_no_more_is_launched_than_the_policy_pays() -> None:
    """The next launch is refused in words, before it is sent; refused ones and joined ones do not count."""
    sandbox = box(60.0)
    first, second, third = sandbox.keyword_ids[:3]
    async with client_of(sandbox, launch=LaunchPolicy(max_credits=2)) as client:
        with pytest.raises(cmsapi.NotFoundError):
            await client.keywords.analyze("kwd_unheard_of")
        for keyword_id in (first, first, second):
            await client.keywords.analyze(keyword_id)
        with pytest.raises(cmsapi.OutOfCreditsError) as caught:
            await client.keywords.analyze(third)
        assert str(caught.value).startswith(
            "The 2 credits that LaunchPolicy(max_credits=) allows this client are spent: the keyword_analysis for "
            f"{third} was not sent, and nothing was charged for it. What is launched goes on."
        )
    assert (posts(sandbox), spent(sandbox)) == (3, 2)
