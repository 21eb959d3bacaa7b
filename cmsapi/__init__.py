"""Asyncio SDK for version 1 of the Content Marketing Service API."""

# fmt: off
# ruff: noqa: I001  (lists of names are packed, which the import sorter would undo)
from cmsapi._version import __version__
from cmsapi.client import Client
from cmsapi.config import LaunchPolicy, PollPolicy, RateLimits, RetryPolicy, Timeouts
from cmsapi.errors import (
    APIError, ArgumentError, BadGatewayError, BadRequestError, ClientClosedError, CMSError, ConfigError,
    ConflictError, DeadlineError, DecodeError, EditConflictError, ForbiddenError, InternalServerError,
    JobDetachedError, JobError, JobFailedError, JobWaitTimeoutError, LaunchUnknownError, NotFoundError, NotSentError,
    OutcomeUnknownError, OutOfCreditsError, RateLimitedError, RateLimitWaitError, ServerError,
    ServiceUnavailableError, StateError, TransportError, UnauthorizedError, UnclearJobError, ValidationError,
)
from cmsapi.jobs.batch import Batch, BatchStatus
from cmsapi.jobs.job import Job
from cmsapi.jobs.kinds import JobKind
from cmsapi.jobs.words import Phase
from cmsapi.jobs.outcomes import Failed, Outcome, Succeeded
from cmsapi.jobs.progress import Progress
from cmsapi.jobs.review import GenerationReview
from cmsapi.messages import Request, Response, Transport
from cmsapi.models import (
    BrandVoice, Content, ContentIdea, ContentIdeas, ContentIdeaSearch, ContentStatus, ContentSummary, Credits,
    CreditType, CreditUsage, Folder, FolderTree, Generation, GenerationSettings, Keyword, KnowledgeDocument, Member,
    Model, Organization, Prompt, Report, User, WebPage, Workspace,
)
from cmsapi.notebook import to_pandas
from cmsapi.observe.events import Event, Hook, JobObserved, RateLimitPaused, RequestFinished, RetryScheduled
from cmsapi.state.store import JobStatus
from cmsapi.wire.converter import from_dict, register, to_dict
from cmsapi.wire.operations import OPERATIONS, OperationTable
from cmsapi.wire.paging import Page, Paginator

__all__ = [
    "OPERATIONS", "APIError", "ArgumentError", "BadGatewayError", "BadRequestError", "Batch", "BatchStatus",
    "BrandVoice", "CMSError", "Client", "ClientClosedError", "ConfigError", "ConflictError", "Content",
    "ContentIdea", "ContentIdeaSearch", "ContentIdeas", "ContentStatus", "ContentSummary", "CreditType",
    "CreditUsage", "Credits", "DeadlineError", "DecodeError", "EditConflictError", "Event", "Failed", "Folder",
    "FolderTree", "ForbiddenError", "Generation", "GenerationReview", "GenerationSettings", "Hook",
    "InternalServerError", "Job", "JobDetachedError", "JobError", "JobFailedError", "JobKind", "JobObserved",
    "JobStatus", "JobWaitTimeoutError", "Keyword", "KnowledgeDocument", "LaunchPolicy", "LaunchUnknownError",
    "Member", "Model", "NotFoundError", "NotSentError", "OperationTable", "Organization", "OutOfCreditsError",
    "Outcome", "OutcomeUnknownError", "Page", "Paginator", "Phase", "PollPolicy", "Progress", "Prompt",
    "RateLimitPaused", "RateLimitWaitError", "RateLimitedError", "RateLimits", "Report", "Request",
    "RequestFinished", "Response", "RetryPolicy", "RetryScheduled", "ServerError", "ServiceUnavailableError",
    "StateError", "Succeeded", "Timeouts", "Transport", "TransportError", "UnauthorizedError", "UnclearJobError",
    "User", "ValidationError", "WebPage", "Workspace", "__version__", "from_dict", "register", "to_dict", "to_pandas",
]
