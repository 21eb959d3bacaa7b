"""Asyncio SDK for the Content Marketing Service API (v1).

Names are loaded when they are first used, so that importing the package costs next to nothing; aiohttp is loaded with
the first client.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from cmsapi._version import __version__

if TYPE_CHECKING:
    from cmsapi.client import (
        Client as Client,
    )
    from cmsapi.config import (
        LaunchPolicy as LaunchPolicy,
    )
    from cmsapi.config import (
        PollPolicy as PollPolicy,
    )
    from cmsapi.config import (
        RateLimits as RateLimits,
    )
    from cmsapi.config import (
        RetryPolicy as RetryPolicy,
    )
    from cmsapi.config import (
        Timeouts as Timeouts,
    )
    from cmsapi.document import (
        to_dict as to_dict,
    )
    from cmsapi.errors import (
        APIError as APIError,
    )
    from cmsapi.errors import (
        ArgumentError as ArgumentError,
    )
    from cmsapi.errors import (
        BadGatewayError as BadGatewayError,
    )
    from cmsapi.errors import (
        BadRequestError as BadRequestError,
    )
    from cmsapi.errors import (
        ClientClosedError as ClientClosedError,
    )
    from cmsapi.errors import (
        CMSError as CMSError,
    )
    from cmsapi.errors import (
        ConfigError as ConfigError,
    )
    from cmsapi.errors import (
        ConflictError as ConflictError,
    )
    from cmsapi.errors import (
        DeadlineError as DeadlineError,
    )
    from cmsapi.errors import (
        DecodeError as DecodeError,
    )
    from cmsapi.errors import (
        EditConflictError as EditConflictError,
    )
    from cmsapi.errors import (
        ForbiddenError as ForbiddenError,
    )
    from cmsapi.errors import (
        InternalServerError as InternalServerError,
    )
    from cmsapi.errors import (
        JobDetachedError as JobDetachedError,
    )
    from cmsapi.errors import (
        JobError as JobError,
    )
    from cmsapi.errors import (
        JobFailedError as JobFailedError,
    )
    from cmsapi.errors import (
        JobSupersededError as JobSupersededError,
    )
    from cmsapi.errors import (
        JobVanishedError as JobVanishedError,
    )
    from cmsapi.errors import (
        JobWaitTimeoutError as JobWaitTimeoutError,
    )
    from cmsapi.errors import (
        LaunchUnknownError as LaunchUnknownError,
    )
    from cmsapi.errors import (
        NotFoundError as NotFoundError,
    )
    from cmsapi.errors import (
        NotSentError as NotSentError,
    )
    from cmsapi.errors import (
        OutcomeUnknownError as OutcomeUnknownError,
    )
    from cmsapi.errors import (
        RateLimitedError as RateLimitedError,
    )
    from cmsapi.errors import (
        RateLimitWaitError as RateLimitWaitError,
    )
    from cmsapi.errors import (
        ServerError as ServerError,
    )
    from cmsapi.errors import (
        ServiceUnavailableError as ServiceUnavailableError,
    )
    from cmsapi.errors import (
        TransportError as TransportError,
    )
    from cmsapi.errors import (
        UnauthorizedError as UnauthorizedError,
    )
    from cmsapi.errors import (
        UnknownJobStateError as UnknownJobStateError,
    )
    from cmsapi.errors import (
        ValidationError as ValidationError,
    )
    from cmsapi.instrumentation import (
        Event as Event,
    )
    from cmsapi.instrumentation import (
        Hook as Hook,
    )
    from cmsapi.instrumentation import (
        JobObserved as JobObserved,
    )
    from cmsapi.instrumentation import (
        QuotaWait as QuotaWait,
    )
    from cmsapi.instrumentation import (
        RateLimitPaused as RateLimitPaused,
    )
    from cmsapi.instrumentation import (
        RequestFinished as RequestFinished,
    )
    from cmsapi.instrumentation import (
        RetryScheduled as RetryScheduled,
    )
    from cmsapi.instrumentation import (
        log_event as log_event,
    )
    from cmsapi.instrumentation.statistics import (
        Statistics as Statistics,
    )
    from cmsapi.jobs import (
        ContentIdeas as ContentIdeas,
    )
    from cmsapi.jobs import (
        Finished as Finished,
    )
    from cmsapi.jobs import (
        GenerationReview as GenerationReview,
    )
    from cmsapi.jobs import (
        Job as Job,
    )
    from cmsapi.jobs import (
        JobKind as JobKind,
    )
    from cmsapi.jobs import (
        JobStatus as JobStatus,
    )
    from cmsapi.jobs import (
        LookFailed as LookFailed,
    )
    from cmsapi.jobs import (
        Observed as Observed,
    )
    from cmsapi.jobs import (
        Outcome as Outcome,
    )
    from cmsapi.jobs import (
        Phase as Phase,
    )
    from cmsapi.models import (
        Acknowledgement as Acknowledgement,
    )
    from cmsapi.models import (
        AnalysisStatus as AnalysisStatus,
    )
    from cmsapi.models import (
        Assignee as Assignee,
    )
    from cmsapi.models import (
        BrandVoice as BrandVoice,
    )
    from cmsapi.models import (
        Content as Content,
    )
    from cmsapi.models import (
        ContentIdea as ContentIdea,
    )
    from cmsapi.models import (
        ContentIdeaSearch as ContentIdeaSearch,
    )
    from cmsapi.models import (
        ContentStatus as ContentStatus,
    )
    from cmsapi.models import (
        ContentSummary as ContentSummary,
    )
    from cmsapi.models import (
        ContentType as ContentType,
    )
    from cmsapi.models import (
        Credits as Credits,
    )
    from cmsapi.models import (
        CreditType as CreditType,
    )
    from cmsapi.models import (
        CreditUsage as CreditUsage,
    )
    from cmsapi.models import (
        Extra as Extra,
    )
    from cmsapi.models import (
        Folder as Folder,
    )
    from cmsapi.models import (
        FolderRef as FolderRef,
    )
    from cmsapi.models import (
        FolderTree as FolderTree,
    )
    from cmsapi.models import (
        Generation as Generation,
    )
    from cmsapi.models import (
        GenerationSettings as GenerationSettings,
    )
    from cmsapi.models import (
        GenerationStatus as GenerationStatus,
    )
    from cmsapi.models import (
        Keyword as Keyword,
    )
    from cmsapi.models import (
        KnowledgeDocument as KnowledgeDocument,
    )
    from cmsapi.models import (
        KnowledgeStatus as KnowledgeStatus,
    )
    from cmsapi.models import (
        KnowledgeType as KnowledgeType,
    )
    from cmsapi.models import (
        KnowledgeWorkspace as KnowledgeWorkspace,
    )
    from cmsapi.models import (
        LastGeneration as LastGeneration,
    )
    from cmsapi.models import (
        Member as Member,
    )
    from cmsapi.models import (
        Model as Model,
    )
    from cmsapi.models import (
        OpenEnum as OpenEnum,
    )
    from cmsapi.models import (
        Organization as Organization,
    )
    from cmsapi.models import (
        OrganizationRef as OrganizationRef,
    )
    from cmsapi.models import (
        PageRef as PageRef,
    )
    from cmsapi.models import (
        Pagination as Pagination,
    )
    from cmsapi.models import (
        Prompt as Prompt,
    )
    from cmsapi.models import (
        Report as Report,
    )
    from cmsapi.models import (
        ReportBrand as ReportBrand,
    )
    from cmsapi.models import (
        ReportSource as ReportSource,
    )
    from cmsapi.models import (
        Role as Role,
    )
    from cmsapi.models import (
        ScoreReport as ScoreReport,
    )
    from cmsapi.models import (
        SearchStatus as SearchStatus,
    )
    from cmsapi.models import (
        UsageKeyword as UsageKeyword,
    )
    from cmsapi.models import (
        User as User,
    )
    from cmsapi.models import (
        UserRef as UserRef,
    )
    from cmsapi.models import (
        WebPage as WebPage,
    )
    from cmsapi.models import (
        Workspace as Workspace,
    )
    from cmsapi.models import (
        WorkspaceRef as WorkspaceRef,
    )
    from cmsapi.operations import (
        OPERATIONS as OPERATIONS,
    )
    from cmsapi.operations import (
        Operation as Operation,
    )
    from cmsapi.operations import (
        OperationTable as OperationTable,
    )
    from cmsapi.operations import (
        Replay as Replay,
    )
    from cmsapi.pagination import (
        Page as Page,
    )
    from cmsapi.pagination import (
        Paginator as Paginator,
    )
    from cmsapi.provenance import (
        Provenance as Provenance,
    )
    from cmsapi.transport.http import (
        Transport as Transport,
    )
    from cmsapi.transport.message import (
        Headers as Headers,
    )
    from cmsapi.transport.message import (
        Request as Request,
    )
    from cmsapi.transport.message import (
        Response as Response,
    )
    from cmsapi.transport.ratelimit import (
        RateLimit as RateLimit,
    )

# Where each public name lives.
_HOMES = {
    "cmsapi.client": ("Client",),
    "cmsapi.config": (
        "LaunchPolicy",
        "PollPolicy",
        "RateLimits",
        "RetryPolicy",
        "Timeouts",
    ),
    "cmsapi.document": ("to_dict",),
    "cmsapi.errors": (
        "APIError",
        "ArgumentError",
        "BadGatewayError",
        "BadRequestError",
        "CMSError",
        "ClientClosedError",
        "ConfigError",
        "ConflictError",
        "DeadlineError",
        "DecodeError",
        "EditConflictError",
        "ForbiddenError",
        "InternalServerError",
        "JobDetachedError",
        "JobError",
        "JobFailedError",
        "JobSupersededError",
        "JobVanishedError",
        "JobWaitTimeoutError",
        "LaunchUnknownError",
        "NotFoundError",
        "NotSentError",
        "OutcomeUnknownError",
        "RateLimitWaitError",
        "RateLimitedError",
        "ServerError",
        "ServiceUnavailableError",
        "TransportError",
        "UnauthorizedError",
        "UnknownJobStateError",
        "ValidationError",
    ),
    "cmsapi.instrumentation": (
        "Event",
        "Hook",
        "JobObserved",
        "QuotaWait",
        "RateLimitPaused",
        "RequestFinished",
        "RetryScheduled",
        "log_event",
    ),
    "cmsapi.instrumentation.statistics": ("Statistics",),
    "cmsapi.jobs": (
        "ContentIdeas",
        "Finished",
        "GenerationReview",
        "Job",
        "JobKind",
        "JobStatus",
        "LookFailed",
        "Observed",
        "Outcome",
        "Phase",
    ),
    "cmsapi.models": (
        "Acknowledgement",
        "AnalysisStatus",
        "Assignee",
        "BrandVoice",
        "Content",
        "ContentIdea",
        "ContentIdeaSearch",
        "ContentStatus",
        "ContentSummary",
        "ContentType",
        "CreditType",
        "CreditUsage",
        "Credits",
        "Extra",
        "Folder",
        "FolderRef",
        "FolderTree",
        "Generation",
        "GenerationSettings",
        "GenerationStatus",
        "Keyword",
        "KnowledgeDocument",
        "KnowledgeStatus",
        "KnowledgeType",
        "KnowledgeWorkspace",
        "LastGeneration",
        "Member",
        "Model",
        "OpenEnum",
        "Organization",
        "OrganizationRef",
        "PageRef",
        "Pagination",
        "Prompt",
        "Report",
        "ReportBrand",
        "ReportSource",
        "Role",
        "ScoreReport",
        "SearchStatus",
        "UsageKeyword",
        "User",
        "UserRef",
        "WebPage",
        "Workspace",
        "WorkspaceRef",
    ),
    "cmsapi.operations": (
        "OPERATIONS",
        "Operation",
        "OperationTable",
        "Replay",
    ),
    "cmsapi.pagination": (
        "Page",
        "Paginator",
    ),
    "cmsapi.provenance": ("Provenance",),
    "cmsapi.transport.http": ("Transport",),
    "cmsapi.transport.message": (
        "Headers",
        "Request",
        "Response",
    ),
    "cmsapi.transport.ratelimit": ("RateLimit",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = ["__version__", *_HOME_OF]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Load a public name from its home."""
    try:
        home = _HOME_OF[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    value = globals()[name] = getattr(importlib.import_module(home), name)
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
