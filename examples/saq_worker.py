"""Analyse keywords with the queue SAQ on Redis, on any number of workers, each of which may die at any moment.

    PYTHONPATH=examples saq saq_worker.settings
    python examples/saq_worker.py OCCASION KEYWORD_ID…

The first line is a worker: start as many as you like. The second one puts the keywords into the queue, **spends one
credit for each** and prints what comes of them; for the same occasion again it pays for nothing twice.

Both need REDIS (`redis://host:6379/0`), which holds the queue and what cmsapi keeps; a worker also CMSAPI_API_KEY and
CMSAPI_BASE_URL.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from saq import Queue

import cmsapi

REDIS = os.environ.get("REDIS", "redis://127.0.0.1:6379/0")
AT_ONCE = 10  # keywords in one job of the queue
queue = Queue.from_url(REDIS)


async def analyse(context: dict[str, Any], *, keyword_ids: list[str]) -> dict[str, str]:
    """Bring some keywords through; run again after a crash, launch only those that are missing."""
    client: cmsapi.Client = context["client"]
    found = {}
    async with client.jobs.batch(context["job"].key) as batch:
        async for outcome in batch.map(client.keywords.analyze, keyword_ids):
            found[outcome.item] = str(outcome.error or outcome.result().analysis_status)
            await context["job"].update()  # a heartbeat
        if batch.unfinished:
            raise RuntimeError(f"to be run again: {', '.join(batch.unfinished)}")
    return found


async def connect(context: dict[str, Any]) -> None:
    """Make the client of a worker."""
    context["client"] = cmsapi.Client(state=REDIS)


async def disconnect(context: dict[str, Any]) -> None:
    """Let others have at once what this worker holds."""
    await context["client"].aclose()


settings: dict[str, Any] = {
    "queue": queue,
    "functions": [analyse],
    "concurrency": 5,
    "startup": connect,
    "shutdown": disconnect,
    "timers": {"sweep": 10},
}


async def analyse_all(occasion: str, keyword_ids: list[str], heartbeat: int = 120) -> None:
    """Put the keywords into the queue and wait; a job without a heartbeat for so many seconds is run elsewhere."""
    parts = [keyword_ids[at : at + AT_ONCE] for at in range(0, len(keyword_ids), AT_ONCE)]
    jobs = [{"key": f"{occasion} {number}", "keyword_ids": part, "timeout": 0} for number, part in enumerate(parts)]
    for found in await queue.map("analyse", jobs, heartbeat=heartbeat, retries=10):
        for keyword_id, state in found.items():
            print(keyword_id, state)
    await queue.disconnect()


if __name__ == "__main__":
    asyncio.run(analyse_all(sys.argv[1], sys.argv[2:]))
