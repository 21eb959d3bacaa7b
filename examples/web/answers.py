"""Say in HTTP what an error of cmsapi means for a browser: a status, headers and a document of RFC 9457."""

from __future__ import annotations

import math
from http import HTTPStatus
from typing import Any

import cmsapi


class RefusedError(Exception):
    """Refuse what a browser asks for.

    Args:
        status: The status of HTTP that says so.
        reason: What is wrong.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(status, reason)
        self.status = status
        self.reason = reason


# The first class that fits decides.
STATUSES: list[tuple[type[cmsapi.CMSError], int]] = [
    (cmsapi.ArgumentError, 400),
    (cmsapi.OutOfCreditsError, 402),
    (cmsapi.NotFoundError, 404),
    (cmsapi.ConflictError, 409),
    (cmsapi.ValidationError, 422),
    (cmsapi.RateLimitedError, 429),
    (cmsapi.RateLimitWaitError, 429),
    # The key of this service is refused: no browser can mend that.
    (cmsapi.UnauthorizedError, 500),
    (cmsapi.ForbiddenError, 500),
    # The service behind this one fails, or its answer is not clear.
    (cmsapi.APIError, 502),
    (cmsapi.TransportError, 502),
    (cmsapi.DeadlineError, 504),
    (cmsapi.LaunchUnknownError, 504),
    # The state that the processes share does not answer, or this process is being stopped.
    (cmsapi.StateError, 503),
    (cmsapi.ClientClosedError, 503),
]


def problem(error: cmsapi.CMSError) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Return the status, the headers and the document that answer for an error.

    The document's `in_doubt` tells a program that the work may have been launched, and paid for.
    """
    status = next((status for known, status in STATUSES if isinstance(error, known)), 500)
    headers = {}
    if status in (429, 503):
        seconds = getattr(error, "retry_after", None) or getattr(error, "available_in", None) or 5.0
        headers["Retry-After"] = str(math.ceil(seconds))
    return status, headers, document(status, str(error).partition("\n")[0], error)


def document(status: int, detail: str, error: cmsapi.CMSError | None = None) -> dict[str, Any]:
    """Write what went wrong as the document that all answers with an error have."""
    named = {} if error is None else {"error": type(error).__name__, "in_doubt": error.in_doubt}
    return {"title": HTTPStatus(status).phrase, "status": status, "detail": detail, **named}
