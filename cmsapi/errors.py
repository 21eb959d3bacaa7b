"""The public exceptions of cmsapi.

::

    CMSError
    ├── ConfigError (ValueError)                a setting is missing or invalid, or a package is not installed
    ├── ArgumentError (ValueError)              an argument is invalid; it was not sent
    ├── ClientClosedError (RuntimeError)        the client is closed, or belongs to another event loop
    ├── APIError                                the service answered with an error (specification 7)
    │   ├── BadRequestError                     400
    │   ├── UnauthorizedError                   401
    │   ├── ForbiddenError                      403
    │   ├── NotFoundError                       404
    │   ├── ConflictError                       409
    │   ├── ValidationError                     422
    │   ├── RateLimitedError                    429
    │   └── ServerError                         5xx
    │       ├── InternalServerError             500
    │       ├── BadGatewayError                 502
    │       └── ServiceUnavailableError         503
    ├── TransportError (OSError)                no complete response
    │   ├── NotSentError                        nothing reached the service
    │   └── OutcomeUnknownError                 the service may have acted
    ├── DecodeError (ValueError)                a response cannot be read
    ├── RateLimitWaitError                      the limits would delay a request longer than `RateLimits.max_wait`
    ├── DeadlineError (TimeoutError)            `Timeouts.deadline` has passed
    ├── EditConflictError                       every attempt of an edit was refused with 409
    ├── StateError                              the state cannot be opened, read or written
    └── JobError                                a launch with other settings is under way
        ├── JobFailedError                      the service reports a failure
        ├── UnclearJobError                     the service's responses about the job cannot be understood
        ├── JobDetachedError                    the job was detached while something waited for it
        ├── JobWaitTimeoutError (TimeoutError)  the wait has timed out; the job continues
        ├── LaunchUnknownError                  a launch may or may not have been accepted
        └── OutOfCreditsError                   a launch was refused for lack of credits

Every error can be pickled and copied, so process pools and task queues can pass it on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any


def _restore(cls: type[CMSError], args: tuple[Any, ...], fields: dict[str, Any]) -> CMSError:
    error = cls.__new__(cls, *args)
    error.args = args  # OSError.__new__ does not set them if the class has its own __init__
    error.__dict__.update(fields)
    return error


REQUEST_ID = "x-request-id"
"""Name of the response header that identifies a request for support; it is not in the specification."""


class CMSError(Exception):
    """Base class of all cmsapi errors."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args, self.__dict__)


class ConfigError(CMSError, ValueError):
    """Raised when a setting is missing or invalid (nothing was sent), or when an optional package is not installed."""


class ArgumentError(CMSError, ValueError):
    """Raised when an argument, or a value returned by a callback, is invalid. The invalid value was not sent.

    Attributes:
        parameter: Name of the parameter.
    """

    def __init__(self, parameter: str, problem: str) -> None:
        super().__init__(f"{parameter} {problem}")
        self.parameter = parameter


class ClientClosedError(CMSError, RuntimeError):
    """Raised when a client is closed before a request is sent, or belongs to another event loop that is still open."""


class APIError(CMSError):
    """Raised when the service answers with an error (specification 7).

    Attributes:
        status: HTTP status code.
        code: Machine-readable code, stable across versions; None if the body is not in the service's error format.
        message: Human-readable message from the service; empty if it sent none. The wording may change.
        request_id: Identifier of the request, to quote when you contact support; None if the service sent none.
        retry_after: Seconds to wait before another attempt, from ``Retry-After`` (at most an hour); None if not sent.
        operation: Name of the operation in ``OPERATIONS``; None for `Client.request`.
        headers: Response headers with names in lower case.
        body: The body as text, cut after 2,000 bytes.
    """

    def __init__(
        self,
        summary: str,
        *,
        status: int,
        code: str | None = None,
        message: str = "",
        retry_after: float | None = None,
        operation: str | None = None,
        headers: Mapping[str, str] | None = None,
        body: str = "",
    ) -> None:
        super().__init__(summary)
        self.status = status
        self.code = code
        self.message = message
        self.retry_after = retry_after
        self.operation = operation
        self.headers: Mapping[str, str] = dict(headers or {})
        self.body = body

    @property
    def request_id(self) -> str | None:
        """Value of the ``X-Request-Id`` header, to quote when you contact support; None without the header."""
        return self.headers.get(REQUEST_ID)

    @property
    def field(self) -> str | None:
        """Name of the invalid field if the message of a ``validation_error`` quotes it (specification 7); else None."""
        quoted = re.search(r"""(?<!\w)(['"`])([\w.\[\]]+)\1""", self.message)
        return quoted[2] if self.code == "validation_error" and quoted else None


class BadRequestError(APIError):
    """Raised for 400 or the code ``bad_request``: the request is malformed."""


class UnauthorizedError(APIError):
    """Raised for 401 or the code ``unauthorized``: missing, malformed, invalid or revoked key (specification 5.5)."""


class ForbiddenError(APIError):
    """Raised for 403 or the code ``forbidden``: the key's user lacks the permission (specification 5.6)."""


class NotFoundError(APIError):
    """Raised for 404 or the code ``not_found``: no such resource, or the key cannot see it (specification 5.7)."""


