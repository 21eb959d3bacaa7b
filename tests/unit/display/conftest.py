"""IPython without a history: the processes of one test run would share a file of the home directory."""

from __future__ import annotations

from pathlib import Path

import pytest
from traitlets.config import Config


@pytest.fixture(autouse=True)
def its_own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let IPython write into a directory of the test."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))


@pytest.fixture
def no_history() -> Config:
    """The settings of a shell that keeps no history, and so needs neither a file nor a thread."""
    return Config({"HistoryManager": {"enabled": False}})
