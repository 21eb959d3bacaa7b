"""Analyses of keywords and prompts: launch, status and end (specification, section 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmsapi.sandbox.world import jobs
from cmsapi.sandbox.world.billing import ANALYSIS, Purchase

if TYPE_CHECKING:
    from cmsapi.sandbox.messages.call import Call
    from cmsapi.sandbox.messages.resources import Document
    from cmsapi.sandbox.world.history import Seen
    from cmsapi.sandbox.world.jobs import Job
    from cmsapi.sandbox.world.records import Keyword, Prompt
    from cmsapi.sandbox.world.world import World

QUEUED = "queued"
PENDING = "pending"


def launch(call: Call, kind: str, record: Keyword | Prompt, keyword: Keyword, amount: int) -> Document:
    """Launch an analysis; it has no identifier of its own, so clients poll the record."""
    workspace = call.store.workspaces[record.workspace_id]
    purchase = Purchase(ANALYSIS, amount, call.user, workspace, keyword.keyword)
    call.world.launch(kind, record, purchase)
    return {"message": "Analysis started"}


def end(world: World, record: Keyword | Prompt, job: Job) -> None:
    """Write the outcome of an analysis and the moment of its end to the record."""
    world.history.keep(record, job)
    record.analysis_status = job.outcome
    succeeded = job.outcome == jobs.SUCCESS
    record.analyzed = record.analyzed or succeeded
    if succeeded or world.behaviour.failed_analysis_timestamp == "new":
        record.last_analyzed_at = job.stamp = world.stamp(job.ends_at)


def status(world: World, seen: Seen[Keyword] | Seen[Prompt]) -> str | None:
    """Return the status word of the analysis."""
    record, job = seen.record, seen.job
    word = record.analysis_status if job is None else job.word(seen.at, QUEUED, PENDING)
    return world.shown_status(record.id, word)
