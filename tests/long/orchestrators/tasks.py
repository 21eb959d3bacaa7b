"""Tasks of engines that call a function in a process: each takes the name of its batch from the engine."""

from __future__ import annotations

import asyncio
import os

import cmsapi
from tests.long.orchestrators.hurried import SETTINGS


async def analyse(name: str, keyword_ids: list[str]) -> dict[str, str]:
    """Bring keywords through with a client of this loop."""
    async with (
        cmsapi.Client(state=os.environ["STATE"], **SETTINGS) as client,
        client.jobs.batch(name) as batch,
    ):
        return {
            outcome.item: str(outcome.error or outcome.result().analysis_status)
            async for outcome in batch.map(client.keywords.analyze, keyword_ids)
        }


def of_rq(keyword_ids: list[str]) -> dict[str, str]:
    """Be a job of RQ."""
    from rq import get_current_job

    job = get_current_job()
    assert job is not None
    return asyncio.run(analyse(job.id, keyword_ids))


def of_dask(name: str, keyword_ids: list[str]) -> dict[str, str]:
    """Be a task of Dask."""
    return asyncio.run(analyse(name, keyword_ids))
