"""Analyse keywords as durable workflows of DBOS, on any number of workers, each of which may die at any moment.

    python examples/dbos_worker.py work NAME
    python examples/dbos_worker.py analyse OCCASION KEYWORD_ID…
    python examples/dbos_worker.py hand-over NAME

`work` is a worker: start as many as you like, each under a name of its own, and start one that died again under its
name. `analyse` **spends one credit for each keyword** and prints what comes of it; for the same occasion again it pays
for nothing twice. `hand-over` gives the workflows of a worker that will not come back to the others.

All of them need WORKFLOWS, the database of DBOS (`sqlite:///workflows.db`, or `postgresql://…` for many hosts); a
worker also STATE, what cmsapi keeps (`sqlite:////var/lib/app/launches.db`, or `postgresql://…` for many hosts), and
CMSAPI_API_KEY and CMSAPI_BASE_URL.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Any

from dbos import DBOS, DBOSClient, WorkflowHandle

import cmsapi

VERSION = "1"  # of the workflows; workers resume only those of their own
# A worker takes as many workflows as it may, so that fifty left nothing for the next one that is started. Few cost no
# time: the limits of the key, and not the workers, decide how fast analyses are launched.
AT_ONCE = 10
client: cmsapi.Client


def may_pass(error: BaseException) -> bool:
    """Tell whether a step is to be tried again: the network or the state failed, not the job."""
    return not isinstance(error, cmsapi.JobError)


@DBOS.step(retries_allowed=True, max_attempts=5, interval_seconds=60, should_retry=may_pass)
async def analyse(keyword_id: str) -> str:
    """Launch an analysis and wait for it; run again after a crash, join the job that was launched."""
    async with client.jobs.batch(str(DBOS.workflow_id)) as batch:
        outcomes = [outcome async for outcome in batch.map(client.keywords.analyze, [keyword_id])]
    return str(outcomes[0].result().analysis_status)


@DBOS.workflow(name="analysis")
async def analysis(keyword_id: str) -> str:
    """Bring one keyword through; what else is to be done with it becomes another step."""
    return await analyse(keyword_id)


async def work(name: str, **settings: Any) -> None:
    """Run workflows until this process is asked to stop; settings are those of the client."""
    global client
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    DBOS(
        config={
            "name": "analyses",
            "system_database_url": os.environ["WORKFLOWS"],
            "executor_id": name,
            "application_version": VERSION,
        }
    )
    async with cmsapi.Client(state=os.environ["STATE"], **settings) as client:
        DBOS.launch()
        await DBOS.register_queue_async("analyses", worker_concurrency=AT_ONCE)
        print("ready", flush=True)
        await stop.wait()
        # The next worker of this name resumes the workflows that have not finished by then.
        await asyncio.to_thread(DBOS.destroy, workflow_completion_timeout_sec=20)


def analyse_all(occasion: str, keyword_ids: list[str]) -> None:
    """Put a workflow for each keyword into the queue, once an occasion, and wait for all of them."""
    queue = DBOSClient(system_database_url=os.environ["WORKFLOWS"], application_name="analyses")
    handles: list[WorkflowHandle[str]] = [
        queue.enqueue(
            {
                "workflow_name": "analysis",
                "queue_name": "analyses",
                "workflow_id": f"{occasion} {keyword_id}",
                "app_version": VERSION,
            },
            keyword_id,
        )
        for keyword_id in keyword_ids
    ]
    print(len(handles), "enqueued", flush=True)
    for keyword_id, handle in zip(keyword_ids, handles, strict=True):
        try:
            print(keyword_id, handle.get_result(), flush=True)
        except cmsapi.CMSError as error:
            print(keyword_id, error, flush=True)


def hand_over(name: str) -> None:
    """Put the workflows of a worker that is gone back into the queue."""
    queue = DBOSClient(system_database_url=os.environ["WORKFLOWS"], application_name="analyses")
    for workflow in queue.list_workflows(executor_id=name, status="PENDING"):
        queue.resume_workflow(workflow.workflow_id, queue_name="analyses")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["work", name]:
            asyncio.run(work(name))
        case ["analyse", occasion, *keyword_ids]:
            analyse_all(occasion, keyword_ids)
        case ["hand-over", name]:
            hand_over(name)
        case _:
            sys.exit(__doc__)
