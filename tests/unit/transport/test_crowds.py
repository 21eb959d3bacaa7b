"""Crowds: ten thousand calls at once, forty thousand cancellations, forty processes on one file."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

import cmsapi
from cmsapi.sandbox import Limits, Sandbox

FEW_CALLS = """
import asyncio, sys
import cmsapi

async def main():
    async with cmsapi.Client(sys.argv[1], base_url=sys.argv[2], state=sys.argv[3]) as client:
        await asyncio.gather(*(client.me() for _ in range(3)))

asyncio.run(main())
"""


@pytest.mark.looptime
async def test_three_thousand_calls_at_once() -> None:
    """All are answered, at the rate of the key and without one refusal."""
    sandbox = Sandbox(limits=Limits(per_second=20, per_hour=100_000))
    async with cmsapi.Client(
        sandbox.api_key,
        base_url=sandbox.base_url,
        transport=sandbox.transport,
        limits=cmsapi.RateLimits(per_hour=100_000),
    ) as client:
        await asyncio.gather(*(client.me() for _ in range(3_000)))
        # The first one goes alone, because it finds out how full the hour is.
        assert asyncio.get_running_loop().time() == pytest.approx(150.0, abs=3.0)
    assert len(sandbox.ledger) == 3_000
    assert sandbox.statistics.rate_limited == 0


@pytest.mark.looptime
async def test_four_thousand_cancellations() -> None:
    """Calls that are cancelled while they wait for quota take nothing from those that stay."""
    sandbox = Sandbox()
    async with cmsapi.Client(sandbox.api_key, base_url=sandbox.base_url, transport=sandbox.transport) as client:
        await client.me()
        # From now on the second is used up.
        await asyncio.gather(*(client.me() for _ in range(19)))
        for _ in range(4):
            calls = [asyncio.create_task(client.me()) for _ in range(1000)]
            await asyncio.sleep(0)
            for call in calls:
                call.cancel()
            ended = await asyncio.gather(*calls, return_exceptions=True)
            assert {type(end) for end in ended} == {asyncio.CancelledError}
        assert len(sandbox.ledger) == 20
        await asyncio.sleep(1.0)
        limit = client.rate_limit
        assert (limit.in_flight, limit.queued) == (0, 0)
        began = asyncio.get_running_loop().time()
        await asyncio.gather(*(client.me() for _ in range(20)))
        assert asyncio.get_running_loop().time() == began
    assert sandbox.statistics.rate_limited == 0
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.enable_socket
async def test_forty_processes_on_one_file(tmp_path: Path) -> None:
    """Forty processes that share a file make 120 calls, and the service refuses none."""
    async with Sandbox(limits=Limits(per_second=20, per_hour=1000)) as sandbox:
        state = f"sqlite:///{tmp_path / 'state.db'}"
        words = [sys.executable, "-W", "error", "-c", FEW_CALLS, sandbox.api_key, sandbox.base_url, state]
        processes = [await asyncio.create_subprocess_exec(*words) for _ in range(40)]
        assert {await process.wait() for process in processes} == {0}
        assert len(sandbox.ledger) == 120
        assert sandbox.statistics.rate_limited == 0
