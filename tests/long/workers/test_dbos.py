"""The example with DBOS: workflows on two workers, of which one is killed."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from pathlib import Path

import pytest

from tests.long.workers.ledger import box, judge
from tests.long.workers.processes import Fleet, killed, lines_of, until

pytestmark = [pytest.mark.enable_socket, pytest.mark.slow]

EXAMPLE = "examples/dbos_worker.py"
WORKER = ("-m", "tests.long.workers.quick", "dbos")


@pytest.mark.skipif(
    sys.version_info >= (3, 12) and sqlite3.sqlite_version_info < (3, 42),
    reason="NOT TESTED: from Python 3.12 on DBOS needs SQLite 3.42 for workflows in a file",
)
async def test_workers_that_are_started_again(tmp_path: Path) -> None:
    """On SQLite, one worker is killed and one is stopped; both come back: 60 done, 60 paid, nothing refused."""
    workflows, state = f"sqlite:///{tmp_path / 'workflows.db'}", f"sqlite:///{tmp_path / 'launches.db'}"
    async with box(60) as sandbox, Fleet(sandbox, WORKFLOWS=workflows, STATE=state) as fleet:
        first, second = await asyncio.gather(fleet.ready(*WORKER, "first"), fleet.ready(*WORKER, "second"))
        asking = await fleet.ready(EXAMPLE, "analyse", "tonight", *sandbox.keyword_ids)
        await until(lambda: len(sandbox.ledger.launches()) >= 20)
        await killed(first)
        await fleet.start(*WORKER, "first")
        second.terminate()
        assert await second.wait() == 0
        await fleet.start(*WORKER, "second")
        judge(sandbox, await lines_of(asking))


async def test_a_worker_that_does_not_come_back(postgres: str) -> None:
    """In one database of Postgres, the workflows of a worker that is gone are handed to another one: all paid once."""
    workflows = state = f"{postgres}/workflows"
    async with box(20) as sandbox, Fleet(sandbox, WORKFLOWS=workflows, STATE=state) as fleet:
        gone, _ = await asyncio.gather(fleet.ready(*WORKER, "gone"), fleet.ready(*WORKER, "here"))
        asking = await fleet.ready(EXAMPLE, "analyse", "tonight", *sandbox.keyword_ids)
        await until(lambda: len(sandbox.ledger.launches()) >= 7)
        await killed(gone)
        assert await lines_of(await fleet.start(EXAMPLE, "hand-over", "gone")) == []
        judge(sandbox, await lines_of(asking))
