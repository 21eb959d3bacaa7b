"""Analyse keywords in an asset of Dagster with a partition a day, whose runs may be killed and executed again.

    dagster dev -f examples/dagster_flow.py

KEYWORD_IDS names the keywords, with commas between them; materialising a partition **spends one credit for each**, and
materialising it again pays for nothing twice. It needs STATE, what cmsapi keeps (`sqlite:////var/lib/app/launches.db`,
or `redis://…` for many hosts), CMSAPI_API_KEY and CMSAPI_BASE_URL.
"""

import asyncio
import os
from typing import Any

import dagster

import cmsapi

SETTINGS: dict[str, Any] = {}  # of the client, such as `polling`


async def analyse(name: str, keyword_ids: list[str]) -> dict[str, str]:
    """Bring some keywords through; run again, launch only those that are missing."""
    async with (
        # A client belongs to its event loop, and each `asyncio.run` makes one.
        cmsapi.Client(state=os.environ["STATE"], **SETTINGS) as client,
        client.jobs.batch(name) as batch,
    ):
        found = {
            outcome.item: str(outcome.error or outcome.result().analysis_status)
            async for outcome in batch.map(client.keywords.analyze, keyword_ids)
        }
        if batch.unfinished:
            raise dagster.RetryRequested(max_retries=5, seconds_to_wait=60)
    return found


@dagster.asset(
    partitions_def=dagster.DailyPartitionsDefinition(start_date="2026-01-01"),
    retry_policy=dagster.RetryPolicy(max_retries=5, delay=60),
)
def analysed(context: dagster.AssetExecutionContext) -> dict[str, str]:
    """The states of the keywords of a day."""
    found = asyncio.run(analyse(f"analysed {context.partition_key}", os.environ["KEYWORD_IDS"].split(",")))
    context.add_output_metadata({"keywords": len(found)})
    return found


definitions = dagster.Definitions(assets=[analysed])
