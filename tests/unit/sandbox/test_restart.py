"""A sandbox that restarts at the same address: a client's state belongs to its key."""

from __future__ import annotations

from pathlib import Path

import pytest

import cmsapi
from cmsapi.sandbox import Fixed, Sandbox

pytestmark = pytest.mark.looptime

ADDRESS = "https://sandbox.example"


async def run(key: str, state: Path) -> tuple[int, int]:
    """Start a sandbox and run the nightly batch on it; return its launches, and the remaining requests."""
    box = Sandbox(api_key=key, durations=Fixed(10.0))
    async with cmsapi.Client(key, base_url=ADDRESS, transport=box.transport, state=f"sqlite:///{state}") as client:
        async with client.jobs.batch("nightly") as batch:
            async for _ in batch.map(client.keywords.analyze, box.keyword_ids[:5]):
                pass
        left = client.rate_limit.remaining
    assert left is not None
    return len(box.ledger.launches()), left


async def test_a_new_key_is_a_new_service_to_a_state(tmp_path: Path) -> None:
    """With another key a state has neither batches nor requests of the service; with the same key it has both."""
    runs = [await run(key, tmp_path / "jobs.db") for key in ("sk_one", "sk_two", "sk_one")]
    launches, left = zip(*runs, strict=True)
    assert launches == (5, 5, 0)
    assert left[2] < left[0]
    # The key, the books once, and for each of five analyses a launch and a few polls.
    assert left[1] >= 1000 - 45
