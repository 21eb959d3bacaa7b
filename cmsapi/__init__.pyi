# The public names and their modules. At run time `cmsapi` imports each name from here on its first use.

from cmsapi._version import __version__ as __version__
from cmsapi.api.identifiers import (
    IdentifierWarning as IdentifierWarning,
)
from cmsapi.api.model import (
    Extra as Extra,
    Model as Model,
    OpenEnum as OpenEnum,
    Pagination as Pagination,
)
from cmsapi.api.models.brand_voice import (
    BrandVoice as BrandVoice,
)
from cmsapi.api.models.content import (
    Assignee as Assignee,
    Content as Content,
    ContentStatus as ContentStatus,
    ContentSummary as ContentSummary,
    ContentType as ContentType,
    FolderRef as FolderRef,
    PageRef as PageRef,
)
from cmsapi.api.models.credit_usage import (
    CreditType as CreditType,
    CreditUsage as CreditUsage,
    UsageKeyword as UsageKeyword,
)
from cmsapi.api.models.folder import (
    Folder as Folder,
    FolderTree as FolderTree,
)
from cmsapi.api.models.generation import (
    Generation as Generation,
    GenerationSettings as GenerationSettings,
    GenerationStatus as GenerationStatus,
    LastGeneration as LastGeneration,
)
from cmsapi.api.models.idea_search import (
    ContentIdea as ContentIdea,
    ContentIdeaSearch as ContentIdeaSearch,
    SearchStatus as SearchStatus,
)
from cmsapi.api.models.keyword import (
    Acknowledgement as Acknowledgement,
    AnalysisStatus as AnalysisStatus,
    Keyword as Keyword,
    Prompt as Prompt,
)
from cmsapi.api.models.knowledge_document import (
    KnowledgeDocument as KnowledgeDocument,
    KnowledgeStatus as KnowledgeStatus,
    KnowledgeType as KnowledgeType,
    KnowledgeWorkspace as KnowledgeWorkspace,
)
from cmsapi.api.models.report import (
    Report as Report,
    ReportBrand as ReportBrand,
    ReportSource as ReportSource,
    ScoreReport as ScoreReport,
)
from cmsapi.api.models.user import (
    Credits as Credits,
    Member as Member,
    Organization as Organization,
    Role as Role,
    User as User,
    UserRef as UserRef,
)
from cmsapi.api.models.web_page import (
    WebPage as WebPage,
)
from cmsapi.api.models.workspace import (
    OrganizationRef as OrganizationRef,
    Workspace as Workspace,
    WorkspaceRef as WorkspaceRef,
)
from cmsapi.api.operations import (
    OPERATIONS as OPERATIONS,
    Operation as Operation,
    OperationTable as OperationTable,
    Provenance as Provenance,
    Replay as Replay,
)
from cmsapi.api.page import (
    Page as Page,
)
from cmsapi.api.pagination import (
    Paginator as Paginator,
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
    BatchOutcomes as BatchOutcomes,
    BatchStatus as BatchStatus,
    ContentIdeas as ContentIdeas,
    Decision as Decision,
    Failed as Failed,
    Fanout as Fanout,
    Finished as Finished,
    Forecast as Forecast,
    GenerationReview as GenerationReview,
    ItemState as ItemState,
    ItemStatus as ItemStatus,
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
    Overview as Overview,
    Phase as Phase,
    PollFailed as PollFailed,
    Progress as Progress,
    Resumed as Resumed,
    ReviewChoice as ReviewChoice,
    ReviewHook as ReviewHook,
    RunningJob as RunningJob,
    Succeeded as Succeeded,
)
from cmsapi.jobs.fanout.frames import (
    to_pandas as to_pandas,
)
from cmsapi.message import (
    Headers as Headers,
    Request as Request,
    Response as Response,
)
from cmsapi.observability.events import (
    CallFinished as CallFinished,
    CallStarted as CallStarted,
    Event as Event,
    Hook as Hook,
    QuotaWait as QuotaWait,
    RateLimitPaused as RateLimitPaused,
    RequestFinished as RequestFinished,
    RequestStarted as RequestStarted,
    RetryScheduled as RetryScheduled,
)
from cmsapi.observability.job_events import (
    JobObserved as JobObserved,
    JobReleased as JobReleased,
    JobWatched as JobWatched,
    LaunchFinished as LaunchFinished,
    LaunchLost as LaunchLost,
    LaunchRecovered as LaunchRecovered,
    LaunchSettled as LaunchSettled,
    LaunchStarted as LaunchStarted,
    ProgressChanged as ProgressChanged,
    Throttled as Throttled,
    UnlistedState as UnlistedState,
)
from cmsapi.observability.statistics import (
    Statistics as Statistics,
)
from cmsapi.ratelimit.rate_limit import (
    RateLimit as RateLimit,
)
from cmsapi.ratelimit.usage import (
    RequestUse as RequestUse,
)
from cmsapi.resources.credit_report import (
    CreditReport as CreditReport,
)
from cmsapi.resources.drafts import (
    ContentChanges as ContentChanges,
    ContentFields as ContentFields,
    NewContent as NewContent,
)
from cmsapi.transport.http import (
    SendAwareTransport as SendAwareTransport,
    Transport as Transport,
)

__all__: list[str]
