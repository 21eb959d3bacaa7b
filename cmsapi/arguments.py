"""Refuse bad arguments before anything is sent, naming the parameter."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from cmsapi.errors import ArgumentError
from cmsapi.wire.document import encode


def text(parameter: str, value: object, at_least: int = 1, at_most: int | None = None) -> str:
    """Check a string and its length in characters."""
    if not isinstance(value, str):
        hint = f" Pass its id: {type(value).__name__.lower()}.id." if hasattr(value, "id") else ""
        raise ArgumentError(f"{parameter} must be a string, not {type(value).__name__}.{hint}", parameter=parameter)
    if len(value) < at_least or (at_most is not None and len(value) > at_most):
        bounds = f"at least {at_least}" if at_most is None else f"{at_least} to {at_most}"
        raise ArgumentError(f"{parameter} has {bounds} characters, not {len(value)}.", parameter=parameter)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ArgumentError(f"{parameter} holds half a surrogate pair.", parameter=parameter) from None
    return value


def optional_text(parameter: str, value: object) -> str | None:
    """Check a string of any length, or None."""
    return None if value is None else text(parameter, value, at_least=0)


def within(parameter: str, value: object, least: int, most: int | None = None) -> int:
    """Check a whole number."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise ArgumentError(f"{parameter} must be a whole number, not {type(value).__name__}.", parameter=parameter)
    if value < least or (most is not None and value > most):
        bounds = f"{least} or more" if most is None else f"{least} to {most}"
        raise ArgumentError(f"{parameter} is {bounds}, not {value}.", parameter=parameter)
    return value


def timestamp(parameter: str, value: object) -> Any:
    """Check a time and spell it as the interface does; without an offset it would mean another moment elsewhere."""
    if value is None or isinstance(value, str):
        return optional_text(parameter, value)
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise ArgumentError(f"{parameter} is an aware datetime or an ISO 8601 string.", parameter=parameter)
    return encode(value)


def given(**fields: Any) -> dict[str, Any]:
    """Collect the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}
