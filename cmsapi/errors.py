"""Every error that the SDK raises, in one tree.

::

    CMSError
    ├─ ConfigError(ValueError)             a bad key form, URL or option: at construction, before any request
    ├─ ArgumentError(ValueError)           a bad argument of one call: nothing was sent; .parameter
    ├─ ClientClosedError(RuntimeError)     used after close, or from another event loop
    ├─ APIError                            the service answered: .status .code .message .retry_after .attempts
    │  ├─ BadRequestError 400              UnauthorizedError 401     ForbiddenError 403
    │  ├─ NotFoundError 404                may hide a 403
    │  ├─ ConflictError 409                ValidationError 422 (.field)
    │  ├─ RateLimitedError 429
    │  └─ ServerError                      InternalServerError 500   BadGatewayError 502   ServiceUnavailableError 503
    ├─ TransportError                      no usable answer: .operation .attempts
    │  ├─ NotSentError                     nothing left this machine: safe to repeat
    │  ├─ OutcomeUnknownError              sent, effect not known: repeating may duplicate
    │  └─ DecodeError(ValueError)          a 2xx, but not what the interface promises: .path .excerpt
    ├─ RateLimitWaitError(TimeoutError)    the quota frees later than `max_wait`: .available_in
    ├─ DeadlineError(TimeoutError)         `Timeouts.deadline` over limits, attempts and decoding is over
    ├─ JobError                            .job .token .status, and one line on how to go on
    │  ├─ JobFailedError                   JobSupersededError        JobVanishedError
    │  ├─ JobDetachedError                 UnknownJobStateError
    │  ├─ JobWaitTimeoutError(TimeoutError)  this waiter's patience only; the job goes on
    │  └─ LaunchUnknownError               the launch may have happened: .evidence
    ├─ OutOfCreditsError                   the credits allowed, or all there are, are spent: nothing was sent
    ├─ EditConflictError                   an optimistic edit gave up: .base .current
    ├─ StateError                          what processes share cannot be reached, read or written
    └─ LeaseLostError                      another process has taken a job over

Each message says what happened, what it means for money and data, and what to do next. None ever holds the API key or
a live connection, and each survives `pickle` and `copy`, so that it can cross a process pool.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from cmsapi.display import markup

__all__ = [
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
]


class CMSError(Exception):
    """Be the root of everything that the SDK raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args, self._picklable())

    def __copy__(self) -> CMSError:
        return _rebuild(type(self), self.args, self.__dict__)

    def _picklable(self) -> dict[str, Any]:
        return self.__dict__

    def fresh(self) -> CMSError:
        """Return a copy without traceback, so that each of many waiters raises an error of its own."""
        twin = self.__copy__()
        twin.__cause__ = self.__cause__
        return twin

    def _repr_html_(self) -> str:
        return markup.paragraphs(type(self).__name__, [*str(self).splitlines(), *getattr(self, "__notes__", ())])


def _rebuild(cls: type[CMSError], args: tuple[Any, ...], state: Mapping[str, Any]) -> CMSError:
    error = cls.__new__(cls, *args)
    error.args = args
    for name, value in state.items():
        # Notes are a list that `add_note` grows in place: copies must not grow together.
        error.__dict__[name] = list(value) if name == "__notes__" else value
    return error


class ConfigError(CMSError, ValueError):
    """Refuse a key, URL or option at construction; no request was made."""


class ArgumentError(CMSError, ValueError):
    """Refuse an argument of one call; nothing was sent and nothing was charged.

    Args:
        message: What is wrong and what would be right.
        parameter: Name of the offending parameter.
    """

    def __init__(self, message: str, *, parameter: str) -> None:
        super().__init__(message)
        self.parameter = parameter


class ClientClosedError(CMSError, RuntimeError):
    """Refuse to work on a client that is closed or that belongs to another event loop."""


