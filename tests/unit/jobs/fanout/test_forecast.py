"""What a fan-out would take, and how jobs were polled."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import attrs
import pytest

import cmsapi
from cmsapi.sandbox import Credits, Fault, Lognormal, Sandbox
from tests.support.jobs import box, client_of

pytestmark = pytest.mark.looptime


async def analysed(client: cmsapi.Client, items: Any) -> float:
    """Analyse keywords and return how many seconds that took."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    async for outcome in client.jobs.map(client.keywords.analyze, items):
        outcome.result()
    return loop.time() - began


async def test_a_plan_launches_nothing() -> None:
    """A plan takes one request, for the balances, and says when nothing is known of such jobs."""
    sandbox = box()
    async with client_of(sandbox) as client:
        forecast = await client.jobs.plan("idea_search", 100)
    assert [entry.operation for entry in sandbox.ledger] == ["get_me"]
    assert (forecast.kind, forecast.count, forecast.credits) == (cmsapi.JobKind.IDEA_SEARCH, 100, 100)
    assert forecast.learned_from == 0
    assert forecast.fits
    # A launch, a poll and the ideas at the least.
    assert forecast.requests >= 300


@pytest.mark.slow
@pytest.mark.parametrize(("count", "hold"), [(40, 8), (200, 8)])
async def test_plans_come_true(count: int, hold: int) -> None:
    """The plan of a batch, made when an earlier one has taught the durations, has what the batch takes in its ranges.

    Before the first polls it is not known whether one request for a list shows many jobs. The last of many ends is a
    matter of chance.
    """
    held = 0
    for seed in range(10):
        sandbox = Sandbox(seed=seed, keywords=101 + count, durations=Lognormal(60.0, 0.6))
        async with client_of(sandbox) as client:
            await analysed(client, sandbox.keyword_ids[:101])
            # The hour is as it was before that.
            await asyncio.sleep(3700.0)
            forecast = await client.jobs.plan("keyword_analysis", count)
            before = len(sandbox.ledger)
            took = await analysed(client, sandbox.keyword_ids[101:])
            requests = len(sandbox.ledger) - before
        assert (forecast.learned_from, forecast.basis) == (101, "101 keyword analyses seen")
        assert not forecast.guesses
        assert forecast.fits
        fewest, most = forecast.requests_range
        assert 0.9 * fewest <= requests <= 1.1 * most
        earliest, latest = forecast.seconds_range
        assert 0.5 * earliest <= took <= 2.0 * latest
        held += earliest <= took <= latest
    assert held >= hold


async def test_what_does_not_fit_waits_for_the_hour() -> None:
    """More than an hour has room for is foretold to take longer than that hour."""
    sandbox = box()
    async with client_of(sandbox) as client:
        small, large, huge = [await client.jobs.plan("keyword_analysis", count) for count in (300, 700, 3000)]
    assert (small.fits, large.fits, huge.fits) == (True, False, False)
    assert small.seconds < 3600.0 < large.seconds < 7200.0 < 3 * 3600.0 < huge.seconds


async def test_nothing_to_do_takes_nothing() -> None:
    """A plan for no jobs is empty."""
    async with client_of(box()) as client:
        forecast = await client.jobs.plan("generation", 0)
    assert (forecast.credits, forecast.requests, forecast.seconds, forecast.fits) == (0, 0, 0.0, True)


@pytest.mark.parametrize(
    ("kind", "balance"),
    [
        ("keyword_analysis", 7),
        ("prompt_analysis", 7),
        ("idea_search", 8),
        ("generation", 9),
        ("knowledge_document", None),
    ],
)
async def test_a_plan_says_what_the_balance_pays_for(kind: str, balance: int | None) -> None:
    """A plan reads the balance that launches of its kind are paid from, and tells whether it is enough."""
    async with client_of(box(credits=Credits(analysis=7, content_ideas_searches=8, ai_writing=9))) as client:
        enough, more = await client.jobs.plan(kind, 7), await client.jobs.plan(kind, 10)
    assert enough.balance == more.balance == balance
    assert enough.affordable
    assert more.affordable is (balance is None)


async def test_statistics_count_what_the_service_saw() -> None:
    """Polls, wasted ones and ends add up to what the ledger shows, by kind and in all."""
    sandbox = Sandbox(keywords=20, durations=Lognormal(60.0, 0.6))
    async with client_of(sandbox) as client:
        assert client.jobs.statistics.polls_per_job is None
        await analysed(client, sandbox.keyword_ids)
        statistics = client.jobs.statistics.by_kind["keyword_analysis"]
        assert statistics == attrs.evolve(client.jobs.statistics, by_kind={})
        assert client.jobs.statistics.by_kind["generation"].finished == 0
    assert statistics.finished == 20
    assert statistics.polls == sandbox.ledger.count(operation="get_keyword")
    assert statistics.wasted_polls == statistics.polls - 20
    assert statistics.polls_per_job == statistics.polls / 20
    assert statistics.lateness_p50 is not None
    assert statistics.lateness_p95 is not None
    assert statistics.stretch is not None
    assert 0.0 <= statistics.lateness_p50 <= statistics.lateness_p95 <= 15.0
    assert 1.0 <= statistics.stretch < 1.5


