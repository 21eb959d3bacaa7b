"""Refuse bad arguments before anything is sent, naming the parameter."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

from cmsapi.errors import ArgumentError
from cmsapi.wire.document import encode
from cmsapi.wire.mismatch import excerpt, read_time


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


def moment(parameter: str, value: object) -> datetime | None:
    """Check a time, or None: an aware datetime, a date, or an ISO 8601 string of either.

    A date means its first moment in UTC. A time without an offset is refused: it would mean another moment elsewhere.
    """
    if value is None:
        return None
    time = _read(value) if isinstance(value, str) else value
    if isinstance(time, date) and not isinstance(time, datetime):
        return datetime(time.year, time.month, time.day, tzinfo=UTC)
    if not isinstance(time, datetime) or time.utcoffset() is None:
        raise ArgumentError(
            f"{parameter} is an aware datetime, a date, or an ISO 8601 string with an offset such as "
            f"'2026-01-31T12:00:00Z', not {excerpt(value)}.",
            parameter=parameter,
        )
    return time


def _read(text: str) -> date | None:
    for read in (date.fromisoformat, read_time):
        try:
            return read(text)
        except ValueError:
            continue
    return None


def timestamp(parameter: str, value: object) -> Any:
    """Check a time, or None, and spell it as the interface does: date and time, in UTC."""
    try:
        return encode(moment(parameter, value))
    except ValueError as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError(f"{parameter} cannot be sent: {error}.", parameter=parameter) from None


def given(**fields: Any) -> dict[str, Any]:
    """Collect the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}
