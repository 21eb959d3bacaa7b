"""Asyncio SDK for the Content Marketing Service API (v1).

Names are loaded when they are first used, so that importing the package costs next to nothing; aiohttp is loaded with
the first client.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from cmsapi._version import __version__

if TYPE_CHECKING:
    from cmsapi.api.models import (
        Acknowledgement as Acknowledgement,
        AnalysisStatus as AnalysisStatus,
        Assignee as Assignee,
        BrandVoice as BrandVoice,
        Content as Content,
        ContentIdea as ContentIdea,
        ContentIdeaSearch as ContentIdeaSearch,
        ContentStatus as ContentStatus,
        ContentSummary as ContentSummary,
        ContentType as ContentType,
        Credits as Credits,
        CreditType as CreditType,
        CreditUsage as CreditUsage,
        Extra as Extra,
        Folder as Folder,
        FolderRef as FolderRef,
        FolderTree as FolderTree,
        Generation as Generation,
        GenerationSettings as GenerationSettings,
        GenerationStatus as GenerationStatus,
        Keyword as Keyword,
        KnowledgeDocument as KnowledgeDocument,
        KnowledgeStatus as KnowledgeStatus,
        KnowledgeType as KnowledgeType,
        KnowledgeWorkspace as KnowledgeWorkspace,
        LastGeneration as LastGeneration,
        Member as Member,
        Model as Model,
        OpenEnum as OpenEnum,
        Organization as Organization,
        OrganizationRef as OrganizationRef,
        PageRef as PageRef,
        Pagination as Pagination,
        Prompt as Prompt,
        Report as Report,
        ReportBrand as ReportBrand,
        ReportSource as ReportSource,
        Role as Role,
        ScoreReport as ScoreReport,
        SearchStatus as SearchStatus,
        UsageKeyword as UsageKeyword,
        User as User,
        UserRef as UserRef,
        WebPage as WebPage,
        Workspace as Workspace,
        WorkspaceRef as WorkspaceRef,
    )
    from cmsapi.api.operations import (
        OPERATIONS as OPERATIONS,
        Operation as Operation,
        OperationTable as OperationTable,
        Replay as Replay,
    )
    from cmsapi.api.pagination import (
        Page as Page,
        Paginator as Paginator,
    )
    from cmsapi.api.provenance import (
        Provenance as Provenance,
    )
    from cmsapi.api.wire.converter import (
        from_dict as from_dict,
        register as register,
        to_dict as to_dict,
    )
    from cmsapi.api.wire.drift import (
        Deviation as Deviation,
        DriftKind as DriftKind,
    )
    from cmsapi.client import (
        Client as Client,
    )
    from cmsapi.config import (
        LaunchPolicy as LaunchPolicy,
        PollPolicy as PollPolicy,
        RateLimits as RateLimits,
        RetryPolicy as RetryPolicy,
        Timeouts as Timeouts,
    )
    from cmsapi.doctor import (
        Check as Check,
        Diagnosis as Diagnosis,
        RouteCheck as RouteCheck,
        Verdict as Verdict,
    )
    from cmsapi.doctor.routes import (
        Candidate as Candidate,
    )
    from cmsapi.errors import (
        APIError as APIError,
        ArgumentError as ArgumentError,
        BadGatewayError as BadGatewayError,
        BadRequestError as BadRequestError,
        ClientClosedError as ClientClosedError,
        CMSError as CMSError,
        ConfigError as ConfigError,
        ConflictError as ConflictError,
        DeadlineError as DeadlineError,
        DecodeError as DecodeError,
        EditConflictError as EditConflictError,
        ForbiddenError as ForbiddenError,
        InternalServerError as InternalServerError,
        JobDetachedError as JobDetachedError,
        JobError as JobError,
        JobFailedError as JobFailedError,
        JobSupersededError as JobSupersededError,
        JobVanishedError as JobVanishedError,
        JobWaitTimeoutError as JobWaitTimeoutError,
        LaunchUnknownError as LaunchUnknownError,
        LeaseLostError as LeaseLostError,
        NotFoundError as NotFoundError,
        NotSentError as NotSentError,
        OutcomeUnknownError as OutcomeUnknownError,
        OutOfCreditsError as OutOfCreditsError,
        RateLimitedError as RateLimitedError,
        RateLimitWaitError as RateLimitWaitError,
        ServerError as ServerError,
        ServiceUnavailableError as ServiceUnavailableError,
        StateError as StateError,
        TransportError as TransportError,
        UnauthorizedError as UnauthorizedError,
        UnknownJobStateError as UnknownJobStateError,
        ValidationError as ValidationError,
    )
    from cmsapi.jobs import (
        AsCompleted as AsCompleted,
        Batch as Batch,
        ContentIdeas as ContentIdeas,
        Decision as Decision,
        Fanout as Fanout,
        Finished as Finished,
        Forecast as Forecast,
        GenerationReview as GenerationReview,
        Job as Job,
        JobEvent as JobEvent,
        JobKind as JobKind,
        Jobs as Jobs,
        JobStatistics as JobStatistics,
        JobStatus as JobStatus,
        JobTable as JobTable,
        Observed as Observed,
        OpenLaunch as OpenLaunch,
        Outcome as Outcome,
        Phase as Phase,
        PollFailed as PollFailed,
        Resumed as Resumed,
        ReviewHook as ReviewHook,
        Wish as Wish,
    )
    from cmsapi.observability.events import (
        CallFinished as CallFinished,
        CallStarted as CallStarted,
        Event as Event,
        Hook as Hook,
        JobObserved as JobObserved,
        JobReleased as JobReleased,
        JobWatched as JobWatched,
        QuotaWait as QuotaWait,
        RateLimitPaused as RateLimitPaused,
        RequestFinished as RequestFinished,
        RequestStarted as RequestStarted,
        RetryScheduled as RetryScheduled,
        Throttled as Throttled,
    )
    from cmsapi.observability.hooks import (
        log_event as log_event,
    )
    from cmsapi.observability.statistics import (
        Statistics as Statistics,
    )
    from cmsapi.ratelimit.limiter import (
        RateLimit as RateLimit,
    )
    from cmsapi.resources.credit_report import (
        CreditReport as CreditReport,
    )
    from cmsapi.transport.http import (
        SendAwareTransport as SendAwareTransport,
        Transport as Transport,
    )
    from cmsapi.transport.message import (
        Headers as Headers,
        Request as Request,
        Response as Response,
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
    "cmsapi.doctor": (
        "Check",
        "Diagnosis",
        "RouteCheck",
        "Verdict",
    ),
    "cmsapi.doctor.routes": ("Candidate",),
    "cmsapi.resources.credit_report": ("CreditReport",),
    "cmsapi.api.wire.converter": ("from_dict", "register", "to_dict"),
    "cmsapi.api.wire.drift": (
        "Deviation",
        "DriftKind",
    ),
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
        "LeaseLostError",
        "NotFoundError",
        "NotSentError",
        "OutOfCreditsError",
        "OutcomeUnknownError",
        "RateLimitWaitError",
        "RateLimitedError",
        "ServerError",
        "ServiceUnavailableError",
        "StateError",
        "TransportError",
        "UnauthorizedError",
        "UnknownJobStateError",
        "ValidationError",
    ),
    "cmsapi.observability.events": (
        "CallFinished",
        "CallStarted",
        "Event",
        "Hook",
        "JobObserved",
        "JobReleased",
        "JobWatched",
        "QuotaWait",
        "RateLimitPaused",
        "RequestFinished",
        "RequestStarted",
        "RetryScheduled",
        "Throttled",
    ),
    "cmsapi.observability.hooks": ("log_event",),
    "cmsapi.observability.statistics": ("Statistics",),
    "cmsapi.jobs": (
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
        "OpenLaunch",
        "PollFailed",
        "Observed",
        "Outcome",
        "Phase",
        "Resumed",
        "ReviewHook",
        "Wish",
    ),
    "cmsapi.api.models": (
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
    "cmsapi.api.operations": (
        "OPERATIONS",
        "Operation",
        "OperationTable",
        "Replay",
    ),
    "cmsapi.api.pagination": (
        "Page",
        "Paginator",
    ),
    "cmsapi.api.provenance": ("Provenance",),
    "cmsapi.transport.http": (
        "SendAwareTransport",
        "Transport",
    ),
    "cmsapi.transport.message": (
        "Headers",
        "Request",
        "Response",
    ),
    "cmsapi.ratelimit.limiter": ("RateLimit",),
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
