"""The errors that the service answers with (specification 7)."""

from __future__ import annotations

from typing import Any, ClassVar

from cmsapi.display import markup
from cmsapi.errors.base import CMSError
from cmsapi.message import Response

# Statuses by which any HTTP server says that it has not carried out the request (RFC 9110, 15.5, and RFC 6585). 403 is
# not one of them: firewalls put it in the place of answers that they do not let out.
_NOT_CARRIED_OUT = frozenset(
    {400, 401, 402, 404, 405, 407, 409, 410, 411, 412, 413, 414, 415, 416, 417, 421, 422, 423, 425, 426, 428, 429}
    | {431, 451}
)


def is_refusal(status: int, code: str | None) -> bool:
    """Tell whether an answer says that the request was not carried out, by the service's own code or by its status."""
    # 408 is the answer of gateways that did not reach the service in time.
    return 400 <= status < 500 and status != 408 and (code is not None or status in _NOT_CARRIED_OUT)


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
        response: The answer: status, headers and body, without the API key and with at most 64 KiB of the body.
        request_id: What the service calls the request in its own log, or None when no header of the answer tells.
        in_doubt: Whether a request of this call may have taken effect: the one that this error answers, because a 5xx
            or the page of a proxy says nothing about the effect, or an attempt before it that got no clear answer.
            Always False of reads.
    """

    #: What the class means for money and data, and what to do.
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
        response: Response | None = None,
        request_id: str | None = None,
        in_doubt: bool = False,
    ) -> None:
        self.status = status
        self.code = code
        self.message = message
        self.operation = operation
        self.retry_after = retry_after
        self.attempts = attempts
        self.hint = hint
        self.response = response
        self.request_id = request_id
        self.in_doubt = in_doubt
        super().__init__(status, code, message)

    def __str__(self) -> str:
        where = f" from {self.operation}" if self.operation else ""
        tries = f" after {self.attempts} attempts" if self.attempts > 1 else ""
        said = f": {markup.plain(self.message)}" if self.message else ""
        lines = [f"{self.status} {markup.plain(self.code or 'without an error code')}{where}{tries}{said}"]
        if not self.in_doubt:
            lines.append(self.advice)
        elif is_refusal(self.status, self.code):
            lines.append(
                "This answers the last attempt. An earlier attempt got no clear answer and may have taken effect: "
                "check whether it did before you repeat the call."
            )
        else:
            lines.append("The request may have taken effect: check whether it did before you repeat the call.")
        if self.hint:
            lines.append(self.hint)
        if self.request_id:
            lines.append(f"Request id: {markup.plain(self.request_id)}")
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
    """Report a 5xx answer after the retries that the settings and the operation's replay class allow.

    A request that changes something may have taken effect; `in_doubt` is true then.
    """

    advice = "The service failed. Nothing was changed or charged by this request. Try again later."


class InternalServerError(ServerError):
    """Report 500 `internal_error`."""


class BadGatewayError(ServerError):
    """Report 502 `bad_gateway`."""


class ServiceUnavailableError(ServerError):
    """Report 503 `service_unavailable`."""
