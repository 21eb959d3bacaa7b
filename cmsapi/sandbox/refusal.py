"""Refusals of requests, and their responses in the service's error format (specification 7)."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import define, field

CODES: Mapping[int, str] = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",  # not in the specification, nor is 415
    409: "conflict",
    415: "unsupported_media_type",
    422: "validation_error",
    429: "rate_limited",
    500: "internal_error",
    502: "bad_gateway",
    503: "service_unavailable",
}


@define(eq=False)
class Refusal(Exception):  # noqa: N818 - it is a response, not an error in the sandbox
    """Raised when a handler or a check refuses a request.

    Args:
        status: HTTP status.
        message: Human-readable text; with status 422, it names the invalid field in single quotes.
        headers: Additional headers of the response.
    """

    status: int
    message: str
    headers: Mapping[str, str] = field(factory=dict)

    @property
    def document(self) -> dict[str, dict[str, str]]:
        """The JSON document in the body of the response."""
        code = CODES.get(self.status, "internal_error" if self.status >= 500 else "bad_request")
        return {"error": {"code": code, "message": self.message}}
