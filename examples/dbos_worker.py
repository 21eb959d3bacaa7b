"""Analyze keywords as durable DBOS workflows: after a crash, workflows resume when their worker restarts.

Start `cmsapi sandbox` in another terminal, and set CMSAPI_BASE_URL and CMSAPI_API_KEY to what it prints; or set them
for your account, where **each keyword costs one analysis credit**. Workers need CMSAPI_STATE
(sqlite:////var/lib/app/launches.db; postgresql://… for several hosts), and both commands need WORKFLOWS, DBOS's
database (sqlite:////var/lib/app/workflows.db or postgresql://…). Then, in two terminals:

    python examples/dbos_worker.py work
    python examples/dbos_worker.py analyze keywords-2026-11 KEYWORD_ID KEYWORD_ID

Running `analyze` again under the same name finds the earlier workflows, and nothing is paid for twice.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from dbos import DBOS, DBOSClient, WorkflowHandle

from cmsapi import Client, CMSError, JobError

QUEUE, VERSION = "analyses", "1"  # a worker resumes workflows of its own version
AT_ONCE = 50  # workflows per worker; the limits of the key decide how fast they launch
client: Client


def may_pass(error: BaseException) -> bool:
    """Return True if a step should be retried after ``error``: any error of cmsapi except a `JobError`."""
    return isinstance(error, CMSError) and not isinstance(error, JobError)


@DBOS.step(retries_allowed=True, max_attempts=5, interval_seconds=30, should_retry=may_pass)
async def analyze(keyword_id: str) -> str:
    """Analyze one keyword in a batch named after the workflow, where a step repeated after a crash finds its launch."""
    async with client.jobs.batch(str(DBOS.workflow_id)) as batch:
        [outcome] = await batch.map(client.keywords.analyze, [keyword_id])
    return str(outcome.result().analysis_status)


@DBOS.workflow(name="analysis")
async def analysis(keyword_id: str) -> str:
    """Analyze a keyword. Further work on the keyword would be added here as further steps."""
    return await analyze(keyword_id)


async def work() -> None:
    """Run workflows until SIGTERM or Ctrl-C; a worker restarted under the same name resumes the unfinished ones."""
    global client
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    DBOS(
        config={
            "name": "analyses",
            "system_database_url": os.environ["WORKFLOWS"],
            "application_version": VERSION,
            "executor_id": os.environ.get("WORKER", "worker-1"),  # each worker needs its own name
        }
    )
    async with Client() as client:
        DBOS.launch()
        await DBOS.register_queue_async(QUEUE, worker_concurrency=AT_ONCE)
        print("ready", flush=True)
        await stop.wait()
        await asyncio.to_thread(DBOS.destroy)


def analyze_all(name: str, keyword_ids: list[str]) -> None:
    """Enqueue a workflow for each keyword, wait for all of them, and print each result or error."""
    queue = DBOSClient(system_database_url=os.environ["WORKFLOWS"])
    handles: dict[str, WorkflowHandle[str]] = {
        keyword_id: queue.enqueue(
            {
                "workflow_name": "analysis",
                "queue_name": QUEUE,
                "workflow_id": f"{name} {keyword_id}",
                "app_version": VERSION,
            },
            keyword_id,
        )
        for keyword_id in keyword_ids
    }
    for keyword_id, handle in handles.items():
        try:
            print(keyword_id, handle.get_result(), flush=True)
        except CMSError as error:
            print(keyword_id, error, flush=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["work"]:
            asyncio.run(work())
        case ["analyze", name, *keyword_ids] if keyword_ids:
            analyze_all(name, keyword_ids)
        case _:
            sys.exit(__doc__)