class ConflictError(APIError):
    """Raised for 409 or the code ``conflict``, for example because the request has a stale ``version``."""


class ValidationError(APIError):
    """Raised for 422 or the code ``validation_error``: the body does not fit the schema. `field` may name the field."""


class RateLimitedError(APIError):
    """Raised for 429 or the code ``rate_limited``: the key has exceeded a limit; see `retry_after` for the wait."""


class ServerError(APIError):
    """Base class of errors with a status of 500 or more. Raised directly for all but 500, 502 and 503."""


class InternalServerError(ServerError):
    """Raised for 500 or the code ``internal_error``."""


class BadGatewayError(ServerError):
    """Raised for 502 or the code ``bad_gateway``."""


class ServiceUnavailableError(ServerError):
    """Raised for 503 or the code ``service_unavailable``."""


_SPECIFIED: tuple[tuple[int, str, type[APIError]], ...] = (
    (400, "bad_request", BadRequestError),
    (401, "unauthorized", UnauthorizedError),
    (403, "forbidden", ForbiddenError),
    (404, "not_found", NotFoundError),
    (409, "conflict", ConflictError),
    (422, "validation_error", ValidationError),
    (429, "rate_limited", RateLimitedError),
    (500, "internal_error", InternalServerError),
    (502, "bad_gateway", BadGatewayError),
    (503, "service_unavailable", ServiceUnavailableError),
)
BY_STATUS: Mapping[int, type[APIError]] = {status: kind for status, _, kind in _SPECIFIED}
BY_CODE: Mapping[str, type[APIError]] = {code: kind for _, code, kind in _SPECIFIED}


class TransportError(CMSError, OSError):
    """Base class of the errors for requests that got no complete response."""


class NotSentError(TransportError):
    """Raised when no part of a request reached the service, so nothing changed and no credit was spent."""


class OutcomeUnknownError(TransportError):
    """Raised when a request got no complete response, so it may or may not have been carried out."""


class DecodeError(CMSError, ValueError):
    """Raised when the response to a successful request, or the data passed to `from_dict`, cannot be read.

    Attributes:
        path: JSON path of the value that does not fit, such as ``$.data[3].id``.
        operation: Name of the operation in ``OPERATIONS``; None for `from_dict`.
    """

    def __init__(self, problem: str, *, path: str = "$", operation: str | None = None) -> None:
        super().__init__(problem)
        self.path = path
        self.operation = operation


class RateLimitWaitError(CMSError):
    """Raised when the rate limits would delay a request for longer than `RateLimits.max_wait`. It was not sent.

    Attributes:
        retry_after: Estimated seconds until the request can be sent.
    """

    def __init__(self, problem: str, *, retry_after: float) -> None:
        super().__init__(problem)
        self.retry_after = retry_after


class DeadlineError(CMSError, TimeoutError):
    """Raised when a call, with all its waits and retries, does not finish within `Timeouts.deadline`.

    Attributes:
        sent: True if the service may have carried out the request; False if it certainly has not.
    """

    def __init__(self, problem: str, *, sent: bool) -> None:
        super().__init__(problem)
        self.sent = sent


class EditConflictError(CMSError):
    """Raised when the service has refused all attempts of `contents.edit` with 409. Nothing was changed.

    Attributes:
        attempts: Number of updates that were refused.
    """

    def __init__(self, problem: str, *, attempts: int) -> None:
        super().__init__(problem)
        self.attempts = attempts


class StateError(CMSError):
    """Raised when the state (``Client(state=...)``) cannot be opened, read or written."""


class JobError(CMSError):
    """Base class of errors about jobs. Raised directly if the target has an open launch with other settings.

    Attributes:
        token: Token to pass to `jobs.attach` to wait for the job again; None if no job is known.
    """

    def __init__(self, problem: str, *, token: str | None = None) -> None:
        super().__init__(problem)
        self.token = token


class JobFailedError(JobError):
    """Raised when the service reports that a job has failed."""


class UnclearJobError(JobError):
    """Raised when responses about a job are unclear for `PollPolicy.unclear_timeout`. The job may continue.

    Attributes:
        reason: What is wrong with the responses, for example an unlisted status.
    """

    def __init__(self, problem: str, *, reason: str, token: str | None = None) -> None:
        super().__init__(problem, token=token)
        self.reason = reason


class JobDetachedError(JobError):
    """Raised when a job is detached while something waits for it. The job continues at the service."""


class JobWaitTimeoutError(JobError, TimeoutError):
    """Raised when a wait for a job times out. The job continues at the service."""


class LaunchUnknownError(JobError):
    """Raised when no response confirmed a launch, which may nevertheless have been accepted and charged.

    Attributes:
        target: Readable name of the job, as in `Job.name`.
        attempts: Number of attempts, plus one for each time that another process had to settle the launch.
    """

    def __init__(self, problem: str, *, target: str, attempts: int, token: str | None = None) -> None:
        super().__init__(problem, token=token)
        self.target = target
        self.attempts = attempts


class OutOfCreditsError(JobError):
    """Raised when a launch would exceed ``max_credits``, or the service refuses it while no credit is left."""
