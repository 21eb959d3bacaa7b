"""What is particular to Redis."""

from __future__ import annotations

import logging

import pytest
import redis

from cmsapi.errors import StateError
from cmsapi.state.store import Row
from tests.support import servers
from tests.unit.state.conftest import Stores

pytestmark = pytest.mark.slow


async def warnings_of(url: str, caplog: pytest.LogCaptureFixture) -> str:
    """Return what is logged when a state is opened and opened again."""
    caplog.set_level(logging.WARNING, "cmsapi")
    stores = Stores(url)
    store = stores.open()
    await store.durations()
    await store.aclose()
    once = caplog.text
    await store.durations()
    assert caplog.text == once, "each warning comes once"
    await stores.aclose()
    return once


async def test_a_safe_server_is_not_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    """A server that keeps everything on disk causes no warning."""
    with servers.redis_server() as server:
        assert await warnings_of(server.url, caplog) == ""


@pytest.mark.parametrize(
    ("options", "word"),
    [(["--maxmemory-policy", "allkeys-lru", "--maxmemory", "50mb"], "allkeys-lru"), (["--appendonly", "no"], "disk")],
)
async def test_a_server_that_may_lose_launches_is_warned_of(
    caplog: pytest.LogCaptureFixture, options: list[str], word: str
) -> None:
    """A cache, or a server without a disk, is used as a state, but with a warning."""
    with servers.redis_server(*options) as server:
        assert word in await warnings_of(server.url, caplog)
        assert server.password not in caplog.text


async def test_a_cluster_is_refused() -> None:
    """A transaction cannot span the nodes of a cluster, so opening one is an error."""
    with servers.redis_server("--cluster-enabled", "yes") as server:
        stores = Stores(server.url)
        with pytest.raises(StateError, match="cluster"):
            await stores.open().insert(Row("analysis", "kw-1", "name"), 60.0)
        await stores.aclose()


async def test_a_full_server_and_a_replica_are_state_errors() -> None:
    """A server that refuses to write has written nothing, and the state works again once it accepts writes."""
    with servers.redis_server() as server, redis.Redis.from_url(server.url) as direct:
        stores = Stores(server.url)
        store, row = stores.open(), Row("analysis", "kw-1", "name")
        await store.durations()
        for setting in ({"maxmemory": "1"}, {"min-replicas-to-write": "1"}):
            for name, value in setting.items():
                direct.config_set(name, value)
            with pytest.raises(StateError):
                await store.insert(row, 60.0)
            direct.config_set("maxmemory", "0")
            direct.config_set("min-replicas-to-write", "0")
            assert await store.get(row.id) is None
        assert await store.insert(row, 60.0) is None
        await stores.aclose()


async def test_scripts_that_a_server_forgot_are_sent_again(redis_server: servers.Server) -> None:
    """A server whose scripts were flushed needs no new connection."""
    stores = Stores(redis_server.url)
    store, row = stores.open(), Row("analysis", "kw-1", "name")
    await store.insert(row, 60.0)
    with redis.Redis.from_url(redis_server.url) as direct:
        direct.script_flush()
    assert await store.get(row.id) is not None
    await stores.aclose()


async def test_fields_of_a_newer_version_are_passed_over(redis_server: servers.Server) -> None:
    """A launch written by a neighbouring version is read without the fields that only that version knows."""
    stores = Stores(redis_server.url)
    store, row = stores.open(), Row("analysis", "kw", "kw")
    await store.insert(row, 60.0)
    with redis.Redis.from_url(redis_server.url) as client:
        (name,) = client.scan_iter(f"cmsapi:*{row.id}*")
        client.hset(name, "colour", "blue")
    assert (found := await store.get(row.id)) is not None
    assert (found.id, found.kind) == (row.id, "analysis")
    await stores.aclose()
