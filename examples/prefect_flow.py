"""Analyse keywords in a flow of Prefect, which may be killed and started again at any moment.

    python examples/prefect_flow.py OCCASION KEYWORD_ID…

It **spends one credit for each keyword**; for the same occasion again it pays for nothing twice. It needs STATE, what
cmsapi keeps (`sqlite:////var/lib/app/launches.db`, or `redis://…` for many hosts), CMSAPI_API_KEY and CMSAPI_BASE_URL.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from prefect import flow, task

import cmsapi

SETTINGS: dict[str, Any] = {}  # of the client, such as `polling`


@task(retries=5, retry_delay_seconds=60)
async def analyse(name: str, keyword_ids: list[str]) -> dict[str, str]:
    """Bring some keywords through; run again, launch only those that are missing."""
    async with (
        cmsapi.Client(state=os.environ["STATE"], **SETTINGS) as client,
        client.jobs.batch(name) as batch,
    ):
        found = {
            outcome.item: str(outcome.error or outcome.result().analysis_status)
            async for outcome in batch.map(client.keywords.analyze, keyword_ids)
        }
        if batch.unfinished:
            raise RuntimeError(f"to be run again: {', '.join(batch.unfinished)}")
    return found


@flow
async def analysis(occasion: str, keyword_ids: list[str]) -> dict[str, str]:
    """Bring keywords through, once an occasion: a run that a person starts again has a new identifier."""
    return await analyse(f"analysis {occasion}", keyword_ids)


if __name__ == "__main__":
    for keyword_id, state in asyncio.run(analysis(sys.argv[1], sys.argv[2:])).items():
        print(keyword_id, state, flush=True)
