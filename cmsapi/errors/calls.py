"""The errors of calls without a usable answer, and of calls that took too long."""

from __future__ import annotations

from cmsapi.display import markup
from cmsapi.errors.base import CMSError


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
    """Report that nothing left this machine (DNS, connect, TLS, proxy): repeating is safe. The message says why."""


class OutcomeUnknownError(TransportError):
    """Report that a request was sent, and no usable answer came: repeating it may duplicate the effect.

    An answer that says that the service failed is an `APIError` with `.in_doubt`.
    """

    in_doubt = True


class DecodeError(TransportError, ValueError):
    """Report a 2xx answer that is not what the interface promises.

    Args:
        message: What was expected and what was found.
        path: JSON path of the offending value, `$` for the whole body.
        excerpt: The first characters of the offending value.
        operation: Name of the operation in the operations table.
        attempts: How many requests were spent on this call.
        request_id: What the service calls the request in its own log, or None when no header of the answer tells.
    """

    def __init__(
        self,
        message: str,
        *,
        path: str = "$",
        excerpt: str = "",
        operation: str | None = None,
        attempts: int = 1,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message, operation=operation, attempts=attempts)
        self.path = path
        self.excerpt = excerpt
        self.request_id = request_id

    def __str__(self) -> str:
        where = f" in the answer to {self.operation}" if self.operation else ""
        found = f", found {self.excerpt}" if self.excerpt else ""
        told = f"\nRequest id: {markup.plain(self.request_id)}" if self.request_id else ""
        return f"{self.args[0]} at {self.path}{where}{found}{told}"


class RateLimitWaitError(CMSError, TimeoutError):
    """Refuse to wait for longer than `RateLimits.max_wait` or `RetryPolicy.max_retry_after`; nothing was sent.

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
