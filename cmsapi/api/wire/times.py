"""Times between their text in a document and `datetime`."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

# The midnight at the end of a day, which Python reads since 3.14 only.
_END_OF_DAY = re.compile(r"T24(?=:?00(?::?00(?:[.,]0+)?)?(?:[Z+-]|$))")


def read_time(text: str) -> datetime:
    """Return the datetime that an ISO 8601 text spells, naive where it has no offset.

    Raises:
        ValueError: The text spells no time.
    """
    # RFC 3339 writes T and Z in either case.
    text = text.upper()
    began = _END_OF_DAY.sub("T00", text) if "T24" in text else text
    time = datetime.fromisoformat(began)
    # `fromisoformat` takes any character between date and time.
    if "T" not in text and len(text) > len("2024-01-31"):
        raise ValueError("no T between date and time")
    try:
        return time if began == text else time + timedelta(days=1)
    except OverflowError as error:
        raise ValueError("later than the year 9999") from error


def spell_time(time: datetime) -> str:
    """Spell a time as the service does: date and time in UTC, in milliseconds unless it is more precise.

    Raises:
        ValueError: The time has no offset, or lies outside the years that Python knows in UTC.
    """
    if time.tzinfo is None:
        raise ValueError("a time needs an offset, for example datetime.now(UTC)")
    precision = "milliseconds" if time.microsecond % 1000 == 0 else "microseconds"
    try:
        return time.astimezone(UTC).replace(tzinfo=None).isoformat(timespec=precision) + "Z"
    except OverflowError as error:
        raise ValueError(f"{time} lies outside the years 1 to 9999 in UTC") from error
