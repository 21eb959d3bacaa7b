"""What analyses of keywords and prompts have in common: their words and their end (specification, section 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmsapi.sandbox.world import jobs
from cmsapi.sandbox.world.billing import ANALYSIS, Purchase
from cmsapi.sandbox.world.clock import timestamp

if TYPE_CHECKING:
    from cmsapi.sandbox.messages.call import Call, Document
    from cmsapi.sandbox.world.jobs import Job
    from cmsapi.sandbox.world.records import Keyword, Prompt
    from cmsapi.sandbox.world.world import World

QUEUED = "queued"
PENDING = "pending"


def launch(call: Call, kind: str, record: Keyword | Prompt, keyword: Keyword, amount: int) -> Document:
    """Start an analysis; there is no identifier to follow, only the record to look at."""
    workspace = call.store.workspaces[record.workspace_id]
    purchase = Purchase(
        ANALYSIS, amount, call.user, workspace, keyword.keyword, keyword.country_code, keyword.language_code
    )
    call.world.launch(kind, record.id, purchase)
    return {"message": "Analysis started"}


def end(world: World, record: Keyword | Prompt, job: Job) -> None:
    """Write the outcome, with the moment of the job's end."""
    record.analysis_status = job.outcome
    succeeded = job.outcome == jobs.SUCCESS
    record.analyzed = record.analyzed or succeeded
    if succeeded or world.behaviour.failed_analysis_timestamp == "new":
        record.last_analyzed_at = world.stamp(job.ends_at)


def show(world: World, record: Keyword | Prompt) -> Document:
    """Show how far the analysis is."""
    job = world.jobs.running.get(record.id)
    word = record.analysis_status if job is None else job.word(world.clock.seconds(), QUEUED, PENDING)
    last = record.last_analyzed_at
    return {
        "analysisStatus": world.shown_status(record.id, word),
        "lastAnalyzedAt": None if last is None else timestamp(last),
    }
