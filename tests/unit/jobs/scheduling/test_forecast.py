"""What a fan-out would take, and how jobs were polled."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import cmsapi
from cmsapi.sandbox import Credits, Lognormal, Sandbox
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
async def test_a_plan_comes_true() -> None:
    """After one batch, the plan for another foretells its requests within a third, and its time within a half."""
    sandbox = Sandbox(keywords=400, durations=Lognormal(60.0, 0.6))
    async with client_of(sandbox) as client:
        await analysed(client, sandbox.keyword_ids[:100])
        forecast = await client.jobs.plan("keyword_analysis", 200)
        before = len(sandbox.ledger)
        took = await analysed(client, sandbox.keyword_ids[100:300])
        assert forecast.learned_from == 100
        assert forecast.seconds == pytest.approx(took, rel=0.5)
        assert forecast.requests == pytest.approx(len(sandbox.ledger) - before, rel=1 / 3)


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
        assert client.jobs.statistics().polls_per_job is None
        await analysed(client, sandbox.keyword_ids)
        statistics = client.jobs.statistics("keyword_analysis")
        assert statistics == client.jobs.statistics()
        assert client.jobs.statistics("generation").finished == 0
    assert statistics.finished == 20
    assert statistics.polls == sandbox.ledger.count(operation="get_keyword")
    assert statistics.wasted_polls == statistics.polls - 20
    assert statistics.polls_per_job == statistics.polls / 20
    assert statistics.lateness_p50 is not None
    assert statistics.lateness_p95 is not None
    assert statistics.stretch is not None
    assert 0.0 <= statistics.lateness_p50 <= statistics.lateness_p95 <= 15.0
    assert 1.0 <= statistics.stretch < 1.5


@pytest.mark.parametrize(("kind", "count", "parameter"), [("analysis", 3, "kind"), ("generation", -1, "count")])
async def test_wrong_questions_are_refused(kind: str, count: int, parameter: str) -> None:
    """A kind that does not exist and a negative number are named."""
    async with client_of(box()) as client:
        with pytest.raises(cmsapi.ArgumentError) as caught:
            await client.jobs.plan(kind, count)
    assert caught.value.parameter == parameter
