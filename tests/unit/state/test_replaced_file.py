"""A state file that is removed or replaced while processes use it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import cmsapi
from cmsapi.errors import StateError
from cmsapi.ratelimit.shared_log import AccountLimits, Take
from cmsapi.sandbox import Fixed, Limits, Sandbox
from cmsapi.state.entry import Entry, Lease
from cmsapi.state.sqlite import SqliteState
from tests.support.processes import ended, workers
from tests.support.taking import taken

pytestmark = pytest.mark.usefixtures("turning_loop")

SCOPE = "scope"
ENTRY = Entry(kind="generation", target="cnt_1", asked_at=1.0)
LIMITS = AccountLimits(per_second=20, per_hour=1000)


def remove(path: Path) -> None:
    """Remove the file and what lies beside it."""
    for each in path.parent.glob(f"{path.name}*"):
        each.unlink()


def remove_the_log(path: Path) -> None:
    """Remove only what lies beside the file."""
    for each in path.parent.glob(f"{path.name}-*"):
        each.unlink()


def move_another_there(path: Path) -> None:
    """Put another state in the place of the file."""
    remove(path)
    (path.parent / "other").rename(path)


def restore(path: Path) -> None:
    """Write another state over the file by the means of SQLite."""
    with closing(sqlite3.connect(path.parent / "other")) as source, closing(sqlite3.connect(path)) as target:
        source.backup(target)


@pytest.mark.parametrize("replace", [remove, remove_the_log, move_another_there, restore])
async def test_nothing_is_written_where_others_do_not_see_it(tmp_path: Path, replace: Callable[[Path], None]) -> None:
    """Once the file is gone or another one, the journal refuses for good and says what that means for paid work."""
    other = SqliteState(tmp_path / "other")
    await other.begin(Lease(SCOPE, "key"), ENTRY)
    await other.aclose()
    path = tmp_path / "state.db"
    state = SqliteState(path)
    assert await state.begin(Lease(SCOPE, "key"), ENTRY) is None
    await asyncio.to_thread(replace, path)
    for _ in range(2):
        with pytest.raises(StateError, match=r"was removed or replaced .* launches no more paid work") as caught:
            await state.begin(Lease(SCOPE, "another"), ENTRY)
        assert str(path) in str(caught.value)
    with pytest.raises(StateError, match="was removed or replaced"):
        await state.entries(SCOPE)
    await state.aclose()
    # One that is made anew uses what is there now.
    anew = SqliteState(path)
    if replace is not remove_the_log:
        assert await anew.begin(Lease(SCOPE, "another"), ENTRY) is None
    await anew.aclose()


async def test_the_limits_go_on_in_the_file_that_is_there(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Turns go on with the file that is there, where others take theirs; the journal stays closed all the same."""
    path = tmp_path / "state.db"
    state, other = SqliteState(path), SqliteState(path)
    before = await taken(state, "account", LIMITS, Take(process="one", landed=(0.0,)))
    await asyncio.to_thread(remove, path)
    after = await taken(state, "account", LIMITS, Take(process="one", landed=(0.0,), log=before.log.began))
    assert "was removed or replaced while it was used" in caplog.text
    others = await taken(other, "account", LIMITS, Take(process="other"))
    assert before.log.began != after.log.began == others.log.began
    with pytest.raises(StateError, match="launches no more paid work"):
        await state.begin(Lease(SCOPE, "key"), ENTRY)
    assert await other.begin(Lease(SCOPE, "key"), ENTRY) is None
    await state.aclose()
    await other.aclose()


async def test_a_client_launches_nothing_more_and_keeps_its_jobs(tmp_path: Path) -> None:
    """When the file is gone, a launch is not sent and says why; what was launched before ends; a new client works."""
    path = tmp_path / "state.db"
    sandbox = Sandbox(durations=Fixed(6.0))
    options: dict[str, Any] = {
        "base_url": sandbox.base_url,
        "transport": sandbox.transport,
        "state": f"sqlite:///{path}",
    }
    async with cmsapi.Client(sandbox.api_key, **options) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        await asyncio.to_thread(remove, path)
        with pytest.raises(StateError, match="close all clients"):
            await client.keywords.analyze(sandbox.keyword_ids[1])
        assert len(sandbox.ledger.launches()) == 1
        assert (await job).analysis_status == "success"
    async with cmsapi.Client(sandbox.api_key, **options) as client:
        await client.keywords.analyze(sandbox.keyword_ids[1])
    assert len(sandbox.ledger.launches()) == 2


@pytest.mark.slow
@pytest.mark.enable_socket
async def test_processes_on_both_sides_of_a_removal_keep_to_the_limits(tmp_path: Path) -> None:
    """A process that goes on and one that comes after the removal draw no 429 from a strict service."""
    path = tmp_path / "state.db"
    sandbox = Sandbox(limits=Limits(per_second=20, per_hour=1000))
    await sandbox.serve()
    what = ("saturate", f"sqlite:///{path}", sandbox.base_url, sandbox.api_key, 6.0, 30, 1000, 5.0)
    try:
        async with workers(1, *what) as (first,):
            await asyncio.sleep(2.0)
            await asyncio.to_thread(remove, path)
            async with workers(1, *what) as (second,):
                for worker in (first, second):
                    assert (await worker.said())["answered"] > 20
                    await ended(worker.process)
    finally:
        await sandbox.aclose()
    assert sandbox.statistics.rate_limited == 0
