"""Answers as plain values (specification, section 7)."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

import attrs

JSON = "application/json"
_encoder = json.JSONEncoder(separators=(",", ":"))

BAD_REQUEST = "bad_request"
UNAUTHORIZED = "unauthorized"
FORBIDDEN = "forbidden"
NOT_FOUND = "not_found"
CONFLICT = "conflict"
VALIDATION_ERROR = "validation_error"
RATE_LIMITED = "rate_limited"
INTERNAL_ERROR = "internal_error"
BAD_GATEWAY = "bad_gateway"
SERVICE_UNAVAILABLE = "service_unavailable"

CODES = {
    400: BAD_REQUEST,
    401: UNAUTHORIZED,
    403: FORBIDDEN,
    404: NOT_FOUND,
    409: CONFLICT,
    422: VALIDATION_ERROR,
    429: RATE_LIMITED,
    500: INTERNAL_ERROR,
    502: BAD_GATEWAY,
    503: SERVICE_UNAVAILABLE,
}


@attrs.frozen
class Answer:
    """An answer: status, headers, encoded body, and the `error.code` of an error."""

    status: int
    headers: dict[str, str]
    body: bytes
    code: str | None = None


def document(status: int, value: object) -> Answer:
    """Make an answer with a JSON document."""
    return Answer(status, {"Content-Type": JSON}, encode(value))


def error(status: int, message: str, headers: dict[str, str] | None = None) -> Answer:
    """Make an answer with an error document: `{"error": {"code", "message"}}`."""
    code = CODES.get(status) or (INTERNAL_ERROR if status >= HTTPStatus.INTERNAL_SERVER_ERROR else BAD_REQUEST)
    body = encode({"error": {"code": code, "message": message}})
    return Answer(status, {"Content-Type": JSON, **(headers or {})}, body, code)


def encode(value: Any) -> bytes:
    """Encode JSON in ASCII, so that lone surrogates, which clients may send, come back unchanged."""
    return _encoder.encode(value).encode("ascii")
