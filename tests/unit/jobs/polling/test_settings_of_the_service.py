"""What the specification leaves open: the SDK works with every setting of the sandbox."""

from __future__ import annotations

from typing import Any

import pytest

import cmsapi
from cmsapi.sandbox import Behaviour, Fault
from tests.support.jobs import box, client_of

pytestmark = pytest.mark.looptime


@pytest.mark.parametrize("rate_headers", ["every", "valid_key"])
async def test_limits_are_kept_with_or_without_headers_on_errors(rate_headers: Any) -> None:
    """Server errors, pauses and a refused key, with rate headers or without them, upset neither limits nor jobs."""
    rules = [
        Fault(match="GET /v1/keywords/*", status=503, times=None, probability=0.2),
        Fault(match="GET /v1/keywords/*", status=502, when="after", times=5),
        Fault(match="POST /v1/*", status=429, retry_after=2, times=3),
    ]
    sandbox = box(20.0, rules=rules, behaviour=Behaviour(rate_headers=rate_headers))
    async with client_of(sandbox) as client:
        outcomes = [outcome async for outcome in client.jobs.map(client.keywords.analyze, sandbox.keyword_ids)]
        assert [outcome.error for outcome in outcomes] == [None] * 20
        sandbox.revoke(sandbox.api_key)
        with pytest.raises(cmsapi.UnauthorizedError):
            await client.me()
        sandbox.restore(sandbox.api_key)
        await client.me()
        known, paused = client.rate_limit.remaining, client.rate_limit.paused_for
    struck = sum(number for kind, number in sandbox.faults_struck.items() if kind.startswith("429"))
    assert sandbox.ledger.count(status=429) == struck == 3
    assert len(sandbox.ledger.launches()) == 20
    request = cmsapi.Request("GET", f"{sandbox.base_url}/v1/me", {"Authorization": f"Bearer {sandbox.api_key}"})
    true = int((await sandbox.transport.send(request)).headers["x-ratelimit-remaining"])
    assert paused == 0
    assert known is not None
    # What the service did not count, the client may have counted; never the other way round.
    assert true - 25 <= known <= true + 1


@pytest.mark.parametrize(("word", "phase"), [("queued", "running"), ("running", "running"), ("Läuft…", "unknown")])
async def test_a_generation_ends_whatever_the_word_for_its_running(word: str, phase: str) -> None:
    """An unlisted word is shown as it came, and the job goes on to its review."""
    sandbox = box(60.0, behaviour=Behaviour(generation_running=word))
    async with client_of(sandbox) as client:
        job = await client.contents.generate(sandbox.content_ids[0])
        seen = {(event.status.state, str(event.status.phase)) async for event in job.events()}
        assert (word, phase) in seen
        review = await job
        await review.confirm()
    assert len(sandbox.ledger.launches()) == 1


@pytest.mark.parametrize(("shape", "kind"), [("list", list), ("by_term", dict)])
async def test_recommendations_are_what_came(shape: Any, kind: type) -> None:
    """Their shape is not shown: a list or an object reaches the program as it is."""
    sandbox = box(behaviour=Behaviour(recommendations=shape))
    async with client_of(sandbox) as client:
        report = await client.keywords.score(sandbox.analyzed_keyword_ids[0], title="Shoes", html="<p>running shoes")
        assert type(report.recommendations) is kind
        assert report.recommendations
        assert not client.statistics.drift
