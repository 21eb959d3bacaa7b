"""Analyze keywords in a Celery task, on any number of workers, each of which may be killed at any moment.

Start `cmsapi sandbox` in another terminal, and set CMSAPI_BASE_URL and CMSAPI_API_KEY to what it prints; or set them
for your account, where **each keyword costs one analysis credit**. Both commands need CELERY_BROKER_URL and
CELERY_RESULT_BACKEND (redis://…); all workers also need the same CMSAPI_STATE (redis://… or postgresql://…; on one host
sqlite:////var/lib/app/launches.db). Then, in two terminals:

    PYTHONPATH=examples celery -A celery_task worker --concurrency 4
    python examples/celery_task.py keywords-2026-11 KEYWORD_ID KEYWORD_ID

Running the second command again continues the batch of that name, and nothing is paid for twice.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from celery import Celery

from cmsapi import Client, CMSError, StateError, TransportError

app = Celery("analyses")
app.conf.update(
    # A task whose process died is delivered again; the batch makes that safe.
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    # Redis delivers a task again after this time, even if it is still running. The longest task must take less time.
    broker_transport_options={"visibility_timeout": 6 * 3600},
)


class UnfinishedError(Exception):
    """Raised when items of a batch have not ended yet."""


@app.task(name="analyze", autoretry_for=(TransportError, StateError, UnfinishedError), retry_backoff=10, max_retries=20)
def analyze(name: str, keyword_ids: list[str]) -> dict[str, str]:
    """Run the batch in the task's own event loop; Celery retries the task if analyses have not ended."""
    return asyncio.run(run(name, keyword_ids))


async def run(name: str, keyword_ids: list[str]) -> dict[str, str]:
    """Run or continue the batch, and return each keyword's outcome as text; raise if an analysis has not ended."""
    async with Client() as client, client.jobs.batch(name) as batch:
        outcomes = await batch.map(client.keywords.analyze, keyword_ids)
        if batch.unfinished:
            raise UnfinishedError(*batch.unfinished)
    return {outcome.item: described(outcome) for outcome in outcomes}


def described(outcome: Any) -> str:
    """Return ``outcome`` as text, which every result serializer of Celery supports."""
    return str(outcome.value.analysis_status) if outcome.ok else f"{type(outcome.error).__name__}: {outcome.error}"


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    try:
        found = analyze.delay(sys.argv[1], sys.argv[2:]).get()
    except CMSError as error:
        sys.exit(str(error))
    for keyword_id, end in found.items():
        print(keyword_id, end)
