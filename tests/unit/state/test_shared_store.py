"""A state that several processes share: races, the limits of a key, and what a restart finds."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time

import psycopg
import pytest
import redis
from attrs import evolve

from cmsapi.config import HOUR
from cmsapi.errors import StateError
from cmsapi.state.store import JobStatus, Row, SharedStore
from tests.unit.state.conftest import Stores

ROUNDS = 50


def launch(target: str = "kw-1") -> Row:
    """Return a launch."""
    return Row("analysis", target, "name")


async def take(
    store: SharedStore, name: str, per_second: int = 20, per_hour: int = 1000, seconds: float = 30.0
) -> float:
    """Return the seconds to wait for a request."""
    return (await store.take(name, per_second, per_hour, seconds)).wait


async def test_of_two_inserts_one_succeeds(stores: Stores) -> None:
    """Two processes that launch for one target at the same time write one launch, and both know which."""
    one, other = stores.open(), stores.open()
    for number in range(ROUNDS):
        rows = [launch(f"kw-{number}"), launch(f"kw-{number}")]
        ways = await asyncio.gather(one.insert(rows[0], 60.0), other.insert(rows[1], 60.0))
        assert sorted(way is None for way in ways) == [False, True]
        winner = rows[ways.index(None)].id
        assert [way.id for way in ways if way] == [winner]
        there = await one.find("analysis", f"kw-{number}")
        assert there is not None
        assert there.id == winner


async def test_of_two_updates_one_succeeds(stores: Stores) -> None:
    """Of two processes that settle one launch at the same time, one succeeds and the other is told."""
    one, other = stores.open(), stores.open()
    row = launch()
    await one.insert(row, 60.0)
    for attempt in range(1, ROUNDS + 1):
        expected = evolve(row, attempt=attempt)
        won = await asyncio.gather(
            one.update(expected, 60.0, attempt=attempt + 1), other.update(expected, 60.0, attempt=attempt + 1)
        )
        assert sorted(won) == [False, True]


async def test_a_store_finds_what_another_one_has_written(stores: Stores) -> None:
    """Launches, items and durations outlive the store that wrote them."""
    first = stores.open()
    row = launch()
    await first.insert(row, 60.0, ("batch", "item"))
    await first.save_durations("analysis", '{"ends": 3}')
    await first.save_durations("analysis", '{"ends": 4}')
    await first.aclose()
    second = stores.open()
    assert [each.id for each in await second.rows([JobStatus.SENDING])] == [row.id]
    assert list(await second.items("batch")) == ["item"]
    assert await second.durations() == {"analysis": '{"ends": 4}'}
    assert await first.get(row.id) is not None, "a store opens again after it was closed"


async def test_organizations_do_not_see_each_other(stores: Stores) -> None:
    """Launches, items, durations and open jobs of another scope are invisible."""
    mine, theirs = stores.open("mine"), stores.open("theirs")
    row = launch()
    await mine.insert(row, 60.0, ("batch", "item"))
    await mine.save_durations("analysis", "{}")
    assert await theirs.get(row.id) is None
    assert await theirs.find(row.kind, row.target) is None
    assert await theirs.rows(list(JobStatus)) == []
    assert await theirs.items("batch") == {}
    assert await theirs.batches() == {}
    assert await theirs.durations() == {}
    assert not await theirs.update(row, status=JobStatus.RUNNING)
    assert not await theirs.update(row, status=JobStatus.FAILED)
    await theirs.delete(row.id)
    await theirs.drop_items("batch", ["item"])
    assert (await theirs.take("request", 20, 1000, 30.0)).open_jobs == {}
    assert list(await mine.items("batch")) == ["item"]
    assert await theirs.insert(launch(), 60.0) is None


async def test_both_limits_are_of_one_key(stores: Stores) -> None:
    """Another key has limits of its own; another organization with the same key does not."""
    mine, theirs, other = stores.open(key="mine"), stores.open(key="theirs"), stores.open("other", key="mine")
    assert await take(mine, "a", per_hour=1) == 0
    assert await take(other, "b", per_hour=1) > 0
    assert await take(theirs, "c", per_hour=1) == 0


async def test_permits_of_an_hour_are_of_all_processes(stores: Stores) -> None:
    """If one store has taken the last request of the hour, the other learns when the next becomes free."""
    one, other = stores.open(), stores.open()
    for number in range(3):
        assert await take((one, other)[number % 2], f"r{number}", per_hour=3) == 0
    taken = await other.take("late", 20, 3, 30.0)
    assert HOUR < taken.wait <= HOUR + 30.0, "no request was answered, so each may still be under way"
    assert taken.used == 3
    assert await one.answered("r0", departed=True, pause=0.0) == 1
    assert HOUR - 10.0 < await take(other, "late", per_hour=3) <= HOUR
    assert HOUR < await take(other, "late", per_hour=2) <= HOUR + 30.0, "where fewer may be out, more must come back"


async def test_asking_for_nothing_only_looks(stores: Stores) -> None:
    """With an hour of 0 a store reports how much is used, and takes nothing."""
    store = stores.open()
    assert (await store.take("a", 20, 1000, 30.0)).wait == 0
    for _ in range(2):
        looked = await store.take("", 20, 0, 30.0)
        assert (looked.wait > 0, looked.used) == (True, 1)


async def test_a_second_counts_from_the_answer(stores: Stores) -> None:
    """A request counts in the second while it is under way, and for another second after its response."""
    one, other = stores.open(), stores.open()
    assert await take(one, "a", per_second=1) == 0
    await asyncio.sleep(1.05)
    assert 0.0 < await take(other, "b", per_second=1) <= 1.0, "its response may come at any time"
    await one.answered("a", departed=True, pause=0.0)
    wait = await take(other, "b", per_second=1)
    assert 0.0 < wait <= 1.0
    await asyncio.sleep(wait + 0.01)
    assert await take(other, "b", per_second=1) == 0


async def test_a_request_that_did_not_leave_is_given_back(stores: Stores) -> None:
    """A request that certainly was not sent counts neither in the second nor in the hour."""
    store = stores.open()
    assert await take(store, "a", per_second=1, per_hour=1) == 0
    assert await store.answered("a", departed=False, pause=0.0) == 0
    assert await take(store, "b", per_second=1, per_hour=1) == 0


async def test_a_pause_is_seen_by_all_and_the_longest_holds(stores: Stores) -> None:
    """After a 429 no process sends until the pause ends, and a response with a shorter pause does not shorten it."""
    one, other = stores.open(), stores.open()
    await take(one, "early")
    await one.answered("early", departed=True, pause=0.1)
    assert 0.0 < await take(other, "b") <= 0.1
    await asyncio.sleep(0.12)
    await take(one, "a")
    await take(one, "b")
    assert await one.answered("a", departed=True, pause=20.0) == 2
    assert await one.answered("b", departed=True, pause=0.2) == 3
    taken = await other.take("c", 20, 1000, 30.0)
    assert 15.0 < taken.wait <= 20.0
    assert taken.used == 3


async def test_permission_comes_with_the_open_jobs_of_all(stores: Stores) -> None:
    """Launches being sent or running are counted by kind; those that await a decision need no polls."""
    one, other = stores.open(), stores.open()
    for number, status in enumerate([JobStatus.RUNNING, JobStatus.RUNNING, JobStatus.REVIEW, JobStatus.FAILED]):
        row = launch(f"kw-{number}")
        await one.insert(row, 60.0)
        await one.update(row, status=status)
    search = Row("search", "s", "s")
    await one.insert(search, 60.0)
    assert (await other.take("a", 20, 1000, 30.0)).open_jobs == {"analysis": 2, "search": 1}
    await one.update(search, status=JobStatus.FAILED)
    waits = await other.take("b", 1, 1000, 30.0)
    assert (waits.wait > 0, waits.open_jobs) == (True, {"analysis": 2})


@pytest.mark.slow
async def test_no_second_has_more_than_its_limit(stores: Stores) -> None:
    """Two stores that ask as fast as they can never send more than the limit in any second."""
    limit, sent, ends = 20, list[float](), time.monotonic() + 2.5

    async def send(store: SharedStore, name: str) -> None:
        for number in range(1000):
            while (wait := await take(store, f"{name}-{number}", per_second=limit)) > 0:
                if time.monotonic() + wait > ends:
                    return
                await asyncio.sleep(wait)
            sent.append(time.monotonic())
            await asyncio.sleep(0.001)
            await store.answered(f"{name}-{number}", departed=True, pause=0.0)

    stores_of_two = [stores.open(), stores.open()]
    await asyncio.gather(*(send(store, f"{n}{m}") for n, store in enumerate(stores_of_two) for m in range(4)))
    sent.sort()
    assert len(sent) >= 2 * limit
    closest = min(later - earlier for earlier, later in zip(sent, sent[limit:], strict=False))
    assert closest > 0.999


@pytest.mark.slow
async def test_no_hour_has_more_than_its_limit(stores: Stores) -> None:
    """Many simultaneous callers together get what the hour allows, to the last request."""
    opened = [stores.open() for _ in range(4)]
    waits = await asyncio.gather(
        *(take(store, f"{n}-{m}", per_second=1000, per_hour=50) for n, store in enumerate(opened) for m in range(25))
    )
    assert sum(wait == 0 for wait in waits) == 50


async def test_a_cancelled_call_disturbs_no_other(stores: Stores) -> None:
    """Calls that are cancelled at any moment leave the store as usable as it was."""
    store = stores.open()
    await store.durations()
    for number in range(20):
        tasks = [asyncio.ensure_future(store.insert(launch(f"{number}-{each}"), 60.0)) for each in range(3)]
        await asyncio.sleep(number / 5000)
        tasks[0].cancel()
        ways = await asyncio.gather(*tasks, return_exceptions=True)
        assert ways[1:] == [None, None]
    assert len(await store.rows([JobStatus.SENDING])) >= 40


def test_a_store_serves_one_event_loop_after_another(stores: Stores) -> None:
    """A program may call `asyncio.run` several times with one store."""
    store, row = stores.open(), launch()

    async def insert() -> None:
        await store.insert(row, 60.0)
        await store.aclose()

    async def read() -> Row | None:
        try:
            return await store.get(row.id)
        finally:
            await store.aclose()

    asyncio.run(insert())
    found = asyncio.run(read())
    assert found is not None
    assert found.id == row.id


def write_schema(url: str, number: int) -> None:
    """Record in a state which version created it."""
    if url.startswith("redis"):
        with redis.Redis.from_url(url) as server:
            server.set("cmsapi:schema", number)
        return
    path = url.removeprefix("sqlite:///")
    with contextlib.closing(psycopg.connect(url) if path == url else sqlite3.connect(path)) as connection:
        connection.execute(f"UPDATE cmsapi_meta SET value = '{number}'")  # noqa: S608  our own number
        connection.commit()


async def test_a_state_of_a_newer_version_is_refused(stores: Stores) -> None:
    """What a newer version wrote is not touched, however often opening is tried."""
    await stores.open().durations()
    write_schema(stores.url, 99)
    store = stores.open()
    try:
        for _ in range(2):
            with pytest.raises(StateError, match="newer"):
                await store.insert(launch(), 60.0)
    finally:
        write_schema(stores.url, 1)
    assert await store.rows(list(JobStatus)) == []
