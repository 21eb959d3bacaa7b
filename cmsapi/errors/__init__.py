"""Every error that the SDK raises, in one tree.

::

    CMSError
    ├─ ConfigError(ValueError)             a bad key form, URL or option: at construction, before any request
    ├─ ArgumentError(ValueError)           a bad argument of one call: nothing was sent; .parameter
    ├─ ClientClosedError(RuntimeError)     the client is closed, or belongs to another event loop
    ├─ APIError                            the service answered: .status .code .message .operation .attempts
    │  │                                   .retry_after .response .request_id
    │  ├─ BadRequestError 400              UnauthorizedError 401     ForbiddenError 403
    │  ├─ NotFoundError 404                may hide a 403
    │  ├─ ConflictError 409                ValidationError 422 (.field)
    │  ├─ RateLimitedError 429
    │  └─ ServerError                      InternalServerError 500   BadGatewayError 502   ServiceUnavailableError 503
    ├─ TransportError                      no usable answer: .operation .attempts
    │  ├─ NotSentError                     nothing left this machine: safe to repeat
    │  ├─ OutcomeUnknownError              sent, and no answer came: repeating may duplicate
    │  └─ DecodeError(ValueError)          a 2xx, but not what the interface promises: .path .excerpt
    ├─ RateLimitWaitError(TimeoutError)    a permit comes later than `max_wait`: .available_in
    ├─ DeadlineError(TimeoutError)         `Timeouts.deadline` over limits, attempts and decoding is over
    ├─ JobError                            .job .token .status, and one line on how to go on
    │  ├─ JobFailedError                   JobSupersededError        JobVanishedError
    │  ├─ JobDetachedError                 UnknownJobStateError
    │  ├─ JobWaitTimeoutError(TimeoutError)  this waiter's patience only; the job goes on
    │  └─ LaunchUnknownError               the launch may have happened: .evidence
    ├─ OutOfCreditsError                   the allowed or the available credits are spent: nothing was charged
    ├─ EditConflictError                   an optimistic edit gave up: .base .current
    ├─ StateError                          the shared state cannot be reached, read or written
    └─ LeaseLostError                      another process has taken over the job

Each message says what happened, what it means for money and data, and what to do next. No error holds the API key or a
live connection, and each one can be pickled and copied, so that it can cross a process pool.
"""

from __future__ import annotations

from cmsapi.errors.answers import (
    APIError as APIError,
    BadGatewayError as BadGatewayError,
    BadRequestError as BadRequestError,
    ConflictError as ConflictError,
    ForbiddenError as ForbiddenError,
    InternalServerError as InternalServerError,
    NotFoundError as NotFoundError,
    RateLimitedError as RateLimitedError,
    ServerError as ServerError,
    ServiceUnavailableError as ServiceUnavailableError,
    UnauthorizedError as UnauthorizedError,
    ValidationError as ValidationError,
)
from cmsapi.errors.base import (
    ArgumentError as ArgumentError,
    ClientClosedError as ClientClosedError,
    CMSError as CMSError,
    ConfigError as ConfigError,
)
from cmsapi.errors.calls import (
    DeadlineError as DeadlineError,
    DecodeError as DecodeError,
    NotSentError as NotSentError,
    OutcomeUnknownError as OutcomeUnknownError,
    RateLimitWaitError as RateLimitWaitError,
    TransportError as TransportError,
)
from cmsapi.errors.jobs import (
    EditConflictError as EditConflictError,
    JobDetachedError as JobDetachedError,
    JobError as JobError,
    JobFailedError as JobFailedError,
    JobSupersededError as JobSupersededError,
    JobVanishedError as JobVanishedError,
    JobWaitTimeoutError as JobWaitTimeoutError,
    LaunchUnknownError as LaunchUnknownError,
    LeaseLostError as LeaseLostError,
    OutOfCreditsError as OutOfCreditsError,
    StateError as StateError,
    UnknownJobStateError as UnknownJobStateError,
)
