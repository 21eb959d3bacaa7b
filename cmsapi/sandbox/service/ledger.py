"""The ledger: every request that has arrived, with its outcome."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

import attrs

LAUNCHES = frozenset({"analyze_keyword", "analyze_prompt", "start_content_idea_search", "generate_content"})


@attrs.frozen
class Entry:
    """One request. An entry never contains a key, a body or a query.

    Args:
        at: Moment of arrival, in seconds of the sandbox's clock, which are the loop's.
        method: HTTP method.
        path: Path as sent, without the query.
        operation: Name of the operation; None if no route matched.
        key: Label of the API key: `admin`, `member`, `revoked`, `unknown` or `none`.
        status: Status of the answer; None if the connection was dropped.
        outcome: `ok`, the `error.code`, `dropped`, or the name of the spoiling of a good answer.
        target_id: The resource of the path, or the one that the request created.
        charged: Whether the request consumed a credit on arrival, even if the books show it later.
        effect: Whether the request changed anything.
        request_id: The `X-Request-Id` of its answer.
    """

    at: float
    method: str
    path: str
    operation: str | None
    key: str
    status: int | None
    outcome: str
    target_id: str | None = None
    charged: bool = False
    effect: bool = False
    request_id: str = attrs.field(kw_only=True)


class Ledger(Sequence[Entry]):
    """The entries in order of arrival."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Entry]: ...
    def __getitem__(self, index: int | slice) -> Entry | Sequence[Entry]:
        return self._entries[index]

    def __repr__(self) -> str:
        return f"<Ledger of {len(self._entries)} requests>"

    def append(self, entry: Entry) -> None:
        """Add an entry."""
        self._entries.append(entry)

    def amend_last(self, *, status: int | None, outcome: str) -> None:
        """Replace the status and outcome of the last request by those that its client gets."""
        self._entries[-1] = attrs.evolve(self._entries[-1], status=status, outcome=outcome)

    def clear(self) -> None:
        """Forget the entries, for a service that runs for long."""
        self._entries.clear()

    def filter(self, **fields: object) -> list[Entry]:
        """Return the entries whose fields equal the given values, for example `filter(status=429)`."""
        wanted = tuple(fields.items())
        return [entry for entry in self._entries if all(getattr(entry, name) == value for name, value in wanted)]

    def count(self, value: object = None, **fields: object) -> int:
        """Count the entries whose fields equal the given values, or that equal a whole entry."""
        return self._entries.count(value) if isinstance(value, Entry) else len(self.filter(**fields))

    def launches(self, target_id: str | None = None) -> list[Entry]:
        """Return the launches that took effect, of one target or of all."""
        return [
            entry
            for entry in self._entries
            if entry.effect and entry.operation in LAUNCHES and target_id in (None, entry.target_id)
        ]
