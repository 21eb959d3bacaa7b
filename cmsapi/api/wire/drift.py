"""Where the service differs from what the specification shows, counted while answers are read.

A null that the specification does not announce, an unknown key or a new word must not break a reader. Each is counted
here, and `client.statistics.drift` shows that the interface has changed.
"""

from __future__ import annotations

import enum
import reprlib

import attrs

_LONGEST = 100


class DriftKind(enum.StrEnum):
    """List the differences that a reader tolerates."""

    NULL = "null where none is shown"
    ABSENT = "absent where the specification shows it"
    UNKNOWN_KEY = "key that is not listed"
    UNKNOWN_WORD = "word that is not listed"
    MISFIT = "value of another type than was guessed"
    STATUS = "success code that is not documented"
    NAIVE_TIME = "time without offset, read as UTC"


@attrs.frozen
class Deviation:
    """Describe one difference and how often it was met.

    Args:
        kind: Kind of difference.
        where: Class and wire name, for example `Content.title`.
        count: How often it was met.
        example: The first unknown word or naive time, at most 100 characters; empty for the other kinds.
    """

    kind: DriftKind
    where: str
    count: int
    example: str = ""


class Drift:
    """Count differences in bounded memory.

    Args:
        capacity: Number of different deviations that are told apart; the others only add to `uncounted`.
    """

    def __init__(self, *, capacity: int = 1000) -> None:
        self._capacity = capacity
        self._counts: dict[tuple[DriftKind, str], int] = {}
        self._examples: dict[tuple[DriftKind, str], str] = {}
        self.uncounted: int = 0

    def note(self, kind: DriftKind, where: str, example: str = "") -> None:
        """Count one difference."""
        # A name that came over the wire has no length limit.
        key = kind, where[:_LONGEST]
        if key in self._counts:
            self._counts[key] += 1
        elif len(self._counts) < self._capacity:
            self._counts[key] = 1
            self._examples[key] = example[:_LONGEST]
        else:
            self.uncounted += 1

    def count(self, kind: DriftKind, where: str) -> int:
        """Return how often a difference was met."""
        return self._counts.get((kind, where), 0)

    def deviations(self) -> tuple[Deviation, ...]:
        """Return a snapshot, the most frequent first."""
        found = [Deviation(*key, count, self._examples[key]) for key, count in self._counts.items()]
        return tuple(sorted(found, key=lambda deviation: -deviation.count))

    def __len__(self) -> int:
        return len(self._counts)

    def __repr__(self) -> str:
        return f"Drift({reprlib.repr([(d.kind.name, d.where, d.count) for d in self.deviations()])})"
