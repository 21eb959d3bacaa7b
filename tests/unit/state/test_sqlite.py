"""The file: who may read it, what it refuses, and what is left alone."""

from __future__ import annotations

import asyncio
import os
import socket
import sqlite3
import stat
import sys
from pathlib import Path

import pytest

from cmsapi.errors import StateError
from cmsapi.state import sqlitefile
from cmsapi.state.entry import Entry, Lease
from cmsapi.state.sqlite import SqliteState

SCOPE = "scope"
ENTRY = Entry(kind="generation", target="cnt_1", asked_at=1.0)


async def used(path: Path) -> None:
    """Make a state and write something."""
    state = SqliteState(path)
    await state.begin(Lease(SCOPE, "key"), ENTRY)
    await state.aclose()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes; a file belongs to whom its directory does")
async def test_only_the_owner_reads_it(tmp_path: Path) -> None:
    """The file and what lies beside it while it is open have mode 0600."""
    path = tmp_path / "state.db"
    state = SqliteState(path)
    await state.begin(Lease(SCOPE, "key"), ENTRY)
    files = list(tmp_path.iterdir())
    assert len(files) == 3
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    await state.aclose()


async def test_nothing_is_made_before_it_is_used(tmp_path: Path) -> None:
    """A state that was not used leaves no file, and can be closed; then it says that it is closed."""
    state = SqliteState(tmp_path / "state.db")
    await state.aclose()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StateError, match="is closed"):
        await state.entries(SCOPE)


async def refused(path: Path, match: str) -> None:
    """Expect that a file is refused and left as it is."""
    before = path.read_bytes()
    with pytest.raises(StateError, match=match):
        await used(path)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == [path.name]


async def test_another_version_is_left_alone(tmp_path: Path) -> None:
    """A file of another version gets a clear error, and not a byte of it changes."""
    path = tmp_path / "state.db"
    await used(path)
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {sqlitefile.VERSION + 1}")
        db.execute("PRAGMA journal_mode = DELETE")
    db.close()
    await refused(path, r"made by another version .*\(its schema is 2, this one's is 1\)")


async def test_another_programs_file_is_left_alone(tmp_path: Path) -> None:
    """A database of another program, or what is no database, gets a clear error and is not touched."""
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE things (name TEXT)")
    db.close()
    await refused(path, "another program")
    path.write_bytes(b"A letter to my aunt. " * 100)
    await refused(path, "file is not a database")


async def test_where_no_file_can_be(tmp_path: Path) -> None:
    """A directory that does not exist is named, with what to do."""
    with pytest.raises(StateError, match=r"No such file or directory.*See that the file"):
        await used(tmp_path / "missing" / "state.db")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither pipes nor sockets among its files")
@pytest.mark.parametrize("kind", ["pipe", "directory", "socket"])
async def test_what_is_no_file_is_refused(tmp_path: Path, kind: str) -> None:
    """A pipe, a directory or a socket in the place of the file is named at once; nothing waits for its other end."""
    path = tmp_path / "state.db"
    with socket.socket(socket.AF_UNIX) as listening:
        match kind:
            case "pipe":
                os.mkfifo(path)
            case "directory":
                path.mkdir()
            case _:
                listening.bind(str(path))
        async with asyncio.timeout(5):
            with pytest.raises(StateError, match=rf"state\.db is not a file but a {kind}.*nothing was sent or charged"):
                await used(path)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


async def test_a_file_that_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that another program holds for too long gives an error; when it is free again, all goes on."""
    monkeypatch.setattr(sqlitefile, "TIMEOUT", 0.1)
    path = tmp_path / "state.db"
    await used(path)
    state = SqliteState(path)
    await state.entries(SCOPE)
    holder = await asyncio.to_thread(sqlite3.connect, path, isolation_level=None, check_same_thread=False)
    await asyncio.to_thread(holder.execute, "BEGIN IMMEDIATE")
    with pytest.raises(StateError, match="database is locked"):
        await state.begin(Lease(SCOPE, "another"), ENTRY)
    await asyncio.to_thread(holder.execute, "ROLLBACK")
    await asyncio.to_thread(holder.close)
    assert await state.begin(Lease(SCOPE, "another"), ENTRY) is None
    await state.aclose()


async def test_many_that_make_the_file_at_once(tmp_path: Path) -> None:
    """Eight that open a file that is not there yet lay it out once."""
    states = [SqliteState(tmp_path / "state.db") for _ in range(8)]
    begun = await asyncio.gather(*(state.begin(Lease(SCOPE, "key"), ENTRY) for state in states))
    assert begun.count(None) == 1
    for state in states:
        await state.aclose()


async def test_what_something_else_wrote(tmp_path: Path) -> None:
    """An entry, an owner or a document that cannot be read is a clear error."""
    path = tmp_path / "state.db"
    await used(path)
    with sqlite3.connect(path) as db:
        db.execute("UPDATE journal SET entry = '{\"kind\": 7}'")
        db.execute("INSERT INTO owners VALUES ('scope', 'x', '[]', 1e12)")
        db.execute("INSERT INTO documents VALUES ('scope', 'salt', 'NaN')")
    db.close()
    state = SqliteState(path)
    for attempt in (state.entries(SCOPE), state.heartbeat(SCOPE), state.get_document(SCOPE, "salt")):
        with pytest.raises(StateError, match="cannot be read"):
            await attempt
    await state.aclose()


async def test_a_held_entry_that_something_else_spoilt(tmp_path: Path) -> None:
    """The process that holds it writes it anew and ends it: it knows what the entry said."""
    path = tmp_path / "state.db"
    state, lease = SqliteState(path), Lease(SCOPE, "key")
    await state.begin(lease, ENTRY)
    for write in (state.update(lease, ENTRY), state.end(lease)):
        with sqlite3.connect(path) as db:
            db.execute("UPDATE journal SET entry = '{\"kind\": 7}'")
        db.close()
        await write
    assert await state.entries(SCOPE) == {}
    await state.aclose()


async def test_a_document_in_another_spelling_is_replaced(tmp_path: Path) -> None:
    """Writers of JSON spell one number in several ways; a document counts by its value, not by its text."""
    path = tmp_path / "state.db"
    state = SqliteState(path)
    await state.compare_and_set(SCOPE, "weights", None, 0.5)
    for spelling in ("1e-05", "1e-5", "0.00001"):
        with sqlite3.connect(path) as db:
            db.execute("UPDATE documents SET text = ? WHERE scope = ?", (spelling, SCOPE))
        db.close()
        found = await state.get_document(SCOPE, "weights")
        assert await state.compare_and_set(SCOPE, "weights", 0.25, 2.0) == found
        assert await state.compare_and_set(SCOPE, "weights", found, 2.0) == 2.0
    await state.aclose()
