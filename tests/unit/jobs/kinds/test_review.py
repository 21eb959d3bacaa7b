"""Deciding on a generated article: by hand, by hook, elsewhere, and when answers get lost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import cmsapi
from cmsapi.jobs import GenerationReview, Job
from cmsapi.sandbox import Behaviour, Fault, Limits, Sandbox
from tests.support.jobs import Spoiling, box, client_of, polls, unreadable

pytestmark = pytest.mark.looptime

CONFIRM = "POST */generation/confirm"


async def reviewed(client: cmsapi.Client, sandbox: Sandbox) -> GenerationReview:
    """Generate an article and wait for its review."""
    return await (await client.contents.generate(sandbox.content_ids[0]))


def decisions(sandbox: Sandbox) -> list[tuple[str | None, bool]]:
    """Return the requests that decided, and whether they took effect."""
    return [
        (entry.operation, entry.effect)
        for entry in sandbox.ledger
        if entry.operation in ("confirm_generation", "cancel_generation")
    ]


async def test_confirming_applies_the_article() -> None:
    """`confirm` returns the content with the article, one version later, for no credit."""
    sandbox = box(10.0)
    async with client_of(sandbox) as client:
        before = await client.contents.get(sandbox.content_ids[0])
        review = await reviewed(client, sandbox)
        assert (review.decision, review.content, review.generation.status) == (None, None, "review")
        content = await review.confirm()
        assert (review.decision, review.content, review.generation.status) == ("confirm", content, "applied")
        assert (before.version, content.version) == (1, 2)
        assert content.is_started
        assert "confirm" in repr(review)
        # Once more changes nothing and reads the content again.
        assert (await review.confirm()).version == 2
        assert decisions(sandbox) == [("confirm_generation", True)]


@pytest.mark.parametrize("watched", [False, True])
async def test_the_status_of_a_job_tells_of_the_decision(watched: bool) -> None:
    """A job waits for a decision until its review has one; its token, attached again, is of the same job."""
    sandbox = box(10.0)
    async with client_of(sandbox) as client:
        for content_id, action, word in zip(
            sandbox.content_ids, ("confirm", "cancel"), ("applied", "discarded"), strict=False
        ):
            job = await client.contents.generate(content_id)
            if watched:
                await job
                job = client.jobs.watch("generation", content_id)
            review = await job
            assert (job.status.phase, job.status.state) == ("review", "review")
            await asyncio.sleep(5)
            await getattr(review, action)()
            assert (job.status.phase, job.status.state, job.done()) == ("succeeded", word, True)
            assert await job is review
            if not watched:
                assert client.jobs.attach(job.token) is job
            assert await client.jobs.reviews() == []


@pytest.mark.parametrize(
    ("listed", "decided"), [("running", "running"), ("running", "waiting"), ("waiting", "waiting")]
)
async def test_a_decision_on_a_listed_review_ends_the_job(listed: str, decided: str) -> None:
    """The job that this client holds has the decision, not one made elsewhere, and so has a rerun of its batch."""
    sandbox = box(10.0)
    content_id = sandbox.content_ids[0]
    async with client_of(sandbox) as client, client.jobs.batch("articles") as batch:
        outcomes = batch.map(client.contents.generate, [content_id])
        ended = asyncio.ensure_future(anext(outcomes))
        await asyncio.sleep(10.5)
        job = await client.contents.generate(content_id)
        assert not job.done()
        if listed == "waiting":
            await job
        (review,) = await client.jobs.reviews()
        if decided == "waiting":
            await job
        await review.confirm()
        assert (job.status.phase, job.status.state) == ("succeeded", "applied")
        assert (await job).decision == "confirm"
        await ended
        assert [outcome async for outcome in outcomes] == []
        assert (await client.jobs.journal(), await client.jobs.reviews()) == ([], [])
    async with client_of(sandbox) as client, client.jobs.batch("articles") as batch:
        (again,) = [outcome async for outcome in batch.map(client.contents.generate, [content_id])]
        assert again.result().decision == "confirm"
    assert len(sandbox.ledger.launches()) == 1


async def test_cancelling_discards_the_article() -> None:
    """`cancel` leaves the content as it was."""
    sandbox = box(10.0)
    async with client_of(sandbox) as client:
        before = await client.contents.get(sandbox.content_ids[0])
        review = await reviewed(client, sandbox)
        await review.cancel()
        await review.cancel()
        assert (review.decision, review.generation.status) == ("cancel", "discarded")
        after = await client.contents.get(sandbox.content_ids[0])
        assert (after.version, after.html) == (before.version, before.html)
        assert decisions(sandbox) == [("cancel_generation", True)]


async def test_two_decisions_at_once_are_one() -> None:
    """What one call decides, and loses the answer of, does not look to the other as decided elsewhere."""
    lost = Fault(match="POST */generation/cancel", drop=True, when="after")
    sandbox = box(10.0, rules=[lost], latency=(0.2, 0.2))
    async with client_of(sandbox) as client:
        review = await reviewed(client, sandbox)
        first = asyncio.create_task(review.cancel())
        await asyncio.sleep(0.5)
        await asyncio.gather(first, review.cancel())
        assert review.decision == "cancel"
        assert decisions(sandbox) == [("cancel_generation", True)]


async def test_a_decision_is_not_taken_back() -> None:
    """Cancelling what was confirmed is the service's conflict, and the decision stays."""
    sandbox = box(10.0)
    async with client_of(sandbox) as client:
        review = await reviewed(client, sandbox)
        await review.confirm()
        with pytest.raises(cmsapi.ConflictError):
            await review.cancel()
        assert review.decision == "confirm"


