"""A state that loses its entries while processes use it: what they know is written anew, and nothing is paid twice."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import attrs
import psycopg
import pytest

import cmsapi
from cmsapi.runtime.accounts import accounts_of_loop
from cmsapi.sandbox import Limits, Sandbox
from cmsapi.state.memory import MemoryState
from tests.support.jobs import box, client_of
from tests.support.launches import posts
from tests.support.memory import ProcessState
from tests.support.places import emptied, shared_url
from tests.support.servers import Server

BATCH = "nightly"


@attrs.frozen
class Losing:
    """Name a state, and empty it as something else than the SDK does."""

    url: str
    empty: Callable[[], Awaitable[None]]


@pytest.fixture(params=["all rows", "rows of the journal", "redis", "postgres"])
async def losing(request: pytest.FixtureRequest, tmp_path: Path) -> Losing:
    """A state on a real file or a real server."""
    if request.param == "redis":
        server: Server = request.getfixturevalue("server")

        async def flush() -> None:
            await emptied(server)

        return Losing(await emptied(server), flush)
    if request.param == "postgres":
        url = await shared_url("postgres", request, tmp_path)

        async def delete_rows() -> None:
            async with await psycopg.AsyncConnection.connect(url) as db:
                for table in ("journal", "outcomes", "owners", "documents", "limits"):
                    await db.execute(f"DELETE FROM cmsapi.{table}".encode())  # noqa: S608  names of this test

        return Losing(url, delete_rows)
    path = tmp_path / "state.db"
    tables = ["journal", "outcomes", *(["owners", "documents", "limits"] if request.param == "all rows" else [])]

    def delete() -> None:
        with contextlib.closing(sqlite3.connect(path)) as db:
            for table in tables:
                db.execute(f"DELETE FROM {table}")  # noqa: S608  names of this test
            db.commit()

    return Losing(f"sqlite:///{path}", lambda: asyncio.to_thread(delete))


def quick(sandbox: Sandbox, url: str) -> cmsapi.Client:
    """Make a client that polls often."""
    polling = cmsapi.PollPolicy(min_interval=0.02, max_interval=0.05)
    # Otherwise a lost count of the limits makes all processes pause for five seconds.
    return client_of(sandbox, state=url, polling=polling, limits=cmsapi.RateLimits.unlimited())


async def run(sandbox: Sandbox, url: str, during: Callable[[int], Awaitable[None]] | None = None) -> None:
    """Run a batch of three items, and call a function after each outcome."""
    async with quick(sandbox, url) as client, client.jobs.batch(BATCH) as batch:
        seen = 0
        async for outcome in batch.map(client.keywords.analyze, sandbox.keyword_ids[:3], in_flight=2):
            assert outcome.ok
            seen += 1
            if during is not None:
                await during(seen)


@pytest.mark.parametrize("after", [1, 3])
async def test_a_rerun_pays_for_nothing(losing: Losing, after: int, caplog: pytest.LogCaptureFixture) -> None:
    """A batch whose state is emptied in the middle, or after its last outcome, keeps all outcomes and warns once."""
    sandbox = box(0.02, limits=Limits.unlimited())

    async def lose(seen: int) -> None:
        if seen == after:
            await losing.empty()

    await run(sandbox, losing.url, lose)
    assert posts(sandbox) == 3
    assert len([line for line in caplog.messages if "the state has lost entries" in line]) == 1
    await run(sandbox, losing.url)
    assert posts(sandbox) == 3


async def test_a_run_keeps_what_it_read(losing: Losing) -> None:
    """Items that ended before this run are in the state again after it, because the run has read them."""
    sandbox = box(0.02, limits=Limits.unlimited())
    await run(sandbox, losing.url)
    async with quick(sandbox, losing.url) as client, client.jobs.batch(BATCH) as batch:
        seen = 0
        async for _ in batch.map(client.keywords.analyze, sandbox.keyword_ids[:4]):
            seen += 1
            if seen == 3:
                await losing.empty()
    await run(sandbox, losing.url)
    assert posts(sandbox) == 4


async def test_a_forgotten_batch_stays_forgotten(losing: Losing) -> None:
    """What a program has forgotten on purpose is no loss."""
    sandbox = box(0.02, limits=Limits.unlimited())
    async with quick(sandbox, losing.url) as client:
        async with client.jobs.batch(BATCH) as batch:
            async for _ in batch.map(client.keywords.analyze, sandbox.keyword_ids[:2]):
                pass
        async with client.jobs.batch(BATCH) as another:
            await another.forget()
        async with batch:
            assert batch.ended == ()


# In virtual time


def emptied_memory(memory: MemoryState) -> None:
    """Empty a memory that processes share."""
    memory.rows.clear()


class Shared(ProcessState):
    """A state that other processes use, too."""

    shared = True


def process(memory: MemoryState) -> None:
    """Let the clients that come next be those of another process."""
    accounts_of_loop().states["memory:"] = Shared(memory)


@pytest.mark.looptime
@pytest.mark.parametrize("settled", [False, True], ids=["while it runs", "before its answer"])
async def test_another_process_joins_what_was_lost(settled: bool) -> None:
    """A heartbeat writes the entry of a running job anew, with the salt, so that another process joins the job."""
    sandbox, memory = box(600.0, latency=(1.0, 1.0)), MemoryState()
    process(memory)
    async with client_of(sandbox) as client:
        await client.me()
        launching = asyncio.create_task(client.contents.generate(sandbox.content_ids[0]))
        while not posts(sandbox):  # noqa: ASYNC110  the client sends it
            await asyncio.sleep(0.1)
        if settled:
            emptied_memory(memory)
        job = await launching
        if not settled:
            emptied_memory(memory)
        waiting = asyncio.create_task(job.wait())
        await asyncio.sleep(15)
        process(memory)
        async with client_of(sandbox, api_key=sandbox.api_key) as other:
            joined = await other.contents.generate(sandbox.content_ids[0])
            assert joined.id == job.id
        await waiting
    assert posts(sandbox) == 1


@pytest.mark.looptime
async def test_an_outage_that_ends_with_an_empty_state(caplog: pytest.LogCaptureFixture) -> None:
    """A state that is away for longer than a lease lives and comes back empty loses no outcome of a batch."""
    sandbox, memory = box(100.0), MemoryState()

    class Away(Shared):
        away = False

        async def change(self, *args: Any, **options: Any) -> Any:
            if self.away:
                raise cmsapi.StateError("away")
            return await super().change(*args, **options)

        async def heartbeat(self, scope: str) -> Any:
            if self.away:
                raise cmsapi.StateError("away")
            return await super().heartbeat(scope)

    state = accounts_of_loop().states["memory:"] = Away(memory)
    async with client_of(sandbox) as client, client.jobs.batch(BATCH) as batch:

        async def map_all() -> list[bool]:
            return [outcome.ok async for outcome in batch.map(client.keywords.analyze, sandbox.keyword_ids[:3])]

        running = asyncio.create_task(map_all())
        await asyncio.sleep(20)
        state.away = True
        await asyncio.sleep(50)
        emptied_memory(memory)
        state.away = False
        assert await running == [True] * 3
    (scope,) = {names[0] for names in memory.rows["outcomes"]}
    assert [entry.status for entry in await memory.outcomes(scope)] == ["succeeded"] * 3
    caplog.clear()


@pytest.mark.looptime
async def test_a_launch_is_sent_although_its_entry_was_lost() -> None:
    """An entry that is lost before its launch is sent is written anew, because no other process was first."""
    sandbox, memory = box(30.0, latency=(1.0, 1.0)), MemoryState()
    process(memory)
    async with client_of(sandbox) as client:
        launching = asyncio.create_task(client.content_ideas.search(sandbox.workspace_id, "tents"))
        while not memory.rows.get("journal"):  # noqa: ASYNC110  the client writes it
            await asyncio.sleep(0.01)
        memory.rows["journal"].clear()
        await (await launching)
    assert posts(sandbox) == 1
