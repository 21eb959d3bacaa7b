"""Analyse keywords in an activity of Temporal, on any number of workers, each of which may die at any moment.

    python examples/temporal_worker.py work
    python examples/temporal_worker.py analyse OCCASION KEYWORD_ID…

`work` is a worker: start as many as you like. `analyse` **spends one credit for each keyword** and prints what comes of
it; for the same occasion again it pays for nothing twice.

Both need TEMPORAL, the address of the server (`127.0.0.1:7233`); a worker also STATE, what cmsapi keeps
(`sqlite:////var/lib/app/launches.db`, or `redis://…` for many hosts), and CMSAPI_API_KEY and CMSAPI_BASE_URL.

Tested on Temporal's test server; that a killed activity is taken up again is tested without a server.
"""

from __future__ import annotations

import asyncio
import os
import sys
from datetime import timedelta
from typing import Any

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.common import RetryPolicy, WorkflowIDReusePolicy
from temporalio.worker import Worker

with workflow.unsafe.imports_passed_through():
    import cmsapi

QUEUE = "analyses"
HEARTBEAT = timedelta(seconds=30)  # without one for so long, another worker runs the activity
client: cmsapi.Client


@activity.defn
async def analyse(keyword_ids: list[str]) -> dict[str, str]:
    """Bring some keywords through; run again after a crash, launch only those that are missing."""
    info = activity.info()
    found: dict[str, str] = {}
    async with client.jobs.batch(f"{info.workflow_id} {info.activity_id}") as batch:
        beating = asyncio.create_task(beat(found))
        try:
            async for outcome in batch.map(client.keywords.analyze, keyword_ids):
                found[outcome.item] = str(outcome.error or outcome.result().analysis_status)
                activity.heartbeat(len(found))
        finally:
            beating.cancel()
        if batch.unfinished:
            raise RuntimeError(f"to be run again: {', '.join(batch.unfinished)}")
    return found


async def beat(found: dict[str, str]) -> None:
    """Send heartbeats also while no job finishes."""
    while True:
        activity.heartbeat(len(found))
        await asyncio.sleep(HEARTBEAT.total_seconds() / 3)


@workflow.defn
class Analysis:
    """Bring keywords through; what else is to be done with them becomes another activity."""

    @workflow.run
    async def run(self, keyword_ids: list[str]) -> dict[str, str]:
        """Run the activity until it has an outcome for each keyword."""
        return await workflow.execute_activity(
            analyse,
            keyword_ids,
            start_to_close_timeout=timedelta(hours=12),
            heartbeat_timeout=HEARTBEAT,
            retry_policy=RetryPolicy(initial_interval=timedelta(seconds=10), backoff_coefficient=1.0),
        )


async def work(**settings: Any) -> None:
    """Run workflows and activities until this process is stopped; settings are those of cmsapi's client."""
    global client
    temporal = await Client.connect(os.environ["TEMPORAL"])
    async with cmsapi.Client(state=os.environ["STATE"], **settings) as client:
        worker = Worker(
            temporal, task_queue=QUEUE, workflows=[Analysis], activities=[analyse], max_concurrent_activities=5
        )
        print("ready", flush=True)
        await worker.run()


async def analyse_all(occasion: str, keyword_ids: list[str]) -> None:
    """Start the workflow of an occasion, or find it, and wait for it."""
    temporal = await Client.connect(os.environ["TEMPORAL"])
    found = await temporal.execute_workflow(
        Analysis.run,
        keyword_ids,
        id=occasion,
        task_queue=QUEUE,
        id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
    )
    for keyword_id, state in found.items():
        print(keyword_id, state, flush=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["work"]:
            asyncio.run(work())
        case ["analyse", occasion, *keyword_ids]:
            asyncio.run(analyse_all(occasion, keyword_ids))
        case _:
            sys.exit(__doc__)
