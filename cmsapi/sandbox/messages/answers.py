"""Answers as plain values (specification, section 7)."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

import attrs

JSON = "application/json"
_encoder = json.JSONEncoder(separators=(",", ":"))

CODES = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    409: "conflict",
    422: "validation_error",
    429: "rate_limited",
    500: "internal_error",
    502: "bad_gateway",
    503: "service_unavailable",
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
    """Make an answer with an error document, `{"error": {"code", "message"}}`; below 400 it has no body."""
    if status < HTTPStatus.BAD_REQUEST:
        return Answer(status, headers or {}, b"", HTTPStatus(status).name.lower())
    code = CODES.get(status) or CODES[500 if status >= HTTPStatus.INTERNAL_SERVER_ERROR else 400]
    body = encode({"error": {"code": code, "message": message}})
    return Answer(status, {"Content-Type": JSON, **(headers or {})}, body, code)


def message_of(body: bytes | str) -> str | None:
    """Return the message of an error document; None if the body is none."""
    try:
        return str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return None


def encode(value: Any) -> bytes:
    """Encode JSON in ASCII, so that lone surrogates, which clients may send, come back unchanged."""
    return _encoder.encode(value).encode("ascii")
