"""Checks of arguments before anything is sent, and conversion to the form that the service reads.

The functions refuse an invalid argument with an `ArgumentError` that names the parameter.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, Final
from urllib.parse import quote, urlencode

from cmsapi.errors import ArgumentError

MAX_LIMIT = 100
"""Maximum number of items per page (specification 8)."""


class Unset(Enum):
    """Type of `UNSET`."""

    UNSET = "UNSET"


UNSET: Final = Unset.UNSET
"""Default of optional arguments that may also be None, which has a meaning of its own."""


def identifier(parameter: str, value: object) -> str:
    """Return ``value`` percent-encoded for a path; refuse non-text, blank or unprintable text, ``.`` and ``..``."""
    if not isinstance(value, str):
        hint = "; pass its id" if hasattr(value, "id") else ""
        raise ArgumentError(parameter, f"must be an identifier (str), got {type(value).__name__}{hint}")
    if value.isascii() and (value.isidentifier() or value.isalnum()):
        return value
    if not value.strip() or value in (".", "..") or not value.isprintable():
        raise ArgumentError(parameter, f"must be an identifier, got {value!r}")
    return quote(value, safe="")


def check_text(parameter: str, value: object, minimum: int = 1, maximum: float = math.inf) -> str:
    """Return ``value`` if it is text of ``minimum`` to ``maximum`` characters; refuse anything else."""
    if not isinstance(value, str):
        raise ArgumentError(parameter, f"must be text (str), got {type(value).__name__}")
    if not minimum <= len(value) <= maximum:
        most = f" and at most {maximum}" if maximum < math.inf else ""
        raise ArgumentError(parameter, f"must have at least {minimum}{most} characters, got {len(value)}")
    return value


def check_word(parameter: str, value: str, words: Iterable[str]) -> str:
    """Return ``value`` as text if it is one of ``words``; refuse any other value."""
    listed = [str(word) for word in words]
    if value not in listed:
        raise ArgumentError(parameter, f"must be one of {', '.join(listed)}, got {value!r}")
    return str(value)


def check_number(parameter: str, value: object, minimum: int, maximum: float = math.inf) -> int:
    """Return ``value`` if it is a whole number from ``minimum`` to ``maximum``; refuse anything else."""
    if not isinstance(value, int) or isinstance(value, bool) or not minimum <= value <= maximum:
        most = f"to {maximum}" if maximum < math.inf else "on"
        raise ArgumentError(parameter, f"must be a whole number from {minimum} {most}, got {value!r}")
    return value


def check_seconds(parameter: str, value: float | timedelta | None, *, above: bool = False) -> float:
    """Return a time limit in seconds, infinity for None; refuse negative values and, if ``above``, also 0."""
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if seconds is not None and not (isinstance(seconds, int | float) and (seconds > 0 if above else seconds >= 0)):
        least = "above 0" if above else "from 0 on"
        raise ArgumentError(parameter, f"must be a number of seconds {least}, or a timedelta, got {value!r}")
    return math.inf if seconds is None else seconds


def timestamp(value: datetime) -> str:
    """Return a time as ISO 8601 in UTC (specification 1, convention 6); a time without a zone is taken as UTC."""
    aware = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return aware.isoformat().replace("+00:00", "Z")


def query(params: Mapping[str, Any] | None) -> str:
    """Return the query string with its ``?``; leave out None values, and write lists as ``name[]=a&name[]=b``."""
    pairs: list[tuple[str, str]] = []
    for name, value in (params or {}).items():
        if isinstance(value, list | tuple | set | frozenset):
            pairs += [(f"{name}[]", _plain(name, each)) for each in value]
        elif value is not None:
            pairs.append((name, _plain(name, value)))
    try:
        return "?" + urlencode(pairs, quote_via=quote) if pairs else ""
    except UnicodeEncodeError:
        raise ArgumentError("params", "have characters that cannot be sent") from None


def _plain(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return timestamp(value)
    if isinstance(value, str | int | float):
        return str(value)
    raise ArgumentError(name, f"must be text, a number, a time or a list of these, got {type(value).__name__}")
