"""Read durations and moments: 30d, 12h, 90m, a date, or a time with an offset."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, time, timedelta

from cmsapi.errors import ArgumentError

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_PARTS = re.compile(r"(?:\d+(?:\.\d+)?[smhdw])+")
_PART = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")
_EXAMPLES = "a duration such as 30d, 12h or 90m (units s, m, h, d, w)"


def duration(text: str) -> timedelta | None:
    """Read a duration such as 30d, 12h or 1d12h; return None if the text is no duration.

    Raises:
        OverflowError: It is longer than all of the calendar.
    """
    word = text.strip().lower()
    if not _PARTS.fullmatch(word):
        return None
    return timedelta(seconds=sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(word)))


def read_past(name: str, text: str) -> datetime:
    """Read a moment in the past; a duration counts back from now, and a date means its first moment in UTC.

    Args:
        name: The option, for the message.
        text: What was typed.

    Raises:
        ArgumentError: The text is neither a duration nor a moment, or lies in the future.
    """
    moment = _read(name, text, -1)
    if not isinstance(moment, datetime):
        moment = datetime.combine(moment, time.min, UTC)
    if moment > datetime.now(UTC):
        raise ArgumentError(f"`{name}` must lie in the past, got {text}. Nothing was sent.", parameter=name)
    return moment


def read_due(name: str, text: str) -> date:
    """Read a date or a moment; a duration counts from now on.

    Args:
        name: The option, for the message.
        text: What was typed.

    Raises:
        ArgumentError: The text is neither a duration nor a moment.
    """
    moment = _read(name, text, 1)
    return moment.replace(microsecond=0) if isinstance(moment, datetime) else moment


def read_seconds(name: str, text: str) -> float:
    """Read a number of seconds, or a duration with units.

    Args:
        name: The option, for the message.
        text: What was typed.

    Raises:
        ArgumentError: The text is neither, or not above 0.
    """
    try:
        span = duration(text)
        seconds = float(text) if span is None else span.total_seconds()
    except (ValueError, OverflowError):
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise ArgumentError(
            f"`{name}` must be a number of seconds above 0, or {_EXAMPLES}, got {text!r}. Nothing was started.",
            parameter=name,
        )
    return seconds


def _read(name: str, text: str, direction: int) -> date:
    """Read a date, or a time with its offset; a duration counts from now in a direction."""
    try:
        if (span := duration(text)) is not None:
            return datetime.now(UTC) + direction * span
        if len(text) == len("2026-01-31"):
            return date.fromisoformat(text)
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        moment = None
    if moment is None or moment.tzinfo is None:
        unit = f" A number needs a unit: {text}d or {text}h." if text.strip().isdecimal() else ""
        raise ArgumentError(
            f"`{name}` must be {_EXAMPLES}, a date such as 2026-01-31, or a time with an offset such as "
            f"2026-01-31T12:00Z, got {text!r}.{unit} Nothing was sent.",
            parameter=name,
        )
    return moment
