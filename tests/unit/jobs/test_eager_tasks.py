"""Event loops whose tasks begin at once (Python 3.12)."""

from __future__ import annotations

import asyncio
import sys

import pytest

from cmsapi import Client
from cmsapi.sandbox import Sandbox

pytestmark = [pytest.mark.looptime, pytest.mark.skipif(sys.version_info < (3, 12), reason="needs eager tasks")]


async def test_jobs_work_with_eager_tasks(client: Client, sandbox: Sandbox) -> None:
    """With eager tasks jobs are launched, awaited, fanned out and joined as ever."""
    if sys.version_info >= (3, 12):
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
    assert (await (await client.keywords.analyze(sandbox.keyword_ids[0]))).analysis_status == "success"
    outcomes = await client.jobs.map(client.keywords.analyze, sandbox.keyword_ids)
    assert all(outcome.ok for outcome in outcomes)
    first, second = await asyncio.gather(*(client.keywords.analyze(sandbox.keyword_ids[0]) for _ in range(2)))
    assert await first == await second
    assert len(sandbox.ledger.launches) == len(sandbox.keyword_ids) + 2
