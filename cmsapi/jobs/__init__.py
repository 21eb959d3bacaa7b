"""Asynchronous work of the service as objects to await."""

from __future__ import annotations

from cmsapi.jobs.batch import Batch
from cmsapi.jobs.events import Finished, JobEvent, LookFailed, Observed
from cmsapi.jobs.fanout import AsCompleted, Fanout, Outcome
from cmsapi.jobs.figures import JobStatistics
from cmsapi.jobs.forecast import Forecast
from cmsapi.jobs.ideas import ContentIdeas
from cmsapi.jobs.job import Job
from cmsapi.jobs.jobs import Jobs
from cmsapi.jobs.journalentry import JournalEntry
from cmsapi.jobs.kinds import JobKind
from cmsapi.jobs.resume import Resumed
from cmsapi.jobs.review import Decision, GenerationReview, ReviewHook, Wish
from cmsapi.jobs.showing import JobTable
from cmsapi.jobs.status import JobStatus, Phase

__all__ = [
    "AsCompleted",
    "Batch",
    "ContentIdeas",
    "Decision",
    "Fanout",
    "Finished",
    "Forecast",
    "GenerationReview",
    "Job",
    "JobEvent",
    "JobKind",
    "JobStatistics",
    "JobStatus",
    "JobTable",
    "Jobs",
    "JournalEntry",
    "LookFailed",
    "Observed",
    "Outcome",
    "Phase",
    "Resumed",
    "ReviewHook",
    "Wish",
]
