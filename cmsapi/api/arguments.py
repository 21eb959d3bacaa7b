"""Refuse bad arguments before anything is sent, naming the parameter."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import UTC, date, datetime
from typing import TypeVar

from cmsapi.api.wire.mismatch import excerpt
from cmsapi.api.wire.shape import wire_name
from cmsapi.api.wire.times import read_time, spell_time
from cmsapi.errors import ArgumentError

T = TypeVar("T")

_LARGEST = 2**63 - 1


def text(parameter: str, value: object, at_least: int = 1, at_most: int | None = None) -> str:
    """Check a string and its length in characters."""
    if not isinstance(value, str):
        hint = f" Pass its id: {type(value).__name__.lower()}.id." if hasattr(value, "id") else ""
        raise _wrong(parameter, "be a string", type(value).__name__, hint)
    if len(value) < at_least or (at_most is not None and len(value) > at_most):
        bounds = f"at least {at_least}" if at_most is None else f"{at_least} to {at_most}"
        raise _wrong(parameter, f"have {bounds} characters", len(value))
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ArgumentError(f"{parameter} holds half a surrogate pair.", parameter=parameter) from None
    return value


def optional_text(parameter: str, value: object) -> str | None:
    """Check a string of any length, or None."""
    return None if value is None else text(parameter, value, at_least=0)


def texts(**values: object) -> dict[str, str]:
    """Check strings of any length, and return by wire name those that are not None."""
    return {wire_name(name): text(name, value, at_least=0) for name, value in values.items() if value is not None}


def within(parameter: str, value: object, least: int, most: int | None = None) -> int:
    """Check a whole number; without an upper bound, it must fit into 64 bits."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise _wrong(parameter, "be a whole number", type(value).__name__)
    if value < least and most is None:
        raise _wrong(parameter, f"be at least {least}", excerpt(value))
    if not least <= value <= (most or _LARGEST):
        raise _wrong(parameter, f"be between {least} and {most or _LARGEST}", excerpt(value))
    return value


def seconds(parameter: str, value: object) -> float:
    """Check a finite number of seconds."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) <= sys.float_info.max:
        raise _wrong(parameter, "be a finite number of seconds", excerpt(value))
    return float(value)


def function(parameter: str, value: object) -> None:
    """Check something that will be called."""
    if not callable(value):
        raise _wrong(parameter, "be a function", excerpt(value))


def several(parameter: str, value: Iterable[T]) -> Iterable[T]:
    """Check for a list or another iterable; a single string is refused, because its characters are not meant."""
    if not isinstance(value, Iterable) or isinstance(value, str | bytes):
        raise _wrong(parameter, "be a list or another iterable", excerpt(value))
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
        must = "be an aware datetime, a date, or an ISO 8601 string with an offset such as '2026-01-31T12:00:00Z'"
        raise _wrong(parameter, must, excerpt(value))
    return time


def _wrong(parameter: str, must: str, got: object, hint: str = "") -> ArgumentError:
    return ArgumentError(f"{parameter} must {must}, got {got}.{hint}", parameter=parameter)


def _read(text: str) -> date | None:
    for read in (date.fromisoformat, read_time):
        try:
            return read(text)
        except ValueError:
            continue
    return None


def timestamp(parameter: str, value: object) -> str | None:
    """Check a time, or None, and spell it as the interface does: date and time, in UTC."""
    time = moment(parameter, value)
    try:
        return None if time is None else spell_time(time)
    except ValueError as error:
        raise ArgumentError(f"{parameter} cannot be sent: {error}.", parameter=parameter) from None
