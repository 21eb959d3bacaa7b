"""Outcomes remembered in a file, so that what does not change is not measured again while something is tuned."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from types import TracebackType
from typing import Self

import attrs

from benchmarks.fanout.work import Outcome, Work


class Remembered:
    """Keep outcomes in a file, if there is one. They are forgotten when this benchmark is edited.

    Args:
        path: The file, or None.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._outcomes: dict[str, Outcome] = {}
        sources = sorted(Path(__file__).parent.glob("*.py"))
        self._edition = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()

    def __enter__(self) -> Self:
        if self._path is not None and self._path.exists():
            stored = json.loads(self._path.read_text(encoding="utf-8"))
            if stored["edition"] == self._edition:
                self._outcomes = {key: Outcome(**fields) for key, fields in stored["outcomes"].items()}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._path is not None:
            outcomes = {key: attrs.asdict(outcome) for key, outcome in self._outcomes.items()}
            self._path.write_text(json.dumps({"edition": self._edition, "outcomes": outcomes}), encoding="utf-8")

    def get(self, work: Work, strategy: str, seed: int) -> Outcome | None:
        """Return the outcome of a run, or None when it is not known."""
        return self._outcomes.get(_key(work, strategy, seed))

    def put(self, work: Work, strategy: str, seed: int, outcome: Outcome) -> None:
        """Remember the outcome of a run."""
        self._outcomes[_key(work, strategy, seed)] = outcome


def _key(work: Work, strategy: str, seed: int) -> str:
    return f"{work.name} {hashlib.sha256(repr(work).encode()).hexdigest()} {strategy} {seed}"
