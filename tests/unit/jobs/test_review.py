"""Reviews of generated articles, and the ways to decide on them, on the sandbox in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, TypeAlias

import pytest

from cmsapi import Client
from cmsapi.errors import ArgumentError, ConflictError, OutcomeUnknownError, ServerError
from cmsapi.jobs.job import Job
from cmsapi.jobs.review import GenerationReview, OnReview
from cmsapi.sandbox import Fault, Sandbox
from tests.support.spec import spec

pytestmark = pytest.mark.looptime

Options: TypeAlias = dict[str, Any]
SHOWN = {"confirm": "applied", "cancel": "discarded"}
"""What a generation shows after a decision."""


@pytest.fixture
async def other(sandbox: Sandbox) -> AsyncIterator[Client]:
    """Return a client with another key: an editor in the application."""
    async with Client(sandbox.member_key, base_url=sandbox.base_url, transport=sandbox.transport) as client:
        yield client


async def generate(client: Client, sandbox: Sandbox, on_review: OnReview | None = None) -> Job[GenerationReview]:
    """Launch a generation for the first content."""
    return await client.contents.generate(sandbox.content_ids[0], on_review=on_review)


async def decide(review: GenerationReview, choice: str) -> None:
    """Carry out a decision."""
    await (review.confirm() if choice == "confirm" else review.cancel())


async def shown(client: Client, sandbox: Sandbox) -> str | None:
    """Return the status that the generation of the first content shows."""
    return (await client.contents.generation(sandbox.content_ids[0])).status


def decisions(sandbox: Sandbox) -> int:
    """Return the number of decisions that were sent."""
    return sandbox.ledger.count("confirm_generation") + sandbox.ledger.count("cancel_generation")


@spec("3:generation-confirm", "3:generation-cancel", "4.4:get_generation")
@pytest.mark.parametrize("choice", SHOWN)
async def test_a_decision_applies_or_discards_the_article(choice: str, client: Client, sandbox: Sandbox) -> None:
    """Only `confirm` changes the text of the draft, and either decision ends the job."""
    before = await client.contents.get(sandbox.content_ids[0])
    job = await generate(client, sandbox)
    review = await job.review()
    assert (job.status, review.decision, review.generation.id) == ("review", None, job.id)
    await decide(review, choice)
    assert (job.status, review.decision) == ("succeeded", choice)
    assert await shown(client, sandbox) == SHOWN[choice]
    after = await client.contents.get(sandbox.content_ids[0])
    assert (after.html != before.html) == (choice == "confirm")
    assert review.content == (after if choice == "confirm" else None)


@pytest.mark.parametrize("choice", SHOWN)
async def test_a_decision_made_twice_is_sent_once(choice: str, client: Client, sandbox: Sandbox) -> None:
    """Two equal decisions, simultaneous or consecutive, are sent as one."""
    review = await (await generate(client, sandbox))
    await asyncio.gather(decide(review, choice), decide(review, choice))
    await decide(review, choice)
    assert (decisions(sandbox), review.decision) == (1, choice)


@pytest.mark.parametrize("elsewhere", [False, True])
@pytest.mark.parametrize(("first", "second"), [("confirm", "cancel"), ("cancel", "confirm")])
async def test_another_decision_is_refused(
    first: str, second: str, elsewhere: bool, client: Client, other: Client, sandbox: Sandbox
) -> None:
    """After a decision here or in the application the opposite one changes nothing."""
    review = await (await generate(client, sandbox))
    await decide(await other.jobs.watch("generation", sandbox.content_ids[0]) if elsewhere else review, first)
    with pytest.raises(ConflictError):
        await decide(review, second)
    assert review.decision != second
    assert await shown(client, sandbox) == SHOWN[first]


async def test_a_job_that_is_no_generation_has_no_review(client: Client, sandbox: Sandbox) -> None:
    """`Job.review` of an analysis is refused with `ArgumentError`."""
    job: Job[Any] = await client.keywords.analyze(sandbox.keyword_ids[0])
    with pytest.raises(ArgumentError):
        await job.review()


def on_reviews(choice: str) -> dict[str, OnReview]:
    """Return the forms in which a decision can be given."""

    async def coroutine(review: GenerationReview) -> Any:
        await asyncio.sleep(600)  # a person who thinks
        return choice

    return {"word": choice, "function": lambda review: choice, "coroutine": coroutine}  # type: ignore[dict-item, return-value]  # a word of two


@pytest.mark.parametrize("form", ["word", "function", "coroutine"])
@pytest.mark.parametrize("choice", SHOWN)
async def test_on_review_decides(form: str, choice: str, client: Client, sandbox: Sandbox) -> None:
    """A word, a function or a coroutine function decides before the job's result is returned."""
    job = await generate(client, sandbox, on_reviews(choice)[form])
    review = await job
    assert (job.status, review.decision) == ("succeeded", choice)
    assert await shown(client, sandbox) == SHOWN[choice]
    assert decisions(sandbox) == 1


async def test_on_review_may_leave_the_article_in_review(client: Client, sandbox: Sandbox) -> None:
    """A function that returns None is called once and decides nothing."""
    asked: list[GenerationReview] = []
    job = await generate(client, sandbox, asked.append)
    review = await job
    assert await job is review
    assert asked == [review]
    assert (job.status, review.decision) == ("review", None)
    assert [each.content_id for each in await client.jobs.reviews()] == [review.content_id]


