"""Named batches: a rerun launches only what is missing, and says what became of the rest."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

import cmsapi
from cmsapi.jobs import GenerationReview, Job
from cmsapi.sandbox import Fault, Sandbox
from tests.support.jobs import box, client_of

pytestmark = pytest.mark.looptime


async def run(
    client: cmsapi.Client, items: Any, name: str = "nightly", **options: Any
) -> list[cmsapi.Outcome[Any, Any]]:
    """Run a batch of keyword analyses to its end."""
    async with client.jobs.batch(name) as batch:
        return [outcome async for outcome in batch.map(client.keywords.analyze, items, **options)]


async def test_a_rerun_launches_nothing_twice() -> None:
    """A second run, by another client, gives the same results and pays for none of them."""
    sandbox = box(30.0)
    items = sandbox.keyword_ids[:5]
    async with client_of(sandbox) as client:
        first = await run(client, items)
    async with client_of(sandbox) as client:
        seen = len(sandbox.ledger)
        again = await run(client, items)
    assert {outcome.result().id for outcome in first} == {outcome.result().id for outcome in again} == set(items)
    assert [outcome.earlier for outcome in first + again] == [False] * 5 + [True] * 5
    assert len(sandbox.ledger.launches()) == 5
    assert len(sandbox.ledger) - seen == 5


async def test_what_ended_earlier_can_be_left_out() -> None:
    """With `earlier="skip"` a rerun asks nothing and gives only what is new."""
    sandbox = box(30.0)
    async with client_of(sandbox) as client:
        await run(client, sandbox.keyword_ids[:3])
        seen = len(sandbox.ledger)
        assert await run(client, sandbox.keyword_ids[:3], earlier="skip") == []
        assert len(sandbox.ledger) == seen
        (new,) = await run(client, sandbox.keyword_ids[:4], earlier="skip")
        assert new.item == sandbox.keyword_ids[3]


async def test_a_run_that_is_left_is_continued() -> None:
    """What was launched and not waited for is taken up by the next run; only the rest is launched."""
    sandbox = box(60.0)
    items = sandbox.keyword_ids[:6]
    async with client_of(sandbox) as client, client.jobs.batch("nightly") as batch:
        outcomes = batch.map(client.keywords.analyze, items, in_flight=3)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(10):
                await anext(outcomes)
        assert batch.unfinished == items
    assert len(sandbox.ledger.launches()) == 3
    async with client_of(sandbox) as client:
        outcomes_again = await run(client, items)
    assert sorted(outcome.item for outcome in outcomes_again) == sorted(items)
    assert len(sandbox.ledger.launches()) == 6


async def test_a_wait_that_is_cancelled_does_not_end_a_batch() -> None:
    """Whoever asks again gets the outcomes, also when the wait was cancelled before the first launch."""
    sandbox = box(60.0)
    items = sandbox.keyword_ids[:3]
    told: list[cmsapi.BatchStatus] = []
    async with client_of(sandbox) as client, client.jobs.batch("nightly") as batch:
        outcomes = batch.map(client.keywords.analyze, items, on_done=told.append)
        for seconds in (0.0, 10.0):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(seconds):
                    await anext(outcomes)
        assert sorted([outcome.item async for outcome in outcomes]) == sorted(items)
        assert [outcome async for outcome in outcomes] == []
    assert [status.done for status in told] == [True]
    assert len(sandbox.ledger.launches()) == 3


async def test_a_wait_that_is_cancelled_loses_no_item() -> None:
    """Items that come slowly are read on, so that a batch of half of them is never done; leaving it ends that."""
    sandbox, given = box(30.0), list[str]()

    async def items() -> AsyncIterator[str]:
        for keyword_id in sandbox.keyword_ids[:4]:
            given.append(keyword_id)
            yield keyword_id
            await asyncio.sleep(10)

    async with client_of(sandbox) as client, client.jobs.batch("nightly") as batch:
        outcomes = batch.map(client.keywords.analyze, items())
        for _ in range(2):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(15):
                    await anext(outcomes)
        assert len([outcome async for outcome in outcomes]) == 4
        async with client.jobs.batch("another") as other:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(15):
                    await anext(other.map(client.keywords.analyze, items()))
        await asyncio.sleep(100)
        assert len(given) == 4 + 2


async def test_leaving_a_batch_early_leaves_nothing_behind() -> None:
    """Breaking out of the loop stops the launching; what runs goes on."""
    sandbox = box(30.0)
    async with client_of(sandbox) as client:
        async with client.jobs.batch("nightly") as batch:
            async for _ in batch.map(client.keywords.analyze, sandbox.keyword_ids, in_flight=2):
                break
        launched = len(sandbox.ledger.launches())
        await asyncio.sleep(120)
        assert len(sandbox.ledger.launches()) == launched < 20


async def test_failed_items_are_told_and_retried_on_demand() -> None:
    """A rerun tells of the failure without paying again; `retry_failed` lets the next one launch it."""
    sandbox = box(30.0)
    items = sandbox.keyword_ids[:3]
    sandbox.set_outcome(items[1], "failed")
    async with client_of(sandbox) as client:
        for _ in range(2):
            outcomes = await run(client, items)
            assert [outcome.item for outcome in outcomes if isinstance(outcome.error, cmsapi.JobFailedError)] == [
                items[1]
            ]
        assert len(sandbox.ledger.launches()) == 3
        sandbox.set_outcome(items[1], "success")
        async with client.jobs.batch("nightly") as batch:
            assert batch.failed == (items[1],)
            assert await batch.retry_failed() == (items[1],)
            assert not batch.failed
            outcomes = [outcome async for outcome in batch.map(client.keywords.analyze, items)]
            assert all(outcome.error is None for outcome in outcomes)
            assert batch.unfinished == ()
    assert len(sandbox.ledger.launches(items[1])) == 2


async def test_unknown_items_are_told_and_retried_on_demand() -> None:
    """A launch that may have happened is never repeated by a rerun, only by `retry_unknown`."""
    sandbox = box(30.0, rules=[Fault(match="POST *searches", drop=True, when="after")])

    async with client_of(sandbox) as client:

        async def search(keyword: str) -> Job[Any]:
            return await client.content_ideas.search(sandbox.workspace_id, keyword)

        for _ in range(2):
            async with client.jobs.batch("ideas") as batch:
                outcomes = [outcome async for outcome in batch.map(search, ["tents", "boots"], in_flight=1)]
                assert batch.unknown == ("tents",)
                assert batch.unfinished == ()
            unknown = next(outcome.error for outcome in outcomes if outcome.item == "tents")
            assert isinstance(unknown, cmsapi.LaunchUnknownError)
            assert "was charged" in unknown.evidence["found"]
        assert len(sandbox.ledger.launches()) == 2
        async with client.jobs.batch("ideas") as batch:
            assert await batch.retry_unknown() == ("tents",)
            outcomes = [outcome async for outcome in batch.map(search, ["tents", "boots"])]
            assert all(outcome.error is None for outcome in outcomes)
    assert len(sandbox.ledger.launches()) == 3


async def test_refused_items_stay_unfinished() -> None:
    """What the service refused was not launched, and the next run tries it again."""
    sandbox = box(30.0)
    items = (sandbox.keyword_ids[0], "kwd_unheard_of")
    async with client_of(sandbox) as client:
        for _ in range(2):
            async with client.jobs.batch("nightly") as batch:
                outcomes = [outcome async for outcome in batch.map(client.keywords.analyze, items)]
                assert {type(outcome.error) for outcome in outcomes} == {type(None), cmsapi.NotFoundError}
                assert batch.unfinished == ("kwd_unheard_of",)
    assert sandbox.ledger.count(operation="analyze_keyword", outcome="not_found") == 2


async def test_a_batch_that_is_through_can_be_forgotten() -> None:
    """Nothing of it stays in the state, what runs under another name does, and a later run pays anew."""
    sandbox = box(30.0)
    items = sandbox.keyword_ids[:2]
    async with client_of(sandbox) as client:
        await run(client, items)
        await run(client, items[:1], "another")
        async with client.jobs.batch("nightly") as batch:
            assert sorted(await batch.forget()) == sorted(items)
            assert batch.ended == ()
        assert [outcome.earlier for outcome in await run(client, items[:1], "another")] == [True]
        assert [outcome.earlier for outcome in await run(client, items)] == [False, False]
    assert len(sandbox.ledger.launches()) == 5


async def test_results_in_the_order_of_the_items() -> None:
    """With `ordered=True` outcomes come as the items stand, whichever job ends first and in whichever run."""
    sandbox = Sandbox()
    items = sandbox.keyword_ids[:8]
    async with client_of(sandbox) as client:
        await run(client, items[3:5])
        outcomes = await run(client, items, ordered=True)
        assert [outcome.item for outcome in outcomes] == list(items)
        assert [outcome.earlier for outcome in outcomes] == [False] * 3 + [True] * 2 + [False] * 3


async def test_items_by_key_from_an_async_iterable() -> None:
    """Items may be anything that a key names, and come from anywhere."""
    sandbox = box(30.0)

    async def pairs() -> AsyncIterator[tuple[int, str]]:
        for number, keyword_id in enumerate(sandbox.keyword_ids[:3]):
            yield number, keyword_id

    async with client_of(sandbox) as client, client.jobs.batch("pairs") as batch:

        async def launch(pair: tuple[int, str]) -> Job[Any]:
            return await client.keywords.analyze(pair[1])

        outcomes = [outcome async for outcome in batch.map(launch, pairs(), key=lambda pair: f"row {pair[0]}")]
        assert {outcome.item[0] for outcome in outcomes} == {0, 1, 2}


async def test_two_batches_of_one_target() -> None:
    """A job that was launched for one batch counts for the other too, and each remembers it."""
    sandbox = box(30.0)
    items = sandbox.keyword_ids[:2]
    async with client_of(sandbox) as client, client_of(sandbox) as other:
        await asyncio.gather(run(client, items, "one"), run(other, items, "two"))
        for name in ("one", "two"):
            assert await run(client, items, name, earlier="skip") == []
    assert len(sandbox.ledger.launches()) == 2


async def test_an_outcome_that_is_not_taken_is_kept() -> None:
    """A batch remembers the end of a job that it has joined, whether the loop takes the outcome or is left before."""
    sandbox = box(30.0)
    items = sandbox.keyword_ids[:3]
    async with client_of(sandbox) as client:
        for item in items:
            await client.keywords.analyze(item)
        async with client.jobs.batch("nightly") as batch:
            async for _ in batch.map(client.keywords.analyze, items):
                await asyncio.sleep(100)
                break
            assert sorted(batch.ended) == sorted(items)
        assert [outcome.earlier for outcome in await run(client, items)] == [True] * 3
    assert len(sandbox.ledger.launches()) == 3


async def test_two_runs_of_one_batch_at_once() -> None:
    """Two clients that run the same batch launch each item once, and both get every result."""
    sandbox = box(30.0, latency=(0.1, 0.5))
    items = sandbox.keyword_ids
    async with client_of(sandbox) as client, client_of(sandbox) as other:
        results = await asyncio.gather(run(client, items), run(other, items[::-1]))
    for outcomes in results:
        assert sorted(outcome.result().id for outcome in outcomes) == sorted(items)
    assert len(sandbox.ledger.launches()) == sandbox.ledger.count(operation="analyze_keyword") == 20


@pytest.mark.parametrize("outcome", ["success", "failed"])
async def test_what_another_run_has_ended_meanwhile_is_not_launched(outcome: Any) -> None:
    """An item that waited for its turn while another run launched it and saw its end has that end, for one credit."""
    sandbox = box(30.0)
    *earlier, last = sandbox.keyword_ids[:3]
    sandbox.set_outcome(last, outcome)
    async with client_of(sandbox) as client, client_of(sandbox) as other:
        running = asyncio.create_task(run(client, [*earlier, last], in_flight=1))
        await run(other, [last])
        *_, ended = await running
    if outcome == "failed":
        assert isinstance(ended.error, cmsapi.JobFailedError)
        assert "in an earlier run" in str(ended.error)
    else:
        assert ended.result().id == last
    assert len(sandbox.ledger.launches(last)) == 1


async def test_two_runs_of_one_batch_in_one_client() -> None:
    """Of two runs at once one launches an item, and the other waits until it knows the job."""
    sandbox = box(30.0, latency=(0.1, 0.5))
    async with client_of(sandbox) as client:

        async def searched() -> list[Any]:
            async with client.jobs.batch("ideas") as batch:
                return [outcome async for outcome in batch.map(search_with(client, sandbox), ["tents", "boots"])]

        results = await asyncio.gather(searched(), searched())
    for outcomes in results:
        assert sorted(outcome.result().search.keyword for outcome in outcomes) == ["boots", "tents"]
    assert len(sandbox.ledger.launches()) == 2


async def test_searches_of_one_item_are_one() -> None:
    """Idea searches, which never join otherwise, are launched once for an item of a batch."""
    sandbox = box(60.0)
    async with client_of(sandbox) as client:

        async def search(keyword: str) -> Job[Any]:
            return await client.content_ideas.search(sandbox.workspace_id, keyword)

        async with client.jobs.batch("ideas") as batch:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(10):
                    await anext(batch.map(search, ["tents"]))
    async with client_of(sandbox) as client, client.jobs.batch("ideas") as batch:
        (outcome,) = [outcome async for outcome in batch.map(search_with(client, sandbox), ["tents"])]
        assert outcome.value is not None
        (again,) = [outcome async for outcome in batch.map(search_with(client, sandbox), ["tents"])]
        assert again.result().search == outcome.result().search
    assert len(sandbox.ledger.launches()) == 1


def search_with(client: cmsapi.Client, sandbox: Sandbox) -> Any:
    """Make a function that searches."""

    async def search(keyword: str) -> Job[Any]:
        return await client.content_ideas.search(sandbox.workspace_id, keyword)

    return search


async def test_generations_are_finished_once_they_are_decided() -> None:
    """An article without a decision is unfinished and is not generated again; the decision ends its item."""
    sandbox = box(30.0)
    content_id = sandbox.content_ids[0]
    async with client_of(sandbox) as client:
        async with client.jobs.batch("articles") as batch:
            (outcome,) = [outcome async for outcome in batch.map(client.contents.generate, [content_id])]
            assert batch.unfinished == (content_id,)
        async with client.jobs.batch("articles") as batch:
            (again,) = [outcome async for outcome in batch.map(client.contents.generate, [content_id])]
            assert isinstance(again.value, GenerationReview)
            assert again.value.generation.id == outcome.result().generation.id
            await again.value.confirm()
        async with client.jobs.batch("articles") as batch:
            (ended,) = [outcome async for outcome in batch.map(client.contents.generate, [content_id])]
            assert (ended.earlier, ended.result().decision, batch.unfinished) == (True, "confirm", ())
    assert len(sandbox.ledger.launches()) == 1


async def test_two_items_of_one_key_are_refused() -> None:
    """The second one would silently never be launched, so that nothing is."""
    sandbox = box(30.0)
    async with client_of(sandbox) as client:
        with pytest.raises(cmsapi.ArgumentError, match="must return another key for each item"):
            await run(client, sandbox.keyword_ids[:2], key=lambda _: "same")
    assert len(sandbox.ledger) == 0


class Row:
    """An item without a text of its own."""


async def test_items_whose_text_changes_need_a_key() -> None:
    """The next run would not know them again, and pay for all of them once more, so that nothing is launched."""
    sandbox = box(30.0)
    async with client_of(sandbox) as client:
        keyword = await client.keywords.get(sandbox.keyword_ids[0])

        async def launch(_: object) -> Job[Any]:
            return await client.keywords.analyze(keyword.id)

        for item in (keyword, Row()):
            async with client.jobs.batch("nightly") as batch:
                with pytest.raises(cmsapi.ArgumentError, match="`key` must be given") as caught:
                    await anext(batch.map(launch, [item]))
            assert caught.value.parameter == "key"
        assert not sandbox.ledger.launches()
        for earlier in (False, True):
            async with client.jobs.batch("nightly") as batch:
                items = [await client.keywords.get(keyword.id)]
                (outcome,) = [each async for each in batch.map(launch, items, key=lambda item: item.id)]
                assert outcome.earlier is earlier
    assert len(sandbox.ledger.launches()) == 1


@pytest.mark.parametrize("wrong", [{"earlier": "maybe"}, {"key": "id"}, {"in_flight": 0}, {"errors": "no"}])
async def test_wrong_arguments_are_refused(wrong: dict[str, Any]) -> None:
    """Nothing is sent when an argument makes no sense."""
    sandbox = box(30.0)
    async with client_of(sandbox) as client:
        with pytest.raises(cmsapi.ArgumentError):
            await run(client, sandbox.keyword_ids[:2], **wrong)
        with pytest.raises(cmsapi.ArgumentError):
            client.jobs.batch("")
    assert len(sandbox.ledger) == 0


async def test_what_a_review_hook_launches_is_no_item_of_the_batch() -> None:
    """A hook that analyses a keyword leaves the outcome of its article as it is, for this run and the next one."""
    sandbox = box(20.0)
    (article,) = sandbox.content_ids[:1]
    async with client_of(sandbox) as client:
        launched: list[Job[cmsapi.Keyword]] = []

        async def decide(review: GenerationReview) -> cmsapi.ReviewChoice:
            launched.append(await client.keywords.analyze(sandbox.keyword_ids[3]))
            return "confirm"

        async def launch(content_id: str) -> Job[GenerationReview]:
            return await client.contents.generate(content_id, on_review=decide)

        for _ in range(2):
            async with client.jobs.batch("articles") as batch:
                (outcome,) = [outcome async for outcome in batch.map(launch, [article])]
                await launched[0]
            assert isinstance(outcome.result(), GenerationReview)
    assert len(sandbox.ledger.launches()) == 2
