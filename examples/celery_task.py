"""Analyse keywords in a synchronous task of Celery, on any number of workers, each of which may die at any moment.

    PYTHONPATH=examples celery -A celery_task worker --concurrency 4
    PYTHONPATH=examples python examples/celery_task.py OCCASION KEYWORD_ID…

The first line is a worker: start as many as you like. The second one puts a task into the queue, which **spends one
credit for each keyword**, and prints what comes of them; for the same occasion again it pays for nothing twice.

Both need REDIS (`redis://host:6379/0`), which holds the queue and what cmsapi keeps; a worker also CMSAPI_API_KEY and
CMSAPI_BASE_URL.
"""

from __future__ import annotations

import functools
import os
import sys
from typing import Any

from celery import Celery, Task

import cmsapi.blocking

REDIS = os.environ.get("REDIS", "redis://127.0.0.1:6379/0")
SETTINGS: dict[str, Any] = {}  # of the client, such as `polling`
app = Celery("analyses", broker=REDIS, backend=REDIS)
app.conf.update(
    # A task is delivered again when its process has died.
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    # Redis delivers a task again after this many seconds, whether or not it still runs.
    broker_transport_options={"visibility_timeout": 6 * 3600},
)


@functools.cache
def client() -> cmsapi.blocking.Client:
    """Make the client of this process, with its first task."""
    return cmsapi.blocking.Client(state=REDIS, **SETTINGS)


@app.task(
    bind=True,
    name="analyse",
    autoretry_for=(cmsapi.TransportError, cmsapi.StateError),
    retry_backoff=10,
    max_retries=10,
)
def analyse(task: Task, keyword_ids: list[str]) -> dict[str, str]:
    """Bring some keywords through; run again after a crash, launch only those that are missing."""
    with client().jobs.batch(str(task.request.id)) as batch:
        found = {
            outcome.item: str(outcome.error or outcome.result().analysis_status)
            for outcome in batch.map(client().keywords.analyze, keyword_ids)
        }
        if batch.unfinished:
            raise task.retry(countdown=60)
    return found


def analyse_all(occasion: str, keyword_ids: list[str]) -> None:
    """Put a task into the queue and wait for it; its identifier is the name of the batch."""
    for keyword_id, state in analyse.apply_async((keyword_ids,), task_id=occasion).get().items():
        print(keyword_id, state, flush=True)


if __name__ == "__main__":
    analyse_all(sys.argv[1], sys.argv[2:])
