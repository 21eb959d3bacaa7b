"""Files of a state under names that other systems spell in their own way."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path, PureWindowsPath

import pytest

import cmsapi
from cmsapi.state.opening import file_of_url, open_state
from cmsapi.state.sqlite import SqliteState
from cmsapi.state.sqlitefile import SqliteFile


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///C:/Users/Ada/jobs.db", r"C:\Users\Ada\jobs.db"),
        ("sqlite:////C:/Users/Ada/jobs.db", r"C:\Users\Ada\jobs.db"),
        (r"sqlite:///C:\Users\Ada\jobs.db", r"C:\Users\Ada\jobs.db"),
        ("sqlite:///c%3A%5CUsers%5CAda%20L%5Cjobs.db", r"c:\Users\Ada L\jobs.db"),
        ("sqlite:///jobs.db", "jobs.db"),
        ("sqlite:///state/jobs.db", r"state\jobs.db"),
        (r"sqlite:///\\host\share\jobs.db", r"\\host\share\jobs.db"),
    ],
)
def test_paths_of_windows_are_understood(url: str, path: str) -> None:
    """A drive may follow three slashes or four, with slashes or backslashes."""
    assert PureWindowsPath(file_of_url(url, windows=True)) == PureWindowsPath(path)


@pytest.mark.parametrize("name", ["NUL", "con", "C:/state/AUX.db", "COM1.txt", "lpt9", "state/nul "])
def test_devices_of_windows_are_refused(name: str) -> None:
    """A name that Windows keeps for a device holds no state."""
    with pytest.raises(cmsapi.ConfigError, match="device"):
        file_of_url(f"sqlite:///{name}", windows=True)


@pytest.mark.parametrize("name", ["console.db", "nul/jobs.db", "auxiliary", "COM10"])
def test_names_like_those_of_devices_are_files(name: str) -> None:
    """Only the last part of a path counts, and only as a whole."""
    assert file_of_url(f"sqlite:///{name}", windows=True) == name


def test_a_drive_is_no_drive_elsewhere() -> None:
    """On other systems a colon is a part of a name, and the slash before it begins the path."""
    assert file_of_url("sqlite:////C:/jobs.db", windows=False) == "/C:/jobs.db"
    assert file_of_url("sqlite:///NUL", windows=False) == "NUL"


@pytest.mark.parametrize("name", ["a b.db", "100%.db", "half#.db", "Zürich.db", "a%20b.db"])
async def test_a_file_may_have_any_name(tmp_path: Path, name: str) -> None:
    """Signs that mean something in a URL are parts of the name."""
    state = SqliteState(tmp_path / name)
    assert await state.get_document("scope", "document") is None
    await state.aclose()
    assert (tmp_path / name).exists()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows lets no name have one")
async def test_a_name_may_have_a_question_mark(tmp_path: Path) -> None:
    """A question mark would begin the query of a URL."""
    state = SqliteState(tmp_path / "what?.db")
    assert await state.get_document("scope", "document") is None
    await state.aclose()
    assert (tmp_path / "what?.db").exists()


async def test_two_slashes_begin_a_path_too(tmp_path: Path) -> None:
    """POSIX lets a path begin with two slashes, after which SQLite would expect a host."""
    state = open_state(f"sqlite:////{tmp_path}/state.db")
    assert await state.get_document("scope", "document") is None
    await state.aclose()
    assert (tmp_path / "state.db").exists()


def test_a_flush_reaches_the_disk_on_macos(tmp_path: Path) -> None:
    """There a plain flush leaves what was written in the memory of the disk."""
    file = SqliteFile(tmp_path / "state.db")

    def settings(db: sqlite3.Connection) -> list[int]:
        return [db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("fullfsync", "checkpoint_fullfsync")]

    try:
        assert file.use(settings, asked_at=0.0) == [1, 1]
    finally:
        file.close()