async def test_a_review_is_taken_up_later() -> None:
    """`contents.review` decides on a generation that another client launched."""
    sandbox = box(10.0)
    content_id = sandbox.content_ids[0]
    sandbox.supersede_generation(content_id)
    async with client_of(sandbox) as client:
        await asyncio.sleep(20)
        review = await client.contents.review(content_id)
        assert review.generation == await client.contents.generation(content_id)
        assert (await review.confirm()).version == 2


async def test_what_is_not_in_review_cannot_be_decided() -> None:
    """Deciding on a running generation is the service's conflict, unchanged."""
    sandbox = box(100.0)
    content_id = sandbox.content_ids[0]
    async with client_of(sandbox) as client:
        await client.contents.generate(content_id)
        review = await client.contents.review(content_id)
        with pytest.raises(cmsapi.ConflictError, match="not in review"):
            await review.confirm()
        assert review.decision is None
        sandbox.finish(content_id)
        assert (await review.confirm()).version == 2


# Hooks


def says(choice: Any) -> Callable[[GenerationReview], Any]:
    """Make a hook that answers at once."""
    return lambda review: choice


def says_later(choice: Any) -> Callable[[GenerationReview], Awaitable[Any]]:
    """Make a hook that thinks for a while."""

    async def hook(review: GenerationReview) -> Any:
        await asyncio.sleep(100)
        return choice

    return hook


@pytest.mark.parametrize("hook", [says, says_later])
@pytest.mark.parametrize(
    ("choice", "phase", "state", "version"),
    [("confirm", "succeeded", "applied", 2), ("cancel", "succeeded", "discarded", 1), ("leave", "review", "review", 1)],
)
async def test_a_hook_decides(hook: Any, choice: str, phase: str, state: str, version: int) -> None:
    """A hook, sync or async, decides once; the job ends after the decision and shows it."""
    sandbox = box(10.0)
    async with client_of(sandbox) as client:
        job = await client.contents.generate(sandbox.content_ids[0], on_review=hook(choice))
        review = await job
        assert (review.decision, review.generation.status) == (choice, state)
        assert (job.status.phase, job.status.state) == (phase, state)
        assert (review.content is not None) is (choice == "confirm")
        assert (await client.contents.get(sandbox.content_ids[0])).version == version
        assert len(decisions(sandbox)) == (choice != "leave")


async def test_a_hook_decides_without_a_waiter() -> None:
    """An order to decide keeps the job polled until it is carried out."""
    sandbox = box(10.0)
    async with client_of(sandbox) as client:
        job = await client.contents.generate(sandbox.content_ids[0], on_review=says("confirm"))
        await asyncio.sleep(60)
        assert job.done()
        assert (await job).decision == "confirm"


async def test_a_hook_waits_for_the_key() -> None:
    """A refused key ends the waiters; the order to decide stands and is followed once the key works."""
    sandbox = box(10.0)
    async with client_of(sandbox) as client:
        job = await client.contents.generate(sandbox.content_ids[0], on_review=says("confirm"))
        sandbox.revoke(sandbox.api_key)
        with pytest.raises(cmsapi.UnauthorizedError):
            await job
        await asyncio.sleep(30)
        sandbox.restore(sandbox.api_key)
        await asyncio.sleep(30)
        assert (await job).decision == "confirm"


class PickyError(Exception):
    """Refuse to be copied, as exceptions of users may."""

    def __init__(self, text: str, *, code: int) -> None:
        super().__init__(text)
        self.code = code


