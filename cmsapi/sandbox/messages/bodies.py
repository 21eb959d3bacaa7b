"""Request bodies: 400 if a body is not JSON, 422 if it violates its schema (specification, section 7)."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

from cmsapi.sandbox.messages.answers import JSON
from cmsapi.sandbox.world.refusal import Refusal

_TYPES: dict[str, type] = {
    "object": dict,
    "string": str,
    "boolean": bool,
    "integer": int,
}


LARGEST_BODY = 64 * 1024 * 1024


def parse(body: bytes, content_type: str | None) -> Any:
    """Parse a JSON body.

    Raises:
        Refusal: 400: the body is larger than 64 MiB, was not sent as JSON (section 1, convention 1), is not UTF-8 or
            not JSON, is nested too deeply, or contains a number that JSON does not have.
    """
    if len(body) > LARGEST_BODY:
        # Section 7 does not list 413, and section 8, rule 7, shows no maximum.
        raise Refusal(400, f"body: must be at most {LARGEST_BODY} bytes")
    if body and (content_type or "").partition(";")[0].strip().lower() != JSON:
        raise Refusal(400, "Content-Type: must be application/json")
    try:
        return json.loads(body.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise Refusal(400, "body: not valid JSON") from None


def check(schema: dict[str, Any], value: Any, field: str = "body") -> None:
    """Check a value against the part of JSON Schema that request bodies use.

    Raises:
        Refusal: 422: the value violates the schema; the message names the failing field.
    """
    if "anyOf" in schema:  # a nullable field
        if value is None:
            return
        schema = schema["anyOf"][0]
    _check_type(schema["type"], value, field)
    if isinstance(value, str):
        _check_string(schema, value, field)
    elif isinstance(value, dict):
        _check_object(schema, value, field)


def moment(text: str, field: str) -> float:
    """Read an ISO 8601 timestamp as epoch seconds; without an offset it is in UTC.

    Raises:
        Refusal: 422: the text is not a timestamp.
    """
    try:
        value = datetime.fromisoformat(text.upper())
        value = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except (ValueError, OverflowError):
        raise Refusal(422, f"{field}: must be an ISO 8601 timestamp") from None
    return value.timestamp()


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _check_type(name: str, value: Any, field: str) -> None:
    if not isinstance(value, _TYPES[name]) or (isinstance(value, bool) and name != "boolean"):
        raise Refusal(422, f"{field}: must be {name}")


def _check_string(schema: dict[str, Any], value: str, field: str) -> None:
    shortest, longest = schema.get("minLength", 0), schema.get("maxLength")
    if len(value) < shortest:
        raise Refusal(422, f"{field}: must have at least {shortest} characters")
    if longest is not None and len(value) > longest:
        raise Refusal(422, f"{field}: must have at most {longest} characters")
    if "pattern" in schema and not re.search(schema["pattern"], value):
        raise Refusal(422, f"{field}: must match {schema['pattern']}")
    if schema.get("format") == "date-time":
        moment(value, field)


def _check_object(schema: dict[str, Any], value: dict[str, Any], field: str) -> None:
    known = schema.get("properties", {})
    prefix = "" if field == "body" else f"{field}."
    for name in schema.get("required", ()):
        if name not in value:
            raise Refusal(422, f"{prefix}{name}: is required")
    for name, item in value.items():
        if name in known:
            check(known[name], item, f"{prefix}{name}")
        elif schema.get("additionalProperties") is False:
            raise Refusal(422, f"{prefix}{name}: unknown property")
