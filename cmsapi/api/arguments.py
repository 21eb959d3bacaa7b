"""Refuse bad arguments before anything is sent, naming the parameter."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Any, TypeVar

from cmsapi.api.wire.mismatch import excerpt
from cmsapi.api.wire.shape import wire_name
from cmsapi.api.wire.times import read_time, spell_time
from cmsapi.errors import ArgumentError

T = TypeVar("T")

_LARGEST = 2**63 - 1


def wrong(parameter: str, must: str, got: object, hint: str = "") -> ArgumentError:
    """Return the error for an argument: what must be true of it, what was given, and what helps."""
    return ArgumentError(f"`{parameter}` must {must}, got {got}.{hint} Nothing was sent.", parameter=parameter)


def text(parameter: str, value: object, at_least: int = 1, at_most: int | None = None) -> str:
    """Check a string and its length in characters."""
    if not isinstance(value, str):
        hint = f" Pass its id: {type(value).__name__.lower()}.id." if hasattr(value, "id") else ""
        raise wrong(parameter, "be a string", type(value).__name__, hint)
    if len(value) < at_least or (at_most is not None and len(value) > at_most):
        must = "not be empty" if at_most is None else f"have {at_least} to {at_most} characters"
        raise wrong(parameter, must, excerpt(value) if at_most is None else len(value))
    try:
        value.encode()
    except UnicodeEncodeError:
        raise wrong(parameter, "be Unicode text", "half a surrogate pair") from None
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
        raise wrong(parameter, "be a whole number", type(value).__name__)
    if value < least and most is None:
        raise wrong(parameter, f"be at least {least}", excerpt(value))
    if not least <= value <= (most or _LARGEST):
        raise wrong(parameter, f"be between {least} and {most or _LARGEST}", excerpt(value))
    return value


def seconds(parameter: str, value: object) -> float:
    """Check a finite number of seconds."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) <= sys.float_info.max:
        raise wrong(parameter, "be a finite number of seconds", excerpt(value))
    return float(value)


def optional_seconds(parameter: str, value: object) -> float | None:
    """Check a finite number of seconds, or None."""
    return None if value is None else seconds(parameter, value)


def function(parameter: str, value: object, example: str = "") -> None:
    """Check something that will be called; the error shows the example, and why a coroutine is none."""
    if not callable(value):
        hint = f" Pass {example}." if example else ""
        if inspect.iscoroutine(value):
            # It never runs, and Python would complain about it in the middle of nowhere.
            value.close()
            hint = f" A call was given: pass the function itself, without parentheses.{hint}"
        raise wrong(parameter, "be a function", excerpt(value), hint)


def one_of(parameter: str, value: object, words: Iterable[str]) -> None:
    """Check for one of several words."""
    valid = [str(word) for word in words]
    if not isinstance(value, str) or value not in valid:
        raise wrong(parameter, f"be one of {', '.join(map(repr, valid))}", excerpt(value))


def is_one(value: object) -> bool:
    """Tell whether a value is one text or one table, whose characters or columns are not meant as items."""
    return isinstance(value, str | bytes) or hasattr(value, "columns")


def several(parameter: str, value: Iterable[T]) -> Iterable[T]:
    """Check for a list or another iterable; a single text and a whole table are refused."""
    if not isinstance(value, Iterable) or is_one(value):
        table = hasattr(value, "columns")
        got, hint = (type(value).__name__, " Pass one column, such as frame['id'].") if table else (excerpt(value), "")
        raise wrong(parameter, "be a list or another iterable", got, hint)
    return value


def in_order(parameter: str, lower: Any, upper: Any) -> None:
    """Check that the lower one of two bounds does not exceed the upper one; None is no bound."""
    if lower is not None and upper is not None and lower > upper:
        raise wrong(parameter, f"not exceed the upper bound {upper}", lower)


def known(given: Iterable[object], names: Iterable[str]) -> None:
    """Check names of fields; the error for an unknown one tells the nearest name."""
    valid = list(names)
    for name in given:
        if name not in valid:
            # Only an error needs it.
            from difflib import get_close_matches

            near = "".join(f" Did you mean {match!r}?" for match in get_close_matches(str(name), valid, 1, 0.5))
            raise ArgumentError(
                f"There is no field {excerpt(name)}.{near} The fields are {', '.join(valid)}. Nothing was sent.",
                parameter=str(name),
            )


def moment(parameter: str, value: object) -> datetime | None:
    """Check a time, or None: an aware datetime, a date, which means its first moment in UTC, or either as ISO 8601.

    A datetime without an offset is refused: it would mean another moment elsewhere.
    """
    if value is None:
        return None
    if isinstance(value, str):
        value = _spelled(parameter, value)
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    # Missing times of pandas are datetimes without a time.
    if not isinstance(value, datetime) or not isinstance(value.utcoffset(), timedelta):
        hint = ""
        if isinstance(value, datetime) and value.tzinfo is None:
            hint = " It has no offset and would mean another moment elsewhere: add tzinfo=UTC, or use .astimezone()."
        raise wrong(parameter, "be a date or an aware datetime", excerpt(value), hint)
    return value


def _spelled(parameter: str, text: str) -> date:
    try:
        time = read_time(text)
    except ValueError:
        raise wrong(
            parameter, "be a date, an aware datetime or a text in ISO 8601 such as '2026-01-31T12:00Z'", excerpt(text)
        ) from None
    return time if "t" in text.lower() else time.date()


def timestamp(parameter: str, value: object) -> str | None:
    """Check a time, or None, and spell it as the interface does: date and time, in UTC."""
    time = moment(parameter, value)
    try:
        return None if time is None else spell_time(time)
    except ValueError:
        raise wrong(parameter, "lie in the years 1 to 9999 in UTC", time) from None
