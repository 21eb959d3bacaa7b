"""Assert how many requests were made; a failing assertion lists the requests."""

from __future__ import annotations

import difflib
import fnmatch
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from cmsapi.sandbox import Entry, Sandbox
    from cmsapi.testing.handler import HandlerTransport, RecordedRequest

AnyEntry: TypeAlias = "Entry | RecordedRequest"

# The largest number of requests, and of kinds of requests, that a message lists.
_MAX_LISTED = 10


def assert_requests(
    seen: Sandbox | HandlerTransport | Iterable[AnyEntry],
    match: str = "* *",
    *,
    times: int | None = None,
    at_least: int | None = None,
    at_most: int | None = None,
    **fields: Any,
) -> None:
    """Assert how many matching requests were made; at least one by default.

    Args:
        seen: A `Sandbox`, a `HandlerTransport`, or entries of their ledgers.
        match: Method and path with wildcards as for `Fault`, for example `POST /v1/keywords/*/analyze`. A `*` also
            matches several parts of a path.
        times: The exact number.
        at_least: The smallest number.
        at_most: The largest number.
        fields: Values that the entries must have, for example `status=429` or `charged=True`.

    Raises:
        AssertionError: There were more or fewer; the message lists the requests.
        TypeError: The entries have no such field.
        ValueError: `times` is combined with another bound.
    """
    __tracebackhide__ = True
    if times is not None and (at_least is not None or at_most is not None):
        raise ValueError("`times` cannot be combined with `at_least` or `at_most`")
    entries = list(seen if isinstance(seen, Iterable) else seen.ledger)
    for name in fields:
        if entries and not hasattr(entries[0], name):
            raise TypeError(f"a {type(entries[0]).__name__} has no field {name!r}")
    on_path = [entry for entry in entries if fnmatch.fnmatchcase(f"{entry.method} {entry.path}", match)]
    found = [entry for entry in on_path if all(getattr(entry, name) == value for name, value in fields.items())]
    if times is not None:
        at_least = at_most = times
    elif at_least is None:
        at_least = int(at_most is None)
    if len(found) < at_least or (at_most is not None and len(found) > at_most):
        kind = " ".join([match, *(f"{name}={value!r}" for name, value in fields.items())])
        lines = [f"expected {_expected(at_least, at_most)} of {kind}, saw {len(found) or 'none'}"]
        lines += _list("These:", [_line(entry, entries[0].at) for entry in found])
        lines += _differences(on_path, fields) if not found else []
        patterns = _patterns(entries)
        lines += _list(f"All {len(entries)} requests:", _kinds(entries, patterns)) or ["No request was made."]
        if not on_path and (close := difflib.get_close_matches(match, set(patterns), n=1)):
            lines.append(f"Was {close[0]} meant?")
        raise AssertionError("\n".join(lines))


def _expected(least: int, most: int | None) -> str:
    if most is None:
        return f"at least {least}"
    if least == most:
        return str(least) if least else "none"
    return f"{least} to {most}" if least else f"at most {most}"


def _differences(on_path: list[AnyEntry], fields: dict[str, Any]) -> list[str]:
    """Return the values of the fields in which requests on the right path differ."""
    lines = []
    for name, value in fields.items():
        others = Counter(repr(getattr(entry, name)) for entry in on_path if getattr(entry, name) != value)
        if others:
            counts = ", ".join(f"{other} in {count}" for other, count in others.most_common())
            lines.append(f"Of the {len(on_path)} on that path {name} is {counts}.")
    return lines


def _patterns(entries: list[AnyEntry]) -> list[str]:
    """Return the requests as patterns, with a wildcard for each target."""
    targets = {getattr(entry, "target_id", None) for entry in entries}
    paths = ("/".join("*" if part in targets else part for part in entry.path.split("/")) for entry in entries)
    return [f"{entry.method} {path}" for entry, path in zip(entries, paths, strict=True)]


def _kinds(entries: list[AnyEntry], patterns: list[str]) -> list[str]:
    kinds = Counter(zip(patterns, (entry.status for entry in entries), strict=True))
    return [f"{count:5} x {pattern}  {_status(status)}" for (pattern, status), count in kinds.most_common()]


def _line(entry: AnyEntry, began: float) -> str:
    return f"  {entry.at - began:8.2f} s  {entry.method} {entry.path}  {_status(entry.status)}"


def _status(status: int | None) -> str:
    return "no answer" if status is None else str(status)


def _list(title: str, lines: list[str]) -> list[str]:
    if not lines:
        return []
    more = [f"  and {len(lines) - _MAX_LISTED} more"] if len(lines) > _MAX_LISTED else []
    return [title, *lines[:_MAX_LISTED], *more]
