"""Where the service differs from what the specification shows, counted while answers are read.

A null that the specification does not announce, an unknown key or a new word must not break a reader. Each is counted
here, and `client.statistics.drift` shows that the interface has changed.
"""

from __future__ import annotations

import enum
from collections import Counter

import attrs

_LONGEST = 100
# Different deviations that are counted; names that never repeat do not fill the memory.
_MOST = 1000


class DriftKind(enum.StrEnum):
    """List the differences that a reader tolerates."""

    NULL = "null where none is shown"
    ABSENT = "absent where the specification shows it"
    UNKNOWN_KEY = "key that is not listed"
    UNKNOWN_WORD = "word that is not listed"
    MISFIT = "value of another type than is expected"
    STATUS = "success code that is not documented"
    NAIVE_TIME = "time without offset, read as UTC"


@attrs.frozen
class Deviation:
    """Describe one difference and how often it was met.

    Args:
        kind: Kind of difference.
        where: Class and wire name, for example `Content.title`.
        count: How often it was met.
        example: The unknown word, each of which is counted by itself, or the first naive time; at most 100 characters,
            and empty for the other kinds.
    """

    kind: DriftKind
    where: str
    count: int
    example: str = ""


class Drift:
    """Count differences in bounded memory."""

    def __init__(self) -> None:
        # With the word, where that is what differs.
        self._counts: Counter[tuple[DriftKind, str, str]] = Counter()
        self._examples: dict[tuple[DriftKind, str, str], str] = {}

    def note(self, kind: DriftKind, where: str, example: str = "") -> None:
        """Count one difference."""
        # A name that came over the wire has no length limit.
        key = kind, where[:_LONGEST], example[:_LONGEST] if kind is DriftKind.UNKNOWN_WORD else ""
        if key in self._counts or len(self._counts) < _MOST:
            self._counts[key] += 1
            self._examples.setdefault(key, example[:_LONGEST])

    def deviations(self) -> tuple[Deviation, ...]:
        """Return a snapshot, the most frequent first."""
        return tuple(Deviation(*key[:2], count, self._examples[key]) for key, count in self._counts.most_common())
