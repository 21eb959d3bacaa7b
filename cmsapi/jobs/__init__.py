"""Asynchronous work of the service as objects to await."""

from __future__ import annotations

from cmsapi.jobs.fanout.as_completed import AsCompleted
from cmsapi.jobs.fanout.batch import Batch, BatchOutcomes
from cmsapi.jobs.fanout.batch_status import BatchStatus
from cmsapi.jobs.fanout.fan_out import Fanout
from cmsapi.jobs.fanout.forecast import Forecast
from cmsapi.jobs.fanout.outcome import Failed, Outcome, Succeeded
from cmsapi.jobs.fanout.progress import ItemState, ItemStatus, Progress
from cmsapi.jobs.fanout.table import JobTable
from cmsapi.jobs.job import Job
from cmsapi.jobs.journal.view import OpenLaunch
from cmsapi.jobs.kinds.idea_search import ContentIdeas
from cmsapi.jobs.kinds.kind import JobKind
from cmsapi.jobs.kinds.review import Decision, GenerationReview, ReviewChoice, ReviewHook
from cmsapi.jobs.launching.recovery import Resumed
from cmsapi.jobs.namespace import Jobs
from cmsapi.jobs.overview import Overview, RunningJob
from cmsapi.jobs.statistics import JobStatistics
from cmsapi.jobs.status import Finished, JobEvent, JobStatus, Observed, Phase, PollFailed

__all__ = [
    "AsCompleted",
    "Batch",
    "BatchOutcomes",
    "BatchStatus",
    "ContentIdeas",
    "Decision",
    "Failed",
    "Fanout",
    "Finished",
    "Forecast",
    "GenerationReview",
    "ItemState",
    "ItemStatus",
    "Job",
    "JobEvent",
    "JobKind",
    "JobStatistics",
    "JobStatus",
    "JobTable",
    "Jobs",
    "Observed",
    "OpenLaunch",
    "Outcome",
    "Overview",
    "Phase",
    "PollFailed",
    "Progress",
    "Resumed",
    "ReviewChoice",
    "ReviewHook",
    "RunningJob",
    "Succeeded",
]
