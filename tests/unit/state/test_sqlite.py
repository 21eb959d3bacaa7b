"""A state in a file."""

from __future__ import annotations

import asyncio
import json
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cmsapi.config import HOUR
from cmsapi.errors import StateError
from cmsapi.state.sql import SqlStore
from cmsapi.state.sqlite import sqlite
from cmsapi.state.store import Row, Store, open_store
from tests.support import children

ASKING = """
import asyncio, json, sys
from cmsapi.state.store import Row, open_store

async def main(path, name):
    store = open_store("sqlite:///" + path, "key")
    store.scope = "scope"
    granted, won = 0, []
    for number in range(40):
        granted += (await store.take(f"{name}-{number}", 1000, 50, 30.0)).wait == 0
        if await store.insert(Row("analysis", f"kw-{number}", name), 60.0) is None:
            won.append(number)
    await store.aclose()
    print(json.dumps([granted, won]))

asyncio.run(main(*sys.argv[1:]))
"""


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    """Return the clock of the store."""
    return Clock()


@pytest.fixture
async def store(tmp_path: Path, clock: Clock) -> AsyncIterator[SqlStore]:
    """Return a store whose clock the test sets."""
    store = SqlStore(sqlite(str(tmp_path / "state.db"), clock), "key")
    yield store
    await store.aclose()


async def test_only_the_owner_may_read_the_file(tmp_path: Path) -> None:
    """Only the program's user may read what was launched, even in the files beside it."""
    store = open_store(f"sqlite:///{tmp_path / 'state.db'}", "")
    await store.batches()
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}  # noqa: ASYNC240  three files
    assert modes == dict.fromkeys(["state.db", "state.db-wal", "state.db-shm"], 0o600)
    await store.aclose()


async def test_a_folder_that_is_not_there_is_a_state_error(tmp_path: Path) -> None:
    """A path that cannot be opened is named."""
    store = open_store(f"sqlite:///{tmp_path}/nowhere/state.db", "")
    with pytest.raises(StateError, match="No such file"):
        await store.batches()


async def test_a_file_that_is_no_database_is_a_state_error(tmp_path: Path) -> None:
    """Any other file is neither read nor overwritten."""
    path = tmp_path / "notes.txt"
    path.write_text("notes " * 1000)
    with pytest.raises(StateError):
        await open_store(f"sqlite:///{path}", "").batches()
    assert path.read_text() == "notes " * 1000


async def test_a_request_without_an_answer_counts_until_its_deadline_and_an_hour(store: SqlStore, clock: Clock) -> None:
    """The process that sent it may have died, and the service may have counted it at the last moment."""
    assert (await store.take("lost", 20, 1, 30.0)).wait == 0
    clock.now += HOUR + 29.0
    assert (await store.take("next", 20, 1, 30.0)).wait == pytest.approx(1.0)
    clock.now += 1.0
    assert (await store.take("next", 20, 1, 30.0)).wait == 0


@pytest.mark.parametrize("back", [86_400.0, 2 * HOUR])
async def test_requests_of_a_clock_that_was_ahead_count_as_taken_now(
    store: SqlStore, clock: Clock, back: float
) -> None:
    """Setting a clock back does not block the hour for a day."""
    await store.take("a", 20, 1, 30.0)
    await store.answered("a", departed=True, pause=60.0)
    clock.now -= back
    assert (await store.take("b", 20, 1, 30.0)).wait == pytest.approx(HOUR + 30.0)
    clock.now += HOUR + 30.0
    assert (await store.take("b", 20, 1, 30.0)).wait == 0


async def test_a_small_step_back_ends_no_request(store: SqlStore, clock: Clock) -> None:
    """Correcting a clock slightly leaves a request under way."""
    await store.take("a", 1, 1000, 30.0)
    clock.now -= 0.001
    assert (await store.take("b", 1, 1000, 30.0)).wait > 0
    clock.now += 30.0
    assert (await store.take("b", 1, 1000, 30.0)).wait == pytest.approx(1.0)
    clock.now += 1.0
    assert (await store.take("b", 1, 1000, 30.0)).wait == 0


async def test_a_cancelled_call_goes_on_in_its_thread(tmp_path: Path) -> None:
    """The next call waits until a cancelled one has let go of the connection."""
    reached, go_on = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def clock() -> float:
        loop.call_soon_threadsafe(reached.set)
        asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result(10.0)
        return 1_800_000_000.0

    store: Store = SqlStore(sqlite(str(tmp_path / "state.db"), clock), "key")
    rows = [Row("analysis", f"kw-{number}", "name") for number in range(2)]
    first = asyncio.ensure_future(store.insert(rows[0], 60.0))
    await reached.wait()
    first.cancel()
    second = asyncio.ensure_future(store.insert(rows[1], 60.0))
    await asyncio.sleep(0.05)
    go_on.set()
    assert await second is None
    assert first.cancelled()
    assert await store.find("analysis", "kw-0") is not None
    await store.aclose()


@pytest.mark.slow
def test_two_processes_share_a_file(tmp_path: Path) -> None:
    """Together they get what the hour allows and launch each target once, from the moment the file is created."""
    path = str(tmp_path / "state.db")
    running = [
        subprocess.Popen(children.command(ASKING, path, name), stdout=subprocess.PIPE, text=True) for name in ("a", "b")
    ]
    printed = [each.communicate(timeout=50)[0] for each in running]
    assert [each.returncode for each in running] == [0, 0]
    (granted, won), (granted_too, won_too) = map(json.loads, printed)
    assert granted + granted_too == 50
    assert sorted(won + won_too) == list(range(40))


async def test_two_connections_keep_their_file_from_other_programs(tmp_path: Path) -> None:
    """What is written after another program came and went is seen by the next: SQLite's locks were kept."""
    path = str(tmp_path / "state.db")
    first, second = open_store(f"sqlite:///{path}", "a"), open_store(f"sqlite:///{path}", "b")
    await first.batches()
    await second.batches()
    ask = "import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute('SELECT COUNT(*) FROM cmsapi_launches'))"
    program = [sys.executable, "-c", ask, path]
    counts = [await asyncio.to_thread(subprocess.check_output, program, text=True)]
    await first.insert(Row("analysis", "kw-1", "kw-1"), 60.0)
    counts.append(await asyncio.to_thread(subprocess.check_output, program, text=True))
    assert counts == ["(0,)\n", "(1,)\n"]
    await first.aclose()
    await second.aclose()
