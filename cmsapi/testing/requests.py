"""Say which requests were made, and when that is wrong, which were."""

from __future__ import annotations

import difflib
import fnmatch
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

# So many of the matching requests, and so many kinds of requests, are listed.
_LISTED = 10


class Seen(Protocol):
    """Be a request that was seen: an entry of a sandbox's ledger, or what a `HandlerTransport` was asked."""

    @property
    def at(self) -> float:
        """When, in seconds."""
        ...

    @property
    def method(self) -> str:
        """HTTP method."""
        ...

    @property
    def path(self) -> str:
        """Path as sent, without the query."""
        ...

    @property
    def status(self) -> int | None:
        """Status of the answer, or None when there was none."""
        ...


class Ledgered(Protocol):
    """Keep what was seen: a `Sandbox` or a `HandlerTransport`."""

    @property
    def ledger(self) -> Sequence[Seen]:
        """Every request seen, in order."""
        ...


def assert_requests(
    seen: Ledgered | Iterable[Seen],
    match: str = "* *",
    *,
    times: int | None = None,
    at_least: int | None = None,
    at_most: int | None = None,
    **fields: Any,
) -> None:
    """Assert how many requests of a kind were made; at least one when nothing else is said.

    Args:
        seen: A `Sandbox`, a `HandlerTransport`, or some entries of their ledgers.
        match: Method and path with wildcards as for `Fault`, for example `POST /v1/keywords/*/analyze`. A `*` also
            stands for several parts of a path.
        times: How many there must be.
        at_least: How many there must be at least.
        at_most: How many there may be at the most.
        fields: What must be equal in the entries, for example `status=429` or `charged=True`.

    Raises:
        AssertionError: There were more or fewer; the message lists what was seen.
        TypeError: Entries have no such field.
        ValueError: `times` comes with one of the other bounds.
    """
    __tracebackhide__ = True
    if times is not None and (at_least is not None or at_most is not None):
        raise ValueError("give times, or at_least and at_most")
    entries = list(seen if isinstance(seen, Iterable) else seen.ledger)
    for name in fields:
        if entries and not hasattr(entries[0], name):
            raise TypeError(f"a {type(entries[0]).__name__} has no field {name!r}")
    alike = [entry for entry in entries if fnmatch.fnmatchcase(f"{entry.method} {entry.path}", match)]
    found = [entry for entry in alike if all(getattr(entry, name) == value for name, value in fields.items())]
    if times is not None:
        least, most = times, times
    else:
        least = at_least if at_least is not None else int(at_most is None)
        most = at_most if at_most is not None else len(found)
    if not least <= len(found) <= most:
        wanted = _number(least, most if times is not None or at_most is not None else None)
        kind = " ".join([match, *(f"{name}={value!r}" for name, value in fields.items())])
        lines = [f"expected {wanted} of {kind}, saw {len(found) or 'none'}"]
        lines += _list("These:", [_line(entry, entries[0].at) for entry in found])
        lines += _misses(alike, fields) if not found else []
        names = _names(entries)
        lines += _list(f"All {len(entries)} requests:", _kinds(entries, names)) or ["No request was made."]
        if not alike and (near := difflib.get_close_matches(match, set(names), n=1)):
            lines.append(f"Was {near[0]} meant?")
        raise AssertionError("\n".join(lines))


def _number(least: int, most: int | None) -> str:
    if most is None:
        return f"at least {least}"
    if least == most:
        return str(least) if least else "none"
    return f"{least} to {most}" if least else f"at most {most}"


def _misses(alike: list[Seen], fields: dict[str, Any]) -> list[str]:
    """Say in which field requests of the right kind differ."""
    lines = []
    for name, value in fields.items():
        others = Counter(repr(getattr(entry, name)) for entry in alike if getattr(entry, name) != value)
        if others:
            told = ", ".join(f"{other} in {count}" for other, count in others.most_common())
            lines.append(f"Of the {len(alike)} on that path {name} is {told}.")
    return lines


def _names(entries: list[Seen]) -> list[str]:
    """Return the requests as patterns: what they acted on is left open."""
    targets = {getattr(entry, "target_id", None) for entry in entries}
    paths = ("/".join("*" if part in targets else part for part in entry.path.split("/")) for entry in entries)
    return [f"{entry.method} {path}" for entry, path in zip(entries, paths, strict=True)]


def _kinds(entries: list[Seen], names: list[str]) -> list[str]:
    kinds = Counter(zip(names, (entry.status for entry in entries), strict=True))
    return [f"{count:5} x {name}  {_word(status)}" for (name, status), count in kinds.most_common()]


def _line(entry: Seen, began: float) -> str:
    return f"  {entry.at - began:8.2f} s  {entry.method} {entry.path}  {_word(entry.status)}"


def _word(status: int | None) -> str:
    return "no answer" if status is None else str(status)


def _list(title: str, lines: list[str]) -> list[str]:
    if not lines:
        return []
    more = [f"  and {len(lines) - _LISTED} more"] if len(lines) > _LISTED else []
    return [title, *lines[:_LISTED], *more]
