"""What a fan-out would take, and how jobs were looked at."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import cmsapi
from cmsapi.sandbox import Lognormal, Sandbox

from .support import box, client_of

pytestmark = pytest.mark.looptime


async def analysed(client: cmsapi.Client, items: Any) -> float:
    """Analyse keywords and return how many seconds that took."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    async for outcome in client.jobs.map(client.keywords.analyze, items):
        outcome.result()
    return loop.time() - began


async def test_a_plan_sends_nothing() -> None:
    """A plan is worked out from what is known; with nothing known it says so."""
    sandbox = box()
    async with client_of(sandbox) as client:
        forecast = client.jobs.plan("idea_search", 100)
    assert len(sandbox.ledger) == 0
    assert (forecast.kind, forecast.count, forecast.credits) == (cmsapi.JobKind.IDEA_SEARCH, 100, 100)
    assert forecast.learned_from == 0
    assert forecast.fits
    # A launch, a look and the ideas at the least.
    assert forecast.requests >= 300


@pytest.mark.slow
async def test_a_plan_comes_true() -> None:
    """After one batch, the plan for another foretells its requests within a third, and its time within a half."""
    sandbox = Sandbox(keywords=400, durations=Lognormal(60.0, 0.6))
    async with client_of(sandbox) as client:
        await analysed(client, sandbox.keyword_ids[:100])
        forecast = client.jobs.plan("keyword_analysis", 200)
        before = len(sandbox.ledger)
        took = await analysed(client, sandbox.keyword_ids[100:300])
        assert forecast.learned_from == 100
        assert forecast.seconds == pytest.approx(took, rel=0.5)
        assert forecast.requests == pytest.approx(len(sandbox.ledger) - before, rel=1 / 3)


async def test_what_does_not_fit_waits_for_the_hour() -> None:
    """More than an hour has room for is foretold to take longer than that hour."""
    sandbox = box()
    async with client_of(sandbox) as client:
        small, large, huge = (client.jobs.plan("keyword_analysis", count) for count in (300, 700, 3000))
    assert (small.fits, large.fits, huge.fits) == (True, False, False)
    assert small.seconds < 3600.0 < large.seconds < 7200.0 < 3 * 3600.0 < huge.seconds


async def test_nothing_to_do_takes_nothing() -> None:
    """A plan for no jobs is empty."""
    async with client_of(box()) as client:
        forecast = client.jobs.plan("generation", 0)
    assert (forecast.credits, forecast.requests, forecast.seconds, forecast.fits) == (0, 0, 0.0, True)


async def test_statistics_count_what_the_service_saw() -> None:
    """Looks, wasted ones and ends add up to what the ledger shows, by kind and in all."""
    sandbox = Sandbox(keywords=40, durations=Lognormal(60.0, 0.6))
    async with client_of(sandbox) as client:
        assert client.jobs.statistics().polls_per_job is None
        await analysed(client, sandbox.keyword_ids)
        statistics = client.jobs.statistics("keyword_analysis")
        assert statistics == client.jobs.statistics()
        assert client.jobs.statistics("generation").finished == 0
    assert statistics.finished == 40
    assert statistics.polls == sandbox.ledger.count(operation="get_keyword")
    assert statistics.wasted_polls == statistics.polls - 40
    assert statistics.polls_per_job == statistics.polls / 40
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
            client.jobs.plan(kind, count)
    assert caught.value.parameter == parameter
