"""Fan-outs stop before a launch that exceeds `max_credits` or the balance."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import pytest

import cmsapi
from cmsapi.sandbox import Credits, Fault, Limits
from tests.support.jobs import box, client_of

pytestmark = pytest.mark.looptime


async def test_no_more_is_spent_than_allowed() -> None:
    """With `max_credits`, so many items are launched; the next one says why it was not, and no other is taken."""
    sandbox = box(30.0)
    taken: list[str] = []

    def items() -> Any:
        for keyword_id in sandbox.keyword_ids:
            taken.append(keyword_id)
            yield keyword_id

    async with client_of(sandbox) as client:
        outcomes = [
            outcome async for outcome in client.jobs.map(client.keywords.analyze, items(), max_credits=5, in_flight=3)
        ]
    done = [outcome.item for outcome in outcomes if outcome.error is None]
    (refused,) = [outcome for outcome in outcomes if outcome.error is not None]
    assert sorted(done) == sorted(taken[:5])
    assert len(taken) == 6
    assert refused.item == taken[5]
    assert isinstance(refused.error, cmsapi.OutOfCreditsError)
    assert "The bound that you set, max_credits=5, is reached" in str(refused.error)
    assert len(sandbox.ledger.launches()) == 5


async def test_a_launch_that_cost_nothing_gives_its_credit_back() -> None:
    """What the service refused does not count towards `max_credits`."""
    sandbox = box(30.0)
    unknown = [f"kw_unknown{number}" for number in range(3)]
    async with client_of(sandbox) as client:
        items = [*unknown, *sandbox.keyword_ids[:4]]
        outcomes = [outcome async for outcome in client.jobs.map(client.keywords.analyze, items, max_credits=4)]
    assert sum(outcome.error is None for outcome in outcomes) == 4
    assert {type(outcome.error) for outcome in outcomes if outcome.error} == {cmsapi.NotFoundError}


async def test_a_launch_that_the_policy_refuses_gives_its_credit_back() -> None:
    """Jobs that run already, and that the policy does not join, do not count towards `max_credits`."""
    sandbox = box(30.0)
    items = sandbox.keyword_ids[:4]
    async with client_of(sandbox, launch=cmsapi.LaunchPolicy(dedupe="error")) as client:
        for keyword_id in items[:2]:
            await client.keywords.analyze(keyword_id)
        outcomes = [
            outcome async for outcome in client.jobs.map(client.keywords.analyze, items, max_credits=2, in_flight=1)
        ]
    assert [outcome.item for outcome in outcomes if outcome.error is None] == list(items[2:])
    assert all(type(outcome.error) is cmsapi.JobError for outcome in outcomes[:2])


@pytest.mark.parametrize("shared", [False, True], ids=["in the client", "from another client"])
async def test_a_job_that_is_joined_costs_nothing(shared: bool, tmp_path: Path) -> None:
    """Items whose jobs run already do not count towards `max_credits`: the bound is for what is launched now."""
    sandbox = box(120.0)
    state = f"sqlite:///{tmp_path / 'state.db'}" if shared else "memory:"
    async with contextlib.AsyncExitStack() as clients:
        client = await clients.enter_async_context(client_of(sandbox, state=state))
        async with client.jobs.batch("nightly") as batch:
            running = batch.map(client.keywords.analyze, sandbox.keyword_ids[:8])
            waiting = asyncio.ensure_future(anext(running))
            await asyncio.sleep(10.0)
            assert len(sandbox.ledger.launches()) == 8
            waiting.cancel()
        if shared:
            await client.aclose()
            client = await clients.enter_async_context(client_of(sandbox, state=state))
        async with client.jobs.batch("nightly") as batch:
            outcomes = batch.map(client.keywords.analyze, sandbox.keyword_ids[:16], max_credits=8)
            assert [outcome.error async for outcome in outcomes] == [None] * 16
    assert len(sandbox.ledger.launches()) == 16


async def test_a_launch_that_may_have_happened_counts_as_paid() -> None:
    """An unknown outcome uses up one of `max_credits`."""
    sandbox = box(30.0, rules=[Fault(match="POST *searches", status=502, when="after")])
    async with client_of(sandbox) as client:

        def search(keyword: str) -> Awaitable[cmsapi.Job[cmsapi.ContentIdeas]]:
            return client.content_ideas.search(sandbox.workspace_id, keyword)

        fanout = client.jobs.map(search, ["tents", "boots", "maps"], max_credits=2, in_flight=1)
        outcomes = [outcome async for outcome in fanout]
    assert [type(outcome.error) for outcome in outcomes] == [
        cmsapi.LaunchUnknownError,
        type(None),
        cmsapi.OutOfCreditsError,
    ]
    assert len(sandbox.ledger.launches()) == 2


@pytest.mark.parametrize(("most", "ends"), [(1, ["unknown", "refused"]), (2, ["job", "refused"]), (3, ["job", "job"])])
async def test_a_repeat_in_doubt_takes_another_credit(most: int, ends: list[str]) -> None:
    """`max_credits` of a fan-out bounds the repeats of one item, too, because each of them may be paid."""
    sandbox = box(30.0, rules=[Fault(match="POST *searches", drop=True, when="after")])
    policy = cmsapi.LaunchPolicy(on_unknown="repeat", settle=1.0)
    async with client_of(sandbox, launch=policy) as client:

        def search(keyword: str) -> Awaitable[cmsapi.Job[cmsapi.ContentIdeas]]:
            return client.content_ideas.search(sandbox.workspace_id, keyword)

        fanout = client.jobs.map(search, ["tents", "boots"], max_credits=most, in_flight=1)
        outcomes = [outcome async for outcome in fanout]
    names = {cmsapi.LaunchUnknownError: "unknown", cmsapi.OutOfCreditsError: "refused", type(None): "job"}
    assert [names[type(outcome.error)] for outcome in outcomes] == ends
    assert len(sandbox.ledger.launches()) == most


async def test_an_empty_balance_stops_the_rest() -> None:
    """When the credits run out, a fan-out finds that out with one request instead of being refused item by item."""
    sandbox = box(30.0, credits=Credits(analysis=7), keywords=200)
    async with client_of(sandbox) as client:
        outcomes = [outcome async for outcome in client.jobs.map(client.keywords.analyze, sandbox.keyword_ids)]
    assert sum(outcome.error is None for outcome in outcomes) == 7
    kinds = [type(outcome.error) for outcome in outcomes if outcome.error]
    assert set(kinds) == {cmsapi.OutOfCreditsError}
    # Those that waited for a permit when the first was refused, and the one at which it stopped.
    assert len(kinds) <= 41
    # Those of the second in which the first was refused: the others were not sent.
    assert sandbox.ledger.count(operation="analyze_keyword", status=409) <= 13
    assert sum("Nothing was sent" in str(outcome.error) for outcome in outcomes) >= 20
    assert sandbox.ledger.count(operation="get_me") == 2


async def test_other_conflicts_do_not_stop_a_fan_out() -> None:
    """A 409 for another reason is that item's own; the balance is read once more and not for each of them."""
    sandbox = box(30.0)
    async with client_of(sandbox) as client:
        for keyword_id in sandbox.keyword_ids[:6]:
            await client.request("POST", f"/v1/keywords/{keyword_id}/analyze")
        fanout = client.jobs.map(client.keywords.analyze, sandbox.keyword_ids)
        outcomes = [outcome async for outcome in fanout]
    assert sum(isinstance(outcome.error, cmsapi.ConflictError) for outcome in outcomes) == 6
    assert sum(outcome.error is None for outcome in outcomes) == 14
    assert sandbox.ledger.count(operation="get_me") == 2


