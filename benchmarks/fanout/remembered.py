"""Outcomes remembered in a file, so that what does not change is not measured again while something is tuned."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias

import attrs

from benchmarks.fanout.work import Outcome, Work

Run: TypeAlias = tuple[Work, str, int]


class Remembered:
    """Keep outcomes by run, and in a file if there is one. An edit of this benchmark forgets them; one of the sandbox
    or the limiter does not.

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
            self._outcomes = {key: Outcome(**fields) for key, fields in stored.items()}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._path is not None:
            stored = {key: attrs.asdict(outcome) for key, outcome in self._outcomes.items()}
            self._path.write_text(json.dumps(stored), encoding="utf-8")

    def __contains__(self, run: Run) -> bool:
        return self._key(run) in self._outcomes

    def __getitem__(self, run: Run) -> Outcome:
        return self._outcomes[self._key(run)]

    def __setitem__(self, run: Run, outcome: Outcome) -> None:
        self._outcomes[self._key(run)] = outcome

    def _key(self, run: Run) -> str:
        return hashlib.sha256(f"{run!r} {self._edition}".encode()).hexdigest()