@pytest.mark.parametrize("error", [RuntimeError("no idea"), PickyError("no idea", code=7)])
async def test_a_failing_hook_leaves_the_article_in_review(error: Exception) -> None:
    """What a hook raises reaches every awaiter, with its traceback and a way on; the article stays in review."""

    async def fail(review: GenerationReview) -> Any:
        raise error

    sandbox = box(10.0)
    content_id = sandbox.content_ids[0]
    async with client_of(sandbox) as client:
        job = await client.contents.generate(content_id, on_review=fail)
        errors = await asyncio.gather(job.wait(), job.wait(), return_exceptions=True)
        assert [type(each) for each in errors] == [type(error)] * 2
        with pytest.raises(type(error), match="no idea") as caught:
            await job
        assert any("contents.review" in note for note in caught.value.__notes__)
        assert "fail" in [entry.name for entry in caught.traceback]
        assert (await client.contents.generation(content_id)).status == "review"
        assert decisions(sandbox) == []
        assert (await (await client.contents.review(content_id)).confirm()).version == 2


async def test_a_failing_hook_is_logged_without_a_waiter(caplog: pytest.LogCaptureFixture) -> None:
    """Without a waiter, the failure of a hook is logged."""

    def fail(review: GenerationReview) -> Any:
        raise RuntimeError("no idea")

    sandbox = box(10.0)
    async with client_of(sandbox) as client:
        await client.contents.generate(sandbox.content_ids[0], on_review=fail)
        await asyncio.sleep(60)
    assert "the job has no waiters" in caplog.text
    assert "no idea" in caplog.text


async def test_a_hook_whose_own_work_was_cancelled_does_not_hang_the_job() -> None:
    """A cancellation that comes out of a hook is a failure of the hook."""

    async def stumble(review: GenerationReview) -> Any:
        raise asyncio.CancelledError

    sandbox = box(10.0)
    async with client_of(sandbox) as client:
        job = await client.contents.generate(sandbox.content_ids[0], on_review=stumble)
        with pytest.raises(cmsapi.JobError, match="was cancelled"):
            await job.wait(timeout=60)


@pytest.mark.parametrize("choice", ["elsewhere", None, True, "Confirm"])
async def test_a_wrong_wish_decides_nothing(choice: Any) -> None:
    """A hook that returns something else is an `ArgumentError`, and the article stays in review."""
    sandbox = box(10.0)
    async with client_of(sandbox) as client:
        job = await client.contents.generate(sandbox.content_ids[0], on_review=says(choice))
        with pytest.raises(cmsapi.ArgumentError, match="stays in review") as caught:
            await job
        assert caught.value.parameter == "on_review"
        assert (await client.contents.generation(sandbox.content_ids[0])).status == "review"