async def test_a_balance_that_is_not_shown_does_not_stop_the_rest() -> None:
    """When the service does not show the balance, it stays unknown, and each refused item has its own conflict."""
    sandbox = box(30.0, credits=Credits(analysis=2))

    class Hiding:
        async def send(self, request: cmsapi.Request) -> cmsapi.Response:
            response = await sandbox.transport.send(request)
            if not request.url.endswith("/v1/me"):
                return response
            document = json.loads(response.body)
            document["organization"]["credits"]["analysis"] = None
            return cmsapi.Response(response.status, response.headers, json.dumps(document).encode())

    async with client_of(sandbox, transport=Hiding()) as client:
        fanout = client.jobs.map(client.keywords.analyze, sandbox.keyword_ids[:6], in_flight=1)
        outcomes = [outcome async for outcome in fanout]
    errors = [type(outcome.error) for outcome in outcomes if outcome.error is not None]
    assert errors == [cmsapi.OutOfCreditsError] * 4


@pytest.mark.parametrize("wrong", [-1, 1.5, True])
async def test_a_wrong_bound_is_refused(wrong: Any) -> None:
    """`max_credits` is a whole number that is not negative."""
    sandbox = box()
    async with client_of(sandbox) as client:
        with pytest.raises(cmsapi.ArgumentError, match="max_credits"):
            client.jobs.map(client.keywords.analyze, sandbox.keyword_ids, max_credits=wrong)
    assert len(sandbox.ledger) == 0


async def test_a_client_has_a_fuse() -> None:
    """`LaunchPolicy(max_credits=)` bounds all launches of a client and its copies; joining and refusals are free."""
    sandbox = box(30.0)
    one, two, three, *_ = sandbox.keyword_ids
    async with client_of(sandbox, launch=cmsapi.LaunchPolicy(max_credits=2)) as client:
        with pytest.raises(cmsapi.NotFoundError):
            await client.keywords.analyze("kwd_unknown")
        job = await client.keywords.analyze(one)
        assert await client.keywords.analyze(one) is job
        await client.with_options(timeouts=cmsapi.Timeouts(deadline=5.0)).keywords.analyze(two)
        with pytest.raises(cmsapi.OutOfCreditsError, match="The 2 credits that LaunchPolicy"):
            await client.keywords.analyze(three)
        await job
        with pytest.raises(cmsapi.OutOfCreditsError):
            await client.content_ideas.search(sandbox.workspace_id, "tents")
    assert len(sandbox.ledger.launches()) == 2


async def test_a_launch_called_back_leaves_the_fuse_alone() -> None:
    """A launch that is cancelled while it waits for quota has cost nothing."""
    sandbox = box(30.0, limits=Limits(per_second=1))
    policy, limits = cmsapi.LaunchPolicy(max_credits=1), cmsapi.RateLimits(per_second=1)
    async with client_of(sandbox, launch=policy, limits=limits) as client:
        await client.me()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.keywords.analyze(sandbox.keyword_ids[0]), 0.2)
        await client.keywords.analyze(sandbox.keyword_ids[1])
    assert [entry.target_id for entry in sandbox.ledger.launches()] == [sandbox.keyword_ids[1]]
