"""The example with DBOS: workflows on two workers, of which one is killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from cmsapi.sandbox import Sandbox

from .ledger import judge
from .processes import Fleet, killed, lines_of, until

pytestmark = pytest.mark.enable_socket

EXAMPLE = "examples/dbos_worker.py"
WORKER = ("-m", "tests.workers.quick", "dbos")


def box(keywords: int) -> Sandbox:
    """Make a service with its usual limits, whose analyses take a second or so."""
    return Sandbox(keywords=keywords, durations=lambda rng: rng.uniform(0.5, 1.5))


async def test_a_killed_worker_that_is_started_again(tmp_path: Path) -> None:
    """On SQLite, a worker that is killed and started under its name goes on: 60 done, 60 paid, nothing refused."""
    workflows, state = f"sqlite:///{tmp_path / 'workflows.db'}", f"sqlite:///{tmp_path / 'launches.db'}"
    async with box(60) as sandbox, Fleet(sandbox, WORKFLOWS=workflows, STATE=state) as fleet:
        first = await fleet.ready(*WORKER, "first")
        await fleet.ready(*WORKER, "second")
        asking = await fleet.ready(EXAMPLE, "analyse", *sandbox.keyword_ids)
        await until(lambda: len(sandbox.ledger.launches()) >= 20)
        await killed(first)
        await fleet.start(*WORKER, "first")
        judge(sandbox, await lines_of(asking))


async def test_a_worker_that_does_not_come_back(tmp_path: Path, postgres: str) -> None:
    """On Postgres, the workflows of a worker that is gone are handed to another one: all done, paid once."""
    workflows, state = f"{postgres}/workflows", f"sqlite:///{tmp_path / 'launches.db'}"
    async with box(30) as sandbox, Fleet(sandbox, WORKFLOWS=workflows, STATE=state) as fleet:
        gone = await fleet.ready(*WORKER, "gone")
        await fleet.ready(*WORKER, "here")
        asking = await fleet.ready(EXAMPLE, "analyse", *sandbox.keyword_ids)
        await until(lambda: len(sandbox.ledger.launches()) >= 10)
        await killed(gone)
        assert await lines_of(await fleet.start(EXAMPLE, "hand-over", "gone")) == []
        judge(sandbox, await lines_of(asking))