class APIError(CMSError):
    """Carry an error answer of the service (specification 7).

    Args:
        status: HTTP status code.
        code: The stable `error.code` of the answer, or None when the body had none.
        message: The service's own words; not stable.
        operation: Name of the operation in the operations table.
        retry_after: Seconds the service asked to wait, or None.
        attempts: How many requests were spent on this call.
        hint: A further line on what to do, for example that the route is assumed.

    Attributes:
        in_doubt: Whether an earlier attempt of the same call may have taken effect, so that this answer may be the
            echo of the caller's own request.
    """

    advice: ClassVar[str] = (
        "The service refused the request in a way that its interface does not list. "
        "Look whether it took effect before you repeat anything that creates or costs."
    )

    def __init__(
        self,
        *,
        status: int,
        code: str | None = None,
        message: str = "",
        operation: str | None = None,
        retry_after: float | None = None,
        attempts: int = 1,
        hint: str | None = None,
    ) -> None:
        self.status = status
        self.code = code
        self.message = message
        self.operation = operation
        self.retry_after = retry_after
        self.attempts = attempts
        self.hint = hint
        self.in_doubt = False
        super().__init__(status, code, message)

    def __str__(self) -> str:
        where = f" from {self.operation}" if self.operation else ""
        tries = f" after {self.attempts} attempts" if self.attempts > 1 else ""
        said = f": {markup.plain(self.message)}" if self.message else ""
        lines = [f"{self.status} {markup.plain(self.code or 'without an error code')}{where}{tries}{said}", self.advice]
        if self.in_doubt:
            lines.append(
                "This answers the last attempt; an earlier one ended without a clear answer and may have taken effect."
            )
        if self.hint:
            lines.append(self.hint)
        return "\n".join(lines)


class BadRequestError(APIError):
    """Report 400 `bad_request`."""

    advice = "The request is malformed: nothing was changed or charged. Do not repeat it unchanged."


class UnauthorizedError(APIError):
    """Report 401 `unauthorized`."""

    advice = (
        "The API key is missing, malformed, invalid or revoked: nothing was changed or charged. "
        "Create a key in the application settings (organization, API keys)."
    )


class ForbiddenError(APIError):
    """Report 403 `forbidden`."""

    advice = "The key's user may not do this: nothing was changed or charged. Some actions need the role Admin."


class NotFoundError(APIError):
    """Report 404 `not_found`; the service may use it to hide a resource the key may not see."""

    advice = (
        "It does not exist, or this key may not see it; the service answers the same for both. "
        "Nothing was changed or charged."
    )


class ConflictError(APIError):
    """Report 409 `conflict`."""

    advice = (
        "It conflicts with the present state: a stale version, a job that runs already or is not finished, no credits "
        "left … Nothing was changed or charged. Read the resource again before another try."
    )


class ValidationError(APIError):
    """Report 422 `validation_error`.

    Args:
        field: The field that the service's message names, as far as it can be recognised.
        **answer: As for `APIError`.
    """

    advice = "A value breaks the service's rules: nothing was changed or charged. Do not repeat it unchanged."

    def __init__(self, *, field: str | None = None, **answer: Any) -> None:
        super().__init__(**answer)
        self.field = field


class RateLimitedError(APIError):
    """Report 429 `rate_limited` after the retries that the settings allow."""

    advice = (
        "The key's limit is used up, also by others who share the key; the request was not executed. "
        "Wait `retry_after` seconds, or raise `RetryPolicy.max_attempts`."
    )


class ServerError(APIError):
    """Report a 5xx answer after the retries that the settings and the operation's replay class allow."""

    advice = (
        "The service failed. Whether the request took effect is not known: "
        "read the resource before repeating anything that creates or costs."
    )


class InternalServerError(ServerError):
    """Report 500 `internal_error`."""


class BadGatewayError(ServerError):
    """Report 502 `bad_gateway`."""


class ServiceUnavailableError(ServerError):
    """Report 503 `service_unavailable`."""


class TransportError(CMSError):
    """Report that there was no usable answer.

    Args:
        message: What happened.
        operation: Name of the operation in the operations table.
        attempts: How many requests were spent on this call.
    """

    def __init__(self, message: str, *, operation: str | None = None, attempts: int = 1) -> None:
        super().__init__(message)
        self.operation = operation
        self.attempts = attempts


class NotSentError(TransportError):
    """Report that nothing left this machine (DNS, connect, TLS, pool): repeating is safe."""


class OutcomeUnknownError(TransportError):
    """Report that a request was sent and its effect is not known: repeating it may duplicate that effect.

    Either no whole answer came, or the service answered that it failed (500, 502, 503 and others), which does not say
    whether it carried the request out. The message tells which; `__cause__` is the `ServerError` where there is one.
    """


