"""Sanity in real time, over a real socket."""

from __future__ import annotations

import cmsapi
from cmsapi.config import PollPolicy, RateLimits
from cmsapi.sandbox import Fixed, Limits, Sandbox


async def test_all_kinds_over_loopback() -> None:
    """Launch, fan out, review and close over aiohttp and loopback, within a second or so."""
    # Polls every tenth of a second, for as long as jobs usually take, are more than the usual hour has.
    async with Sandbox(durations=Fixed(0.2), keywords=10, limits=Limits(per_hour=100_000)) as sandbox:
        polling = PollPolicy(min_interval=0.05, max_interval=0.1)
        limits = RateLimits(per_hour=100_000)
        async with cmsapi.Client(sandbox.api_key, base_url=sandbox.base_url, polling=polling, limits=limits) as client:
            job = await client.contents.generate(sandbox.content_ids[0], on_review=lambda review: "confirm")
            found = await (await client.content_ideas.search(sandbox.workspace_id, "tents"))
            assert len(found) > 0
            async with client.jobs.map(client.keywords.analyze, sandbox.keyword_ids, in_flight=5) as outcomes:
                assert [outcome.error async for outcome in outcomes] == [None] * 10
            prompt = await (await client.prompts.analyze(sandbox.prompt_ids[0]))
            assert prompt.analysis_status == "success"
            review = await job
            assert review.decision == "confirm"
            assert (await client.jobs.attach(job.token)).decision == "confirm"
        assert len(sandbox.ledger.launches()) == 13
        assert sandbox.ledger.count(status=429) == 0
