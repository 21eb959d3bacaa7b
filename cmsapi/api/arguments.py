"""Refuse bad arguments before anything is sent, naming the parameter."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import UTC, date, datetime
from typing import Any, TypeVar

from cmsapi.api.wire.mismatch import excerpt
from cmsapi.api.wire.times import read_time, spell_time
from cmsapi.errors import ArgumentError

T = TypeVar("T")

_LARGEST = 2**63 - 1


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
    """Check a whole number; without a bound of its own it has 64 bits at the most."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise ArgumentError(f"{parameter} must be a whole number, not {type(value).__name__}.", parameter=parameter)
    if not least <= value <= (_LARGEST if most is None else most):
        bounds = f"{least} or more" if most is None and value < least else f"{least} to {most or _LARGEST}"
        raise ArgumentError(f"{parameter} is {bounds}, not {excerpt(value)}.", parameter=parameter)
    return value


def seconds(parameter: str, value: object) -> float:
    """Check a finite number of seconds."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) <= sys.float_info.max:
        raise ArgumentError(f"{parameter} is a finite number of seconds, not {excerpt(value)}.", parameter=parameter)
    return float(value)


def function(parameter: str, value: object) -> None:
    """Check something that will be called."""
    if not callable(value):
        raise ArgumentError(f"{parameter} is a function, not {excerpt(value)}.", parameter=parameter)


def several(parameter: str, value: Iterable[T]) -> Iterable[T]:
    """Check that something holds several things, and is not one text, whose characters they would be."""
    if not isinstance(value, Iterable) or isinstance(value, str | bytes):
        raise ArgumentError(f"{parameter} is a list or the like, not {excerpt(value)}.", parameter=parameter)
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


def timestamp(parameter: str, value: object) -> str | None:
    """Check a time, or None, and spell it as the interface does: date and time, in UTC."""
    try:
        time = moment(parameter, value)
        return None if time is None else spell_time(time)
    except ValueError as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError(f"{parameter} cannot be sent: {error}.", parameter=parameter) from None


def given(**fields: Any) -> dict[str, Any]:
    """Collect the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}
