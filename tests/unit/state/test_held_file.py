"""A state file that another program holds: everything that waits for it gives up together."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import cmsapi
from cmsapi.errors import StateError
from cmsapi.sandbox import Fixed, Sandbox
from cmsapi.state.entry import Entry, Lease
from cmsapi.state.sqlite import SqliteState
from cmsapi.state.sqlitefile import TIMEOUT

ENTRY = Entry(kind="generation", target="cnt_1", asked_at=1.0)
# One wait, and what a busy machine adds; two waits one after the other take longer.
SOON = 1.9 * TIMEOUT

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("turning_loop")]


@asynccontextmanager
async def held(path: Path) -> AsyncIterator[None]:
    """Hold a file as another program does."""
    holder = await asyncio.to_thread(sqlite3.connect, path, isolation_level=None, check_same_thread=False)
    await asyncio.to_thread(holder.execute, "BEGIN IMMEDIATE")
    try:
        yield
    finally:
        await asyncio.to_thread(holder.close)


def client_of(sandbox: Sandbox, path: Path) -> cmsapi.Client:
    """Make a client whose state is a file."""
    return cmsapi.Client(
        sandbox.api_key, base_url=sandbox.base_url, transport=sandbox.transport, state=f"sqlite:///{path}"
    )


async def test_writes_do_not_wait_one_after_another(tmp_path: Path) -> None:
    """Twenty writes that meet a held file fail together, later ones sooner, and when it is free again all goes on."""
    path = tmp_path / "state.db"
    state = SqliteState(path)
    await state.begin(Lease("scope", "key"), ENTRY)
    async with held(path):
        began = time.monotonic()
        wanted = [state.begin(Lease("scope", f"key {number}"), ENTRY) for number in range(20)]
        failed = await asyncio.gather(*wanted, return_exceptions=True)
        assert [type(error) for error in failed] == [StateError] * 20
        assert time.monotonic() - began < SOON
        began = time.monotonic()
        with pytest.raises(StateError):
            await state.begin(Lease("scope", "late"), ENTRY)
        assert time.monotonic() - began < TIMEOUT / 2
    assert await state.begin(Lease("scope", "late"), ENTRY) is None
    await state.aclose()


@pytest.mark.parametrize("count", [2, 6])
async def test_a_client_closes_soon(tmp_path: Path, count: int) -> None:
    """Closing a client does not take longer because it holds more jobs, or because their waiters were cancelled."""
    path = tmp_path / "state.db"
    sandbox = Sandbox(durations=Fixed(600.0))
    client = client_of(sandbox, path)
    jobs = [await client.keywords.analyze(keyword_id) for keyword_id in sandbox.keyword_ids[:count]]
    waiting = [asyncio.create_task(job.wait()) for job in jobs]
    await asyncio.sleep(0.5)
    async with held(path):
        waiting[0].cancel()
        await asyncio.sleep(0)
        began = time.monotonic()
        await client.aclose()
        assert time.monotonic() - began < SOON
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_a_cancelled_launch_ends_soon(tmp_path: Path) -> None:
    """A launch that is cancelled while it waits for a held file ends at once, and its client closes soon."""
    path = tmp_path / "state.db"
    sandbox = Sandbox(durations=Fixed(600.0))
    client = client_of(sandbox, path)
    await client.keywords.analyze(sandbox.keyword_ids[0])
    async with held(path):
        launching = asyncio.create_task(client.keywords.analyze(sandbox.keyword_ids[1]))
        await asyncio.sleep(0.5)
        launching.cancel()
        began = time.monotonic()
        await asyncio.wait([launching])
        await client.aclose()
        assert time.monotonic() - began < SOON
    assert launching.cancelled()
    assert len(sandbox.ledger.launches()) == 1


async def test_a_launch_fails_soon(tmp_path: Path) -> None:
    """A launch that cannot be written down fails after one wait, whether the state was used before or not."""
    path = tmp_path / "state.db"
    sandbox = Sandbox(durations=Fixed(600.0))
    async with client_of(sandbox, path) as client:
        await client.keywords.analyze(sandbox.keyword_ids[0])
        async with held(path):
            began = time.monotonic()
            with pytest.raises(StateError, match="database is locked"):
                await client.keywords.analyze(sandbox.keyword_ids[1])
            assert time.monotonic() - began < SOON
    async with held(path):
        began = time.monotonic()
        client = client_of(sandbox, path)
        with pytest.raises(StateError, match="database is locked"):
            await client.keywords.analyze(sandbox.keyword_ids[1])
        await client.aclose()
        assert time.monotonic() - began < SOON
    assert len(sandbox.ledger.launches()) == 1
