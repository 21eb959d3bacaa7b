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
    ├── TransportError (OSError)                no complete answer
    │   ├── NotSentError                        nothing reached the service
    │   └── OutcomeUnknownError                 the service may have acted
    ├── DecodeError (ValueError)                an answer cannot be read
    ├── RateLimitWaitError                      the limits would delay a request longer than `RateLimits.max_wait`
    ├── DeadlineError (TimeoutError)            `Timeouts.deadline` has passed
    ├── EditConflictError                       every attempt of an edit was refused with 409
    ├── StateError                              the state cannot be opened, read or written
    └── JobError                                a launch with other settings is under way
        ├── JobFailedError                      the service reports a failure
        ├── UnclearJobError                     the service's answers about the job cannot be understood
        ├── JobDetachedError                    the job was detached while something waited for it
        ├── JobWaitTimeoutError (TimeoutError)  the wait has timed out; the job goes on
        ├── LaunchUnknownError                  a launch may or may not have been accepted
        └── OutOfCreditsError                   a launch was refused for lack of credits

Every error can be pickled and copied, so that process pools and task queues can carry it.
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
"""Response header with the identifier of a request, to quote to support; the specification does not name it."""


class CMSError(Exception):
    """Base class of all cmsapi errors."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args, self.__dict__)


class ConfigError(CMSError, ValueError):
    """Raised when a setting is missing or invalid (nothing was sent), or an optional package is not installed."""


class ArgumentError(CMSError, ValueError):
    """Raised when an argument, or the value that a callback returned, is invalid. That value was not sent.

    Attributes:
        parameter: Name of the parameter.
    """

    def __init__(self, parameter: str, problem: str) -> None:
        super().__init__(f"{parameter} {problem}")
        self.parameter = parameter


class ClientClosedError(CMSError, RuntimeError):
    """Raised when a client is used after it was closed, or in an event loop other than its own."""


class APIError(CMSError):
    """Raised when the service answers with an error (specification 7).

    Attributes:
        status: HTTP status code.
        code: Machine-readable code, stable across versions; None if the body is not in the service's error format.
        message: The service's message for people; its wording may change. For ``validation_error``, it names the field.
        request_id: Identifier of the request, to quote to support; None if the service sent none.
        retry_after: Seconds that the service asks to wait before another attempt; None if it does not ask.
        operation: Name of the operation in ``OPERATIONS``, None for `Client.request`.
        headers: Response headers with names in lower case.
        body: At most the first 2,000 bytes of the body, as text.
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
        """Identifier of the request, to quote to support, from ``X-Request-Id``; None if the service sent none."""
        return self.headers.get(REQUEST_ID)

    @property
    def field(self) -> str | None:
        """The invalid field of a ``validation_error`` if its message quotes it (specification 7); else None."""
        quoted = re.search(r"""(?<!\w)(['"`])([\w.\[\]]+)\1""", self.message)
        return quoted[2] if self.code == "validation_error" and quoted else None


class BadRequestError(APIError):
    """Raised for 400: the request is malformed."""


class UnauthorizedError(APIError):
    """Raised for 401: the key is missing, malformed, invalid or revoked (specification 5.5)."""


class ForbiddenError(APIError):
    """Raised for 403: the key's user lacks the permission (specification 5.6)."""


class NotFoundError(APIError):
    """Raised for 404: the resource does not exist, or is not visible to this key (specification 5.7)."""


class ConflictError(APIError):
    """Raised for 409: the request conflicts with the current state, for example a stale ``version``."""


class ValidationError(APIError):
    """Raised for 422: the body does not fit the schema; ``field`` is the invalid field, if the message quotes it."""


class RateLimitedError(APIError):
    """Raised for 429: a limit of the key is exceeded; ``retry_after`` is the number of seconds to wait, if known."""


class ServerError(APIError):
    """Raised for a status of 500 or more."""


class InternalServerError(ServerError):
    """Raised for 500."""


class BadGatewayError(ServerError):
    """Raised for 502."""


class ServiceUnavailableError(ServerError):
    """Raised for 503."""


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
    """Raised when a request got no complete answer."""


class NotSentError(TransportError):
    """Raised when nothing of a request reached the service: no credit was spent and nothing changed."""


class OutcomeUnknownError(TransportError):
    """Raised when no complete answer came, so that the request may or may not have been carried out."""


class DecodeError(CMSError, ValueError):
    """Raised when the answer to a successful request, or the data passed to `from_dict`, cannot be read.

    Attributes:
        path: JSON path of the value that does not fit, such as ``$.data[3].id``.
        operation: Name of the operation in ``OPERATIONS``, None for `from_dict`.
    """

    def __init__(self, problem: str, *, path: str = "$", operation: str | None = None) -> None:
        super().__init__(problem)
        self.path = path
        self.operation = operation


class RateLimitWaitError(CMSError):
    """Raised when the limits would delay a request for longer than ``RateLimits.max_wait``. Nothing was sent.

    Attributes:
        retry_after: Seconds after which the request can probably be sent.
    """

    def __init__(self, problem: str, *, retry_after: float) -> None:
        super().__init__(problem)
        self.retry_after = retry_after


class DeadlineError(CMSError, TimeoutError):
    """Raised when a call, including its waits and retries, is not finished within ``Timeouts.deadline``.

    Attributes:
        sent: True if an attempt was under way, or an earlier one may have been carried out.
    """

    def __init__(self, problem: str, *, sent: bool) -> None:
        super().__init__(problem)
        self.sent = sent


class EditConflictError(CMSError):
    """Raised when every attempt of `contents.edit` was refused with 409. Nothing was changed.

    Attributes:
        attempts: Number of attempts.
    """

    def __init__(self, problem: str, *, attempts: int) -> None:
        super().__init__(problem)
        self.attempts = attempts


class StateError(CMSError):
    """Raised when the state cannot be opened, read or written."""


class JobError(CMSError):
    """Base class of errors about a job; raised itself if a launch with other settings is under way.

    Attributes:
        token: Token for `jobs.attach`, to wait for the job again; None if there is no job.
    """

    def __init__(self, problem: str, *, token: str | None = None) -> None:
        super().__init__(problem)
        self.token = token


class JobFailedError(JobError):
    """Raised when the service reports that a job failed."""


class UnclearJobError(JobError):
    """Raised when the answers about a job have been unclear for ``PollPolicy.unclear_timeout``. The job may go on.

    Attributes:
        reason: What is unclear, such as an unlisted status.
    """

    def __init__(self, problem: str, *, reason: str, token: str | None = None) -> None:
        super().__init__(problem, token=token)
        self.reason = reason


class JobDetachedError(JobError):
    """Raised when a job is detached while something waits for it. The job goes on at the service."""


class JobWaitTimeoutError(JobError, TimeoutError):
    """Raised when a wait for a job times out. The job goes on at the service."""


class LaunchUnknownError(JobError):
    """Raised when a launch may have been accepted, and a credit spent, although no answer confirmed it.

    Attributes:
        target: Readable name of what was launched, as in `Job.name`.
        attempts: Number of attempts; a process that takes over the launch of a dead process counts as one more.
    """

    def __init__(self, problem: str, *, target: str, attempts: int, token: str | None = None) -> None:
        super().__init__(problem, token=token)
        self.target = target
        self.attempts = attempts


class OutOfCreditsError(JobError):
    """Raised when a launch would exceed ``max_credits``, or the service refuses it for lack of credits."""