@pytest.mark.parametrize("wrong", ["apply", True, 3])
async def test_a_wrong_answer_of_on_review_is_raised(wrong: Any, client: Client, sandbox: Sandbox) -> None:
    """A return value that is no decision is an error, and the article stays in review."""
    job = await generate(client, sandbox, lambda review: wrong)
    with pytest.raises(ArgumentError) as refused:
        await job
    assert refused.value.parameter == "on_review"
    assert await shown(client, sandbox) == "review"


@pytest.mark.parametrize("wrong", ["apply", 3])
async def test_an_impossible_on_review_is_not_sent(wrong: Any, client: Client, sandbox: Sandbox) -> None:
    """A mistyped word costs no credit."""
    with pytest.raises(ArgumentError):
        await generate(client, sandbox, wrong)
    assert not sandbox.ledger.requests


class Stop(BaseException):
    """An exception that ends a program."""


@pytest.mark.parametrize("raised", [ZeroDivisionError, Stop, pytest.fail.Exception])
async def test_what_on_review_raises_is_raised(raised: type[BaseException], client: Client, sandbox: Sandbox) -> None:
    """An exception of any kind is raised by the wait, and the article stays in review."""

    def broken(review: GenerationReview) -> None:
        raise raised

    job = await generate(client, sandbox, broken)
    with pytest.raises(raised):
        await job.wait(timeout=600)
    assert await shown(client, sandbox) == "review"


@pytest.mark.parametrize("choice", SHOWN)
@pytest.mark.parametrize("fault", [{"drop": "after"}, {"slow": 60}, {"status": 504, "body": "foreign", "effect": True}])
async def test_a_lost_answer_is_looked_for(fault: Options, choice: str, client: Client, sandbox: Sandbox) -> None:
    """A decision that was carried out although its response was lost is not sent again."""
    review = await (await generate(client, sandbox))
    sandbox.faults.rules.append(Fault(match=f"{choice}_generation", times=1, **fault))
    await decide(review, choice)
    assert (review.decision, decisions(sandbox)) == (choice, 1)


@pytest.mark.parametrize("choice", SHOWN)
@pytest.mark.parametrize(
    ("fault", "error"), [({"drop": "before"}, OutcomeUnknownError), ({"status": 504, "body": "foreign"}, ServerError)]
)
async def test_a_lost_decision_can_be_repeated(
    fault: Options, error: type[Exception], choice: str, client: Client, sandbox: Sandbox
) -> None:
    """The error leaves the article in review, and the same call decides."""
    review = await (await generate(client, sandbox))
    sandbox.faults.rules.append(Fault(match=f"{choice}_generation", times=1, **fault))
    with pytest.raises(error):
        await decide(review, choice)
    assert review.decision is None
    await decide(review, choice)
    assert review.decision == choice
    assert await shown(client, sandbox) == SHOWN[choice]


@pytest.mark.parametrize("choice", SHOWN)
async def test_a_409_to_our_own_repeat_is_no_conflict(choice: str, client: Client, sandbox: Sandbox) -> None:
    """A decision that was carried out before a 500 is ours, even if the service refuses its repeat."""
    review = await (await generate(client, sandbox))
    sandbox.faults.rules.append(Fault(match=f"{choice}_generation", times=1, status=500, effect=True))
    await decide(review, choice)
    assert (review.decision, decisions(sandbox)) == (choice, 2)


@pytest.mark.parametrize("choice", SHOWN)
async def test_an_equal_decision_suffices(choice: str, client: Client, other: Client, sandbox: Sandbox) -> None:
    """A decision equal to an editor's in the application succeeds."""
    review = await (await generate(client, sandbox))
    await decide(await other.jobs.watch("generation", sandbox.content_ids[0]), choice)
    await decide(review, choice)
    assert review.decision is not None
    assert review.generation.status == SHOWN[choice]


async def test_a_decision_before_the_first_look_is_elsewhere(client: Client, other: Client, sandbox: Sandbox) -> None:
    """A job whose article others decided on before it was seen in review succeeds, and asks for no decision."""
    job = await generate(client, sandbox, "confirm")
    await asyncio.sleep(70)
    await (await other.jobs.watch("generation", sandbox.content_ids[0])).cancel()
    review = await job
    assert (review.decision, review.generation.status) == ("elsewhere", "discarded")
    assert decisions(sandbox) == 1


async def test_refresh_sees_a_decision_elsewhere(client: Client, other: Client, sandbox: Sandbox) -> None:
    """A job in review has succeeded once the application shows a decision, and a new one can be launched."""
    job = await generate(client, sandbox)
    await job
    await (await other.jobs.watch("generation", sandbox.content_ids[0])).confirm()
    assert await job.refresh() == "succeeded"
    assert job.result().decision == "elsewhere"
    assert (await generate(client, sandbox)).id != job.id


async def test_a_lost_decision_of_on_review_is_made_again(client: Client, sandbox: Sandbox) -> None:
    """A decision of ``on_review`` that fails puts the job back into the schedule."""
    sandbox.faults.rules.append(Fault(match="confirm_generation", times=1, drop="before"))
    job = await generate(client, sandbox, "confirm")
    assert (await job.wait(timeout=600)).decision == "confirm"


async def test_a_batch_remembers_a_decision_elsewhere(client: Client, other: Client, sandbox: Sandbox) -> None:
    """Once a run has seen it, later runs take the decision from the state, and do not ask for another."""
    batch = client.jobs.batch("articles")
    await batch.map(client.contents.generate, sandbox.content_ids[:1])
    await (await other.jobs.watch("generation", sandbox.content_ids[0])).confirm()
    for _ in range(2):
        (outcome,) = await batch.map(client.contents.generate, sandbox.content_ids[:1])
        assert outcome.result().decision == "elsewhere"
        assert batch.unfinished == []