async def test_a_plan_names_what_it_guesses() -> None:
    """Before a job of a kind was seen to end, the plan calls its durations a guess, and its ranges are wide."""
    async with client_of(box()) as client:
        forecast = await client.jobs.plan("idea_search", 10)
    assert forecast.basis == "a guess: no idea search was seen to end yet"
    assert [guess.partition(",")[0] for guess in forecast.guesses] == ["the durations"]
    low, high = forecast.seconds_range
    assert high > 3 * forecast.seconds > 9 * low
    assert "a guess" in str(forecast)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Fault(status=503, times=None), "the service could not be asked"),
        (Fault(slow=60.0, times=None), "no answer came within 10 s"),
    ],
)
async def test_a_plan_without_an_answer_says_so(fault: Fault, reason: str) -> None:
    """When the balance cannot be read, there is a plan all the same, which does not say that the balance suffices."""
    retry = cmsapi.RetryPolicy(max_attempts=1)
    async with client_of(box(rules=[fault]), retry=retry) as client:
        forecast = await client.jobs.plan("keyword_analysis", 10)
    assert (forecast.balance, forecast.affordable) == (None, None)
    assert forecast.requests >= 20
    assert reason in forecast.guesses[-1]


async def test_a_plan_does_not_wait_for_the_hour() -> None:
    """When the hour is used up, a plan comes at once, sends nothing, and says that no request is left."""
    limits = cmsapi.RateLimits(per_hour=3)
    sandbox = box()
    async with client_of(sandbox, limits=limits) as client:
        for _ in range(3):
            await client.me()
        forecast = await client.jobs.plan("keyword_analysis", 10)
    assert (len(sandbox.ledger), forecast.requests_left, forecast.fits) == (3, 0, False)
    assert "the request limit admits the next request in" in forecast.guesses[-1]


async def test_a_refused_key_gets_no_plan() -> None:
    """A key that the service refuses raises, because no plan with it comes true."""
    async with client_of(box(), api_key="sk_wrong") as client:
        with pytest.raises(cmsapi.UnauthorizedError):
            await client.jobs.plan("keyword_analysis", 10)


async def test_running_jobs_take_their_part() -> None:
    """Jobs that run, and those that a fan-out has still to launch, are named, and leave fewer requests."""
    sandbox = box(300.0)
    async with client_of(sandbox) as client:
        alone = await client.jobs.plan("idea_search", 5)
        async with client.jobs.map(client.keywords.analyze, sandbox.keyword_ids[:8], in_flight=5) as outcomes:
            first = asyncio.ensure_future(anext(outcomes))
            await asyncio.sleep(10.0)
            beside = await client.jobs.plan("idea_search", 5)
            first.cancel()
    assert (alone.running, alone.waiting) == (0, 0)
    assert (beside.running, beside.waiting) == (5, 3)
    assert beside.requests_left is not None
    assert alone.requests_left is not None
    assert beside.requests_left < alone.requests_left - 10
    assert "5 jobs running and 3 jobs waiting to be launched" in str(beside)


async def test_fewer_in_flight_take_longer() -> None:
    """A plan takes the bound of jobs in flight into account, which makes a fan-out last longer."""
    async with client_of(box()) as client:
        free = await client.jobs.plan("keyword_analysis", 60)
        bound = await client.jobs.plan("keyword_analysis", 60, in_flight=6)
    assert (free.in_flight, bound.in_flight) == (60, 6)
    assert bound.seconds > 3 * free.seconds


async def test_results_of_an_earlier_run_take_requests_and_no_credit() -> None:
    """Items that have ended before are read again: one request each, and one more where the result has its own."""
    async with client_of(box()) as client:
        rest = await client.jobs.plan("idea_search", 0, earlier=30)
    assert (rest.count, rest.credits, rest.requests, rest.affordable) == (0, 0, 60, True)
    assert "nothing to launch, no credit" in repr(rest)


async def test_a_plan_is_a_document() -> None:
    """A plan can be written as JSON, with what its properties tell."""
    async with client_of(box()) as client:
        forecast = await client.jobs.plan("keyword_analysis", 10)
    document = json.loads(json.dumps(forecast.to_dict()))
    assert (document["kind"], document["affordable"], document["basis"]) == ("keyword_analysis", True, forecast.basis)
    assert document["seconds_range"] == list(forecast.seconds_range)


async def test_figures_are_documents() -> None:
    """What the properties of a client show can be written as JSON; reading them sends nothing."""
    sandbox = box()
    async with client_of(sandbox) as client:
        await analysed(client, sandbox.keyword_ids[:2])
        sent = len(sandbox.ledger)
        shown = [client.jobs.statistics.to_dict(), client.statistics.to_dict(), client.rate_limit.to_dict()]
        jobs, requests, limit = json.loads(json.dumps(shown))
        assert len(sandbox.ledger) == sent
    assert jobs["by_kind"]["keyword_analysis"]["finished"] == jobs["finished"] == 2
    assert (requests["requests"], limit["remaining"]) == (sent, 1000 - sent)


@pytest.mark.parametrize(("kind", "count", "parameter"), [("analysis", 3, "kind"), ("generation", -1, "count")])
async def test_wrong_questions_are_refused(kind: str, count: int, parameter: str) -> None:
    """A kind that does not exist and a negative number are named."""
    async with client_of(box()) as client:
        with pytest.raises(cmsapi.ArgumentError) as caught:
            await client.jobs.plan(kind, count)
    assert caught.value.parameter == parameter