async def test_a_hook_that_is_no_function_is_refused_before_it_is_paid(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """A wrong hook would fail only when the article is there and paid."""
    with pytest.raises(cmsapi.ArgumentError) as caught:
        await client.contents.generate(sandbox.content_ids[0], on_review="confirm")  # type: ignore[arg-type]
    assert caught.value.parameter == "on_review"
    assert len(sandbox.ledger) == 0


async def test_polls_during_a_decision_change_nothing() -> None:
    """A refresh while a hook thinks or its decision is under way neither starts it again nor ends the job."""
    sandbox = box(10.0, latency=(1.0, 1.0))
    calls: list[GenerationReview] = []

    async def think(review: GenerationReview) -> Any:
        calls.append(review)
        await asyncio.sleep(60)
        return "confirm"

    async with client_of(sandbox) as client:
        job = await client.contents.generate(sandbox.content_ids[0], on_review=think)
        while not job.done():
            await job.refresh()
            await asyncio.sleep(0.1)
        review = await job
        assert (len(calls), review.decision) == (1, "confirm")
        assert decisions(sandbox) == [("confirm_generation", True)]


async def test_a_poll_that_fails_after_the_decision_changes_nothing() -> None:
    """A job that ended while a poll was under way stays as it ended, whatever becomes of the poll."""
    sandbox = box(10.0, latency=(5.0, 5.0))
    refreshes: list[asyncio.Task[Any]] = []

    def spoil(request: cmsapi.Request, response: cmsapi.Response) -> cmsapi.Response:
        return cmsapi.Response(503, {}, b"") if refreshes else response

    async def hook(review: GenerationReview) -> Any:
        refreshes.append(asyncio.create_task(job.refresh()))
        await asyncio.sleep(1)
        return "leave"

    async with client_of(sandbox, transport=Spoiling(sandbox, spoil)) as client:
        job = await client.contents.generate(sandbox.content_ids[0], on_review=hook)
        await job
        status = job.status
        with pytest.raises(cmsapi.ServiceUnavailableError):
            await refreshes[0]
        assert (job.status.polls, job.status.phase) == (status.polls, "review")


async def test_a_decision_of_a_minute_needs_no_polls() -> None:
    """While a hook decides, the job is not polled."""
    sandbox = box(10.0)
    async with client_of(sandbox) as client:
        job = await client.contents.generate(sandbox.content_ids[0], on_review=says_later("leave"))
        await job
    times = [entry.at for entry in polls(sandbox, "generation")]
    assert times[-1] <= 21.0


async def test_a_hook_may_decide_by_itself() -> None:
    """A hook that calls `confirm` and returns a choice does not decide twice, and is not overruled by `leave`."""
    sandbox = box(10.0)
    async with client_of(sandbox) as client:
        for content_id, choice in zip(sandbox.content_ids, ("confirm", "leave"), strict=False):

            async def hook(review: GenerationReview, choice: str = choice) -> Any:
                await review.confirm()
                return choice

            review = await (await client.contents.generate(content_id, on_review=hook))
            assert review.decision == "confirm"
    assert len(decisions(sandbox)) == 2


# Decisions elsewhere


@pytest.mark.parametrize("choice", ["confirm", "cancel"])
@pytest.mark.parametrize("elsewhere", ["confirm_elsewhere", "cancel_elsewhere"])
@pytest.mark.parametrize("refused", [409, 422])
async def test_a_decision_elsewhere_passes_a_slow_hook(choice: str, elsewhere: str, refused: Any) -> None:
    """Whatever a colleague decided meanwhile, the job ends with `elsewhere`, and nothing is decided twice."""
    sandbox = box(10.0, behaviour=Behaviour(refused_launch=refused))
    content_id = sandbox.content_ids[0]

    def hook(review: GenerationReview) -> Any:
        getattr(sandbox, elsewhere)(content_id)
        return choice

    async with client_of(sandbox) as client:
        job = await client.contents.generate(content_id, on_review=hook)
        review = await job
        assert review.decision == "elsewhere"
        assert job.status.phase == "succeeded"
        assert review.generation.status == ("applied" if elsewhere.startswith("confirm") else "discarded")
        assert not any(effect for _, effect in decisions(sandbox))


@pytest.mark.parametrize("elsewhere", ["confirm_elsewhere", "cancel_elsewhere"])
async def test_a_decision_elsewhere_between_two_polls(elsewhere: str) -> None:
    """A decision of a colleague that is found by a poll ends the job with `elsewhere`."""
    sandbox = box(1000.0)
    content_id = sandbox.content_ids[0]
    async with client_of(sandbox) as client:
        job = await client.contents.generate(content_id, on_review=says("confirm"))
        await asyncio.sleep(20)
        sandbox.finish(content_id)
        getattr(sandbox, elsewhere)(content_id)
        review = await job
        assert review.decision == "elsewhere"
        assert decisions(sandbox) == []


async def test_confirming_what_is_confirmed_gives_the_content() -> None:
    """Confirming by hand what a colleague confirmed is done, and says who did it."""
    sandbox = box(10.0)
    async with client_of(sandbox) as client:
        review = await reviewed(client, sandbox)
        sandbox.confirm_elsewhere(sandbox.content_ids[0])
        assert (await review.confirm()).version == 2
        assert review.decision == "elsewhere"


async def test_confirming_what_is_discarded_is_a_conflict() -> None:
    """Confirming by hand what a colleague discarded is the service's conflict."""
    sandbox = box(10.0)
    async with client_of(sandbox) as client:
        review = await reviewed(client, sandbox)
        sandbox.cancel_elsewhere(sandbox.content_ids[0])
        with pytest.raises(cmsapi.ConflictError):
            await review.confirm()
        assert (review.decision, review.generation.status) == ("elsewhere", "discarded")


@pytest.mark.parametrize("ready", [False, True])
async def test_a_newer_article_is_not_confirmed_in_place_of_the_read_one(ready: bool) -> None:
    """A generation that was superseded while it was being decided on is not decided on, and neither is the newer."""
    sandbox = box(10.0)
    content_id = sandbox.content_ids[0]

    async def supersede(review: GenerationReview) -> Any:
        sandbox.supersede_generation(content_id)
        await asyncio.sleep(60 if ready else 0)
        return "confirm"

    async with client_of(sandbox) as client:
        job = await client.contents.generate(content_id, on_review=supersede)
        with pytest.raises(cmsapi.JobSupersededError) as caught:
            await job
        assert (caught.value.job, caught.value.token) == (job, job.token)
        assert job.status.phase == "superseded"
        assert not any(effect for _, effect in decisions(sandbox))
        assert (await client.contents.get(content_id)).version == 1


async def test_a_newer_article_that_came_during_the_request_is_told() -> None:
    """When the newer generation comes between reading and deciding, the refusal is read as what it is."""
    sandbox = box(10.0)
    content_id = sandbox.content_ids[0]

    def spoil(request: cmsapi.Request, response: cmsapi.Response) -> cmsapi.Response:
        # Just after the reading that comes before the decision.
        if request.url.endswith("/generation") and b'"review"' in response.body and armed:
            armed.clear()
            sandbox.supersede_generation(content_id)
        return response

    armed: list[bool] = []
    async with client_of(sandbox, transport=Spoiling(sandbox, spoil)) as client:
        review = await reviewed(client, sandbox)
        armed.append(True)
        with pytest.raises(cmsapi.JobSupersededError):
            await review.cancel()
        assert review.decision is None


async def test_a_colleague_who_is_faster_by_a_request_is_told() -> None:
    """When a colleague confirms between reading and deciding, the refusal is read as what it is."""
    sandbox = box(10.0)
    content_id = sandbox.content_ids[0]
    armed: list[bool] = []

    def spoil(request: cmsapi.Request, response: cmsapi.Response) -> cmsapi.Response:
        if request.url.endswith("/generation") and armed:
            armed.clear()
            sandbox.confirm_elsewhere(content_id)
        return response

    async with client_of(sandbox, transport=Spoiling(sandbox, spoil)) as client:
        review = await reviewed(client, sandbox)
        armed.append(True)
        assert (await review.confirm()).version == 2
        assert review.decision == "elsewhere"
        assert decisions(sandbox) == [("confirm_generation", False)]


async def test_a_conflict_without_a_decision_reaches_the_waiter() -> None:
    """A refusal while the article still waits is raised as it is."""
    sandbox = box(10.0, rules=[Fault(match=CONFIRM, status=409)])
    async with client_of(sandbox) as client:
        job = await client.contents.generate(sandbox.content_ids[0], on_review=says("confirm"))
        with pytest.raises(cmsapi.ConflictError) as caught:
            await job
        assert any("contents.review" in note for note in caught.value.__notes__)
        assert (await (await client.contents.review(sandbox.content_ids[0])).confirm()).version == 2


# Lost answers


@pytest.mark.parametrize("choice", ["confirm", "cancel"])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("how", ["drop", "502", "504"])
async def test_a_lost_answer_is_settled_by_reading(choice: str, when: Any, how: str) -> None:
    """Whether or not a decision took effect before its answer got lost, it is made exactly once."""
    fault = (
        Fault(match="POST */generation/*", drop=True, when=when)
        if how == "drop"
        else Fault(match="POST */generation/*", status=int(how), when=when)
    )
    sandbox = box(10.0, rules=[fault])
    async with client_of(sandbox) as client:
        review = await reviewed(client, sandbox)
        await getattr(review, choice)()
        assert review.decision == choice
        assert [effect for _, effect in decisions(sandbox)].count(True) == 1
        assert len(decisions(sandbox)) == (1 if when == "after" else 2)


async def test_a_decision_is_not_repeated_for_the_retry_policy() -> None:
    """A repeat in doubt could confirm a newer article that was not read, so that reading comes first all the same."""
    sandbox = box(10.0, rules=[Fault(match=CONFIRM, drop=True, when="after")])
    async with client_of(sandbox, retry=cmsapi.RetryPolicy(repeat_in_doubt=True)) as client:
        review = await reviewed(client, sandbox)
        await review.confirm()
        assert review.decision == "confirm"
        assert decisions(sandbox) == [("confirm_generation", True)]


async def test_an_unreadable_answer_is_settled_by_reading() -> None:
    """A confirmation whose answer is no JSON counts as made once the generation says so."""
    sandbox = box(10.0)
    async with client_of(sandbox, transport=Spoiling(sandbox, unreadable("POST", "/confirm"))) as client:
        review = await reviewed(client, sandbox)
        assert (await review.confirm()).version == 2
        assert review.decision == "confirm"
        assert len(decisions(sandbox)) == 1


async def test_a_deadline_during_a_decision_is_settled_by_reading() -> None:
    """A deadline that ends while the confirmation is under way does not leave the decision open."""
    sandbox = box(10.0)
    slow = [False]

    class Slow:
        """Keep the answer to a confirmation back."""

        async def send(self, request: cmsapi.Request) -> cmsapi.Response:
            """Carry one request."""
            response = await sandbox.transport.send(request)
            if slow[0] and request.url.endswith("/confirm"):
                slow[0] = False
                await asyncio.sleep(20)
            return response

    async with client_of(sandbox, transport=Slow(), timeouts=cmsapi.Timeouts(deadline=5.0)) as client:
        review = await reviewed(client, sandbox)
        slow[0] = True
        assert (await review.confirm()).version == 2
        assert review.decision == "confirm"


async def test_a_deadline_before_anything_was_sent_is_told() -> None:
    """A deadline that ends while the confirmation waits for quota changes nothing and says so."""
    sandbox = box(1.0, limits=Limits(per_second=1, per_hour=1000))
    limits = cmsapi.RateLimits(per_second=1, per_hour=1000)
    async with client_of(sandbox, limits=limits) as client:
        review = await reviewed(client, sandbox)
    async with client_of(sandbox, limits=limits, timeouts=cmsapi.Timeouts(deadline=0.5)) as hasty:
        await asyncio.sleep(2)
        impatient = await hasty.contents.review(sandbox.content_ids[0])
        await asyncio.sleep(2)
        with pytest.raises(cmsapi.DeadlineError):
            # The reading before takes the only turn of this second.
            await impatient.confirm()
        assert impatient.decision is None
    assert review.generation == impatient.generation
    assert decisions(sandbox) == []


async def test_a_decision_that_never_gets_through_says_what_was_read() -> None:
    """After the attempts of the policy the caller gets the unknown outcome, and what the generation showed."""
    sandbox = box(10.0, rules=[Fault(match=CONFIRM, drop=True, times=None)])
    async with client_of(sandbox) as client:
        review = await reviewed(client, sandbox)
        with pytest.raises(cmsapi.OutcomeUnknownError) as caught:
            await review.confirm()
        assert any("showed 'review'" in note for note in caught.value.__notes__)
        assert (review.decision, len(decisions(sandbox))) == (None, 5)


async def test_a_decision_in_an_unlisted_word_is_not_repeated() -> None:
    """When the answer is lost and the generation shows an unlisted word, it is not decided a second time."""
    rules = [Fault(match=CONFIRM, status=502, when="after")]
    sandbox = box(10.0, rules=rules, behaviour=Behaviour(applied="merged"))
    async with client_of(sandbox) as client:
        review = await reviewed(client, sandbox)
        with pytest.raises(cmsapi.BadGatewayError) as caught:
            await review.confirm()
        assert any("'merged'" in note for note in caught.value.__notes__)
        assert len(decisions(sandbox)) == 1


async def test_a_decision_is_made_whatever_the_word_for_it() -> None:
    """A service with other words for applied and discarded decides all the same."""
    sandbox = box(10.0, behaviour=Behaviour(applied="merged", discarded="dropped"))
    async with client_of(sandbox) as client:
        review = await (await client.contents.generate(sandbox.content_ids[0], on_review=says("confirm")))
        assert review.decision == "confirm"
        review = await (await client.contents.generate(sandbox.content_ids[1], on_review=says("cancel")))
        assert review.decision == "cancel"


async def test_a_lost_answer_that_cannot_be_settled_says_so() -> None:
    """When reading fails as well, the first failure is raised, with a note on the second."""
    sandbox = box(10.0, latency=(1.0, 1.0), rules=[Fault(match=CONFIRM, drop=True, when="after")])
    async with client_of(sandbox) as client:
        review = await reviewed(client, sandbox)
        task = asyncio.create_task(review.confirm())
        # Reading takes 2 seconds, and the decision arrives one later.
        await asyncio.sleep(3.5)
        sandbox.forget(sandbox.content_ids[0])
        with pytest.raises(cmsapi.OutcomeUnknownError) as caught:
            await task
        assert any("could not be read again" in note for note in caught.value.__notes__)


async def test_a_content_that_cannot_be_read_after_confirming_says_what_happened() -> None:
    """The error of the last reading tells that the article was applied."""
    sandbox = box(10.0)
    content_id = sandbox.content_ids[0]

    def hide(request: cmsapi.Request, response: cmsapi.Response) -> cmsapi.Response:
        if request.url.endswith(content_id):
            return cmsapi.Response(403, {}, b'{"error":{"code":"forbidden","message":"no"}}')
        return response

    async with client_of(sandbox, transport=Spoiling(sandbox, hide)) as client:
        job: Job[GenerationReview] = await client.contents.generate(content_id, on_review=says("confirm"))
        with pytest.raises(cmsapi.ForbiddenError) as caught:
            await job
        assert caught.value.__notes__ == ["The article was applied; only reading the content afterwards failed."]
        assert decisions(sandbox) == [("confirm_generation", True)]


async def test_reading_before_a_decision_fails_as_reading() -> None:
    """A content that is gone when it is to be decided on is the service's 404, which is not its own cause."""
    sandbox = box(10.0)
    async with client_of(sandbox) as client:
        review = await reviewed(client, sandbox)
        sandbox.forget(sandbox.content_ids[0])
        with pytest.raises(cmsapi.NotFoundError) as caught:
            await review.confirm()
        assert caught.value.__cause__ is None
        assert decisions(sandbox) == []


# Retries (specification 7, retry rule 1)


@pytest.mark.parametrize("choice", ["confirm", "cancel"])
async def test_a_decision_waits_as_long_as_the_service_asks(choice: str) -> None:
    """A 503 with `Retry-After` is repeated after that time, as any other request."""
    sandbox = box(10.0, rules=[Fault(match="POST */generation/*", status=503, retry_after=20, times=2)])
    async with client_of(sandbox) as client:
        review = await reviewed(client, sandbox)
        await getattr(review, choice)()
        assert review.decision == choice
    first, second, third = (
        entry.at for entry in sandbox.ledger if entry.operation in ("confirm_generation", "cancel_generation")
    )
    assert min(second - first, third - second) >= 20.0


async def test_a_decision_counts_its_requests() -> None:
    """The policy bounds the attempts, the error counts them, and the generation is read before each repeat."""
    sandbox = box(10.0, rules=[Fault(match=CONFIRM, status=503, times=None)])
    retry = cmsapi.RetryPolicy(max_attempts=3, base=4.0)
    async with client_of(sandbox, retry=retry) as client:
        review = await reviewed(client, sandbox)
        begun = len(sandbox.ledger)
        with pytest.raises(cmsapi.ServiceUnavailableError) as caught:
            await review.confirm()
        assert (caught.value.attempts, caught.value.in_doubt, review.decision) == (3, True, None)
        assert client.statistics.retries == 2
    operations = [entry.operation for entry in list(sandbox.ledger)[begun:]]
    assert operations == ["get_generation", "confirm_generation"] * 3 + ["get_generation"]


async def test_a_decision_is_not_repeated_once_it_shows() -> None:
    """The notes of the error, and the counts, are those of the requests that were sent."""
    sandbox = box(10.0, rules=[Fault(match=CONFIRM, status=502, when="after")], behaviour=Behaviour(applied="merged"))
    async with client_of(sandbox) as client:
        review = await reviewed(client, sandbox)
        with pytest.raises(cmsapi.BadGatewayError) as caught:
            await review.confirm()
    assert caught.value.attempts == 1
    assert [note for note in caught.value.__notes__ if "waited" in note] == []


# Readings that are older than others, or come too early


class Replicas:
    """Carry requests to a sandbox, and show other generations, or none, in their turn."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.shown: list[str | None] = []
        self.always: str | None = None

    async def send(self, request: cmsapi.Request) -> cmsapi.Response:
        """Carry one request."""
        response = await self.sandbox.transport.send(request)
        if request.method != "GET" or not request.url.endswith("/generation"):
            return response
        identifier = self.shown.pop(0) if self.shown else self.always
        if identifier is None:
            return response
        if identifier == "":
            body = b'{"error":{"code":"not_found","message":"no generation"}}'
            return cmsapi.Response(404, response.headers, body)
        body = json.dumps({"id": identifier, "status": "review"}).encode()
        return cmsapi.Response(200, response.headers, body)


@pytest.mark.parametrize("choice", ["confirm", "cancel"])
@pytest.mark.parametrize("shown", [["gen_x"], ["gen_x", "gen_x", ""], ["", "", "", ""], ["gen_x", "gen_y", "gen_x"]])
async def test_a_lagging_replica_does_not_supersede_a_review(choice: str, shown: list[str]) -> None:
    """Another generation, or none, that is shown for a moment is not a newer one; the decision is made."""
    sandbox = box(10.0)
    replicas = Replicas(sandbox)
    async with client_of(sandbox, transport=replicas) as client:
        review = await reviewed(client, sandbox)
        replicas.shown = list(shown)
        await getattr(review, choice)()
        assert review.decision == choice
    assert decisions(sandbox) == [(f"{choice}_generation", True)]


async def test_what_was_decided_here_is_not_joined() -> None:
    """A replica that still shows the review does not let the next launch join it, also when it was resumed."""
    sandbox = box(10.0)
    replicas = Replicas(sandbox)
    async with client_of(sandbox, transport=replicas) as client:
        review = await reviewed(client, sandbox)
        await client.jobs.resume()
        await review.confirm()
        replicas.shown = [str(review.generation.id)] * 2
        job = await client.contents.generate(sandbox.content_ids[0])
        assert job.id != review.generation.id
    assert len(sandbox.ledger.launches()) == 2


async def test_the_generation_from_before_never_supersedes() -> None:
    """The generation from before the launch is the old one, however often it shows; no repeat in doubt is sent."""
    sandbox = box(10.0, rules=[Fault(match=CONFIRM, drop=True)])
    replicas = Replicas(sandbox)
    async with client_of(sandbox, transport=replicas) as client:
        content_id = sandbox.content_ids[0]
        await (await client.contents.generate(content_id))
        caller = client._caller
        review = GenerationReview(caller, content_id, await client.contents.generation(content_id), before="gen_old")
        replicas.always = "gen_old"
        with pytest.raises(cmsapi.OutcomeUnknownError) as caught:
            await review.confirm()
        assert any("was not shown" in note for note in caught.value.__notes__)
        assert decisions(sandbox) == [("confirm_generation", False)]
        assert (await review.confirm()).version == 2
        assert review.decision == "confirm"


async def test_a_newer_generation_that_stays_supersedes() -> None:
    """An identifier that is neither the review's nor the old one, and stays over several readings, is a newer one."""
    sandbox = box(10.0)
    replicas = Replicas(sandbox)
    async with client_of(sandbox, transport=replicas) as client:
        review = await reviewed(client, sandbox)
        replicas.always = "gen_new"
        with pytest.raises(cmsapi.JobSupersededError, match="gen_new"):
            await review.confirm()
    assert decisions(sandbox) == []


# Hooks that wait for themselves, or that raise what ends tasks


async def own(job: Job[GenerationReview], client: cmsapi.Client) -> Any:
    """Await the job."""
    return await job


async def waits(job: Job[GenerationReview], client: cmsapi.Client) -> Any:
    """Wait with a limit that is far away."""
    return await job.wait(timeout=1e6)


async def reviews(job: Job[GenerationReview], client: cmsapi.Client) -> Any:
    """Ask the job for its review."""
    return await job.review()


async def runs(job: Job[GenerationReview], client: cmsapi.Client) -> Any:
    """Launch the same once more, which joins."""
    return await client.jobs.run(client.contents.generate(job.target))


async def attaches(job: Job[GenerationReview], client: cmsapi.Client) -> Any:
    """Attach the job by its token."""
    return await client.jobs.attach(job.token)


async def in_a_task(job: Job[GenerationReview], client: cmsapi.Client) -> Any:
    """Await it in a task of its own."""
    return await asyncio.create_task(job.wait())


async def gathers(job: Job[GenerationReview], client: cmsapi.Client) -> Any:
    """Wait for it among others."""
    return await client.jobs.gather(job)


async def follows(job: Job[GenerationReview], client: cmsapi.Client) -> Any:
    """Follow its events."""
    return [event async for event in job.events()]


@pytest.mark.parametrize("wait", [own, waits, reviews, runs, attaches, in_a_task, gathers, follows])
async def test_a_hook_that_waits_for_its_own_job_is_refused(wait: Any) -> None:
    """The refusal says what to return instead; whoever else waits gets it as the failure of the hook."""
    sandbox = box(10.0)
    jobs: list[Job[GenerationReview]] = []
    async with client_of(sandbox) as client:

        async def hook(review: GenerationReview) -> Any:
            await wait(jobs[0], client)

        jobs.append(await client.contents.generate(sandbox.content_ids[0], on_review=hook))
        with pytest.raises(cmsapi.JobError, match="return 'confirm', 'cancel' or 'leave'"):
            await jobs[0].wait(timeout=1000)
        assert decisions(sandbox) == []


async def test_others_wait_while_a_hook_decides() -> None:
    """Only the hook and its tasks are refused; a task that it leaves behind may wait once it has decided."""
    sandbox = box(10.0)
    jobs: list[Job[GenerationReview]] = []
    left: list[asyncio.Task[Any]] = []

    async def later() -> Any:
        await asyncio.sleep(200)
        return await jobs[0]

    async def hook(review: GenerationReview) -> Any:
        left.append(asyncio.create_task(later()))
        await asyncio.sleep(100)
        return "confirm"

    async with client_of(sandbox) as client:
        jobs.append(await client.contents.generate(sandbox.content_ids[0], on_review=hook))
        await asyncio.sleep(60)
        assert (await jobs[0]).decision == "confirm"
        assert (await left[0]).decision == "confirm"


def cancelled(*_: object) -> Any:
    """Raise what only the end of a task raises."""
    raise asyncio.CancelledError


async def test_a_hook_or_listener_that_raises_a_cancellation_loses_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """A plain function is never where a task is cancelled: what it raises is logged, and the work goes on."""
    sandbox = box(10.0, rules=[Fault(match="POST */atomic", status=503)])
    content_id = sandbox.content_ids[0]
    async with client_of(sandbox, hooks=[cancelled]) as client:
        job = await client.contents.generate(content_id)
        job.on(cmsapi.Observed, cancelled)
        job.on(cmsapi.Finished, cancelled)
        review = await job.wait(timeout=100)
        assert (await review.confirm()).version == 2
    assert len(sandbox.ledger.launches()) == 1
    assert "A hook failed on LaunchFinished" in caplog.text
    assert "A hook failed on Finished" in caplog.text
