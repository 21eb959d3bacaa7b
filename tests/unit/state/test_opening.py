"""URLs of states."""

from __future__ import annotations

from pathlib import Path

import pytest

from cmsapi.errors import ConfigError
from cmsapi.state.memory import MemoryState
from cmsapi.state.opening import open_state
from cmsapi.state.sqlite import SqliteState


def test_each_url_names_its_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three slashes lead to a file of the working directory, four to an absolute one."""
    monkeypatch.chdir(tmp_path)
    assert isinstance(open_state("memory:"), MemoryState)
    for url, path in (
        ("sqlite:///jobs.db", tmp_path / "jobs.db"),
        ("sqlite:////var/lib/jobs.db", Path("/var/lib/jobs.db").absolute()),
        ("sqlite:///with%20space.db", tmp_path / "with space.db"),
    ):
        state = open_state(url)
        assert isinstance(state, SqliteState)
        assert state.path == path


@pytest.mark.parametrize(
    "url",
    [
        "",
        "memory",
        "sqlite://jobs.db",
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite:///a/",
        "sqlite:///a?mode=ro",
        None,
        "mysql://:hunter2@host/db",
        "sqlite:jobs.db",
        "http://[x",
    ],
)
def test_what_names_no_state(url: object) -> None:
    """Anything else is refused with the forms that exist, and not repeated."""
    with pytest.raises(ConfigError, match="state is 'memory:'") as caught:
        open_state(url)  # type: ignore[arg-type]
    assert "hunter2" not in str(caught.value)