class DecodeError(TransportError, ValueError):
    """Report a 2xx answer that is not what the interface promises.

    Args:
        message: What was expected and what was found.
        path: JSON path of the offending value, `$` for the whole body.
        excerpt: The first characters of the offending value.
        operation: Name of the operation in the operations table.
        attempts: How many requests were spent on this call.
    """

    def __init__(
        self,
        message: str,
        *,
        path: str = "$",
        excerpt: str = "",
        operation: str | None = None,
        attempts: int = 1,
    ) -> None:
        super().__init__(message, operation=operation, attempts=attempts)
        self.path = path
        self.excerpt = excerpt

    def __str__(self) -> str:
        where = f" in the answer to {self.operation}" if self.operation else ""
        found = f", found {self.excerpt}" if self.excerpt else ""
        return f"{self.args[0]} at {self.path}{where}{found}"


class RateLimitWaitError(CMSError, TimeoutError):
    """Refuse to wait for quota for longer than `RateLimits.max_wait`; nothing was sent.

    Args:
        message: What happened.
        available_in: Seconds until the quota is expected to admit the call.
    """

    def __init__(self, message: str, *, available_in: float) -> None:
        super().__init__(message)
        self.available_in = available_in


class DeadlineError(CMSError, TimeoutError):
    """Report that `Timeouts.deadline` (limits, attempts and decoding together) is over.

    Args:
        message: What happened, and whether a request may have been executed.
        operation: Name of the operation in the operations table.
        attempts: How many requests were spent on this call.
        sent: Whether a request was sent whose effect is not known.
    """

    def __init__(self, message: str, *, operation: str | None, attempts: int, sent: bool) -> None:
        super().__init__(message)
        self.operation = operation
        self.attempts = attempts
        self.sent = sent


class JobError(CMSError):
    """Report how a job ended, or how waiting for it ended.

    Args:
        message: What happened and how to go on.
        job: The job, or None where none is known (it does not travel through `pickle`; the token does).
        token: Text that `client.jobs.attach` turns into the job again, or None.
        status: Last known `JobStatus`, or None.
    """

    def __init__(self, message: str, *, job: Any = None, token: str | None = None, status: Any = None) -> None:
        super().__init__(message)
        self.job = job
        self.token: str | None = token if token is not None else getattr(job, "token", None)
        self.status: Any = status if status is not None else getattr(job, "status", None)

    def _picklable(self) -> dict[str, Any]:
        # A live job belongs to a client and a loop; neither can cross a process.
        return {**self.__dict__, "job": None}


class JobFailedError(JobError):
    """Report that the service says the job failed."""


class JobSupersededError(JobError):
    """Report that a newer generation has taken this one's place on the content."""


class JobVanishedError(JobError):
    """Report that the service has answered 404 about the job for at least 60 s and three looks."""


class JobDetachedError(JobError):
    """Wake a waiter of a job that was detached; the remote job and its token live on."""


class UnknownJobStateError(JobError):
    """Report that the service keeps showing a state from which the job's end cannot be told."""


class JobWaitTimeoutError(JobError, TimeoutError):
    """Report that this waiter's `timeout` is over; the job and its other waiters go on."""


class LaunchUnknownError(JobError):
    """Report that a launch was sent and may have happened, with a credit spent.

    Args:
        message: What happened and how to find out.
        kind: Kind of job.
        target: Identifier of what the job was to work on.
        evidence: What is known about whether it happened.
        **job: As for `JobError`.
    """

    def __init__(self, message: str, *, kind: str, target: str, evidence: Mapping[str, Any], **job: Any) -> None:
        super().__init__(message, **job)
        self.kind = kind
        self.target = target
        self.evidence: dict[str, Any] = dict(evidence)


class OutOfCreditsError(CMSError):
    """Report that nothing more is launched: `max_credits` is spent, or no credits are left; nothing was sent."""


class EditConflictError(CMSError):
    """Report that an optimistic edit met a newer version on each of its tries; nothing of it was saved.

    Args:
        message: What happened.
        base: The content as it was when the last try began.
        current: The content as the service has it now, or None when it was not read again.
    """

    def __init__(self, message: str, *, base: Any, current: Any = None) -> None:
        super().__init__(message)
        self.base = base
        self.current = current


class StateError(CMSError):
    """Report that the state that processes share cannot be reached, read or written.

    What was to be written may have been written, unless the message says that it was not. A launch that cannot be
    written down is not sent, and costs nothing.
    """


class LeaseLostError(CMSError):
    """Report that another process has taken a job over, because this one was not heard of; nothing was written."""
