"""The client for code without an event loop: scripts, Flask, Django, Celery.

`cmsapi.blocking.Client` has the methods of `cmsapi.Client`. What has to be awaited there is returned here; a job has
`wait()`, and lists, fan-outs and batches are plain iterators and context managers.
"""

from __future__ import annotations

from cmsapi.blocking.client import Client as Client
from cmsapi.blocking.jobs import (
    AsCompleted as AsCompleted,
    Batch as Batch,
    BatchOutcomes as BatchOutcomes,
    Failed as Failed,
    Fanout as Fanout,
    GenerationReview as GenerationReview,
    Job as Job,
    Jobs as Jobs,
    Outcome as Outcome,
    Resumed as Resumed,
    ReviewHook as ReviewHook,
    Succeeded as Succeeded,
)
from cmsapi.blocking.lists import Paginator as Paginator

__all__ = [
    "AsCompleted",
    "Batch",
    "BatchOutcomes",
    "Client",
    "Failed",
    "Fanout",
    "GenerationReview",
    "Job",
    "Jobs",
    "Outcome",
    "Paginator",
    "Resumed",
    "ReviewHook",
    "Succeeded",
]
