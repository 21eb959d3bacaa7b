"""Every error that the SDK raises, in one tree.

::

    CMSError
    ├─ ConfigError(ValueError)             a bad key form, URL or option: at construction, before any request
    ├─ ArgumentError(ValueError)           a bad argument of one call: nothing was sent; .parameter
    ├─ ClientClosedError(RuntimeError)     the client is closed, or belongs to another event loop
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
    ├─ RateLimitWaitError(TimeoutError)    a permit comes later than `max_wait`: .available_in
    ├─ DeadlineError(TimeoutError)         `Timeouts.deadline` over limits, attempts and decoding is over
    ├─ JobError                            .job .token .status, and one line on how to go on
    │  ├─ JobFailedError                   JobSupersededError        JobVanishedError
    │  ├─ JobDetachedError                 UnknownJobStateError
    │  ├─ JobWaitTimeoutError(TimeoutError)  this waiter's patience only; the job goes on
    │  └─ LaunchUnknownError               the launch may have happened: .evidence
    ├─ OutOfCreditsError                   the allowed or the available credits are spent: nothing was sent
    ├─ EditConflictError                   an optimistic edit gave up: .base .current
    ├─ StateError                          the shared state cannot be reached, read or written
    └─ LeaseLostError                      another process has taken over the job

Each message says what happened, what it means for money and data, and what to do next. No error holds the API key or a
live connection, and each one can be pickled and copied, so that it can cross a process pool.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from cmsapi.display import markup


class CMSError(Exception):
    """Be the base class of all errors of the SDK."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args, self._picklable())

    def __copy__(self) -> CMSError:
        return _rebuild(type(self), self.args, self.__dict__)

    def _picklable(self) -> dict[str, Any]:
        return self.__dict__

    def fresh(self) -> CMSError:
        """Return a copy without traceback, so that each waiter raises its own error."""
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
    """Refuse a key, URL or option at construction; nothing was sent."""


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
    """Refuse to use a client that is closed or belongs to another event loop."""


class APIError(CMSError):
    """Carry an error answer of the service (specification 7).

    Args:
        status: HTTP status code.
        code: The stable `error.code` of the answer, or None when the body had none.
        message: The service's message; its words may change.
        operation: Name of the operation in the operations table.
        retry_after: Seconds the service asked to wait, or None.
        attempts: How many requests were spent on this call.
        hint: One more line on what to do, for example that the route is assumed.

    Attributes:
        in_doubt: Whether an earlier attempt of the same call may have taken effect, so that this answer may be about
            the caller's own request.
    """

    advice: ClassVar[str] = (
        "The service refused the request with a status that its interface does not list. "
        "Check whether the request took effect before you repeat one that creates something or costs credits."
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
                "This answers the last attempt. An earlier attempt got no clear answer and may have taken effect."
            )
        if self.hint:
            lines.append(self.hint)
        return "\n".join(lines)


class BadRequestError(APIError):
    """Report 400 `bad_request`."""

    advice = "The request is malformed: nothing was changed or charged. Correct it before you repeat it."


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
    """Report 404 `not_found`; the service may hide a resource with it that the key may not see."""

    advice = (
        "The resource does not exist, or this key may not see it; the service gives the same answer for both. "
        "Nothing was changed or charged."
    )


class ConflictError(APIError):
    """Report 409 `conflict`."""

    advice = (
        "The request conflicts with the present state: a stale version, a job that is running already or is not "
        "finished, no credits left … Nothing was changed or charged. Read the resource again before you repeat it."
    )


class ValidationError(APIError):
    """Report 422 `validation_error`.

    Args:
        field: The field that the service's message names, as far as it can be recognised.
        **answer: As for `APIError`.
    """

    advice = "A value breaks a rule of the service: nothing was changed or charged. Correct it before you repeat it."

    def __init__(self, *, field: str | None = None, **answer: Any) -> None:
        super().__init__(**answer)
        self.field = field


class RateLimitedError(APIError):
    """Report 429 `rate_limited` after the retries that the settings allow."""

    advice = (
        "The limit of the key is used up, perhaps by other users of the key; the request was not executed. "
        "Wait `retry_after` seconds, or raise `RetryPolicy.max_attempts`."
    )


class ServerError(APIError):
    """Report a 5xx answer after the retries that the settings and the operation's replay class allow."""

    advice = (
        "The service failed, and the request may have taken effect: read the resource before you repeat a request "
        "that creates something or costs credits."
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
    """Report that a request was sent and may have taken effect: repeating it may duplicate the effect.

    Either no complete answer came, or the service answered that it failed (500, 502, 503 and others), or the answer is
    not the service's, for example a proxy's redirect. The message says which; `__cause__` is the `APIError` if there is
    one.
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
    """Refuse to wait for a permit for longer than `RateLimits.max_wait`; nothing was sent.

    Args:
        message: What happened.
        available_in: Seconds until a permit is expected for the call.
    """

    def __init__(self, message: str, *, available_in: float) -> None:
        super().__init__(message)
        self.available_in = available_in


class DeadlineError(CMSError, TimeoutError):
    """Report that `Timeouts.deadline`, over limits, attempts and decoding together, has passed.

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
    """Report how a job, or the wait for it, ended without a result.

    Args:
        message: What happened and how to go on.
        job: The job, or None where no job is known. Pickling drops it and keeps the token.
        token: Text that `client.jobs.attach` turns back into the job, or None.
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
    """Report that the job failed, as the service says."""


class JobSupersededError(JobError):
    """Report that a newer generation has replaced this one on the content."""


class JobVanishedError(JobError):
    """Report that the service has answered 404 about the job for at least 60 s and three polls."""


class JobDetachedError(JobError):
    """Tell a waiter that its job was detached; the job goes on at the service, and its token stays valid."""


class UnknownJobStateError(JobError):
    """Report that the service keeps showing a state that does not tell the end of the job."""


class JobWaitTimeoutError(JobError, TimeoutError):
    """Report that the `timeout` of one waiter has passed; the job and its other waiters go on."""


class LaunchUnknownError(JobError):
    """Report that a launch was sent and may have happened, with a credit spent.

    Args:
        message: What happened and how to find out more.
        kind: Kind of job.
        target: Identifier of the job's target.
        evidence: What is known about the launch.
        **job: As for `JobError`.
    """

    def __init__(self, message: str, *, kind: str, target: str, evidence: Mapping[str, Any], **job: Any) -> None:
        super().__init__(message, **job)
        self.kind = kind
        self.target = target
        self.evidence: dict[str, Any] = dict(evidence)


class OutOfCreditsError(CMSError):
    """Report that `max_credits` is spent, or that no credits are left; nothing was sent."""


class EditConflictError(CMSError):
    """Report that an optimistic edit met a newer version at each attempt; nothing was saved.

    Args:
        message: What happened.
        base: The content as it was before the last attempt.
        current: The content as it is now, or None when it could not be read.
    """

    def __init__(self, message: str, *, base: Any, current: Any = None) -> None:
        super().__init__(message)
        self.base = base
        self.current = current


class StateError(CMSError):
    """Report that the shared state cannot be reached, read or written.

    A failed write may have been carried out, unless the message says that it was not. A launch that cannot be written
    to the journal is not sent and costs nothing.
    """


class LeaseLostError(CMSError):
    """Report that another process has taken over a job, because the lease of this one expired; nothing was written."""
