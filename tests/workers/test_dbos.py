"""The example with DBOS: workflows on two workers, of which one is killed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from cmsapi.sandbox import Sandbox

from .postgres import running_postgres, why_no_postgres
from .processes import Fleet, killed, lines_of, until

pytestmark = pytest.mark.enable_socket

EXAMPLE = "examples/dbos_worker.py"
WORKER = ("-m", "tests.workers.quick", "dbos")


@pytest.fixture
def postgres() -> Iterator[str]:
    """A server of Postgres."""
    if (reason := why_no_postgres()) is not None:
        pytest.skip(f"NOT TESTED on Postgres: {reason}")
    with running_postgres() as url:
        yield url


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
    """On Postgres, the workflows of a worker that is gone are handed to another one: all done, paid once, none refused."""
    workflows, state = f"{postgres}/workflows", f"sqlite:///{tmp_path / 'launches.db'}"
    async with box(30) as sandbox, Fleet(sandbox, WORKFLOWS=workflows, STATE=state) as fleet:
        gone = await fleet.ready(*WORKER, "gone")
        await fleet.ready(*WORKER, "here")
        asking = await fleet.ready(EXAMPLE, "analyse", *sandbox.keyword_ids)
        await until(lambda: len(sandbox.ledger.launches()) >= 10)
        await killed(gone)
        assert await lines_of(await fleet.start(EXAMPLE, "hand-over", "gone")) == []
        judge(sandbox, await lines_of(asking))


def judge(sandbox: Sandbox, printed: list[str]) -> None:
    """Hold what was promised against what was printed and what the service has seen."""
    assert printed == [f"{keyword_id} success" for keyword_id in sandbox.keyword_ids]
    launched = Counter(job.target_id for job in sandbox.jobs)
    assert launched == dict.fromkeys(sandbox.keyword_ids, 1)
    assert sandbox.statistics.rate_limited == 0
