"""Launches in a store: rules that every kind of state keeps."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any

import pytest
from attrs import evolve
from hypothesis import HealthCheck, given, settings, strategies as st

from cmsapi.errors import ConfigError
from cmsapi.state.store import OPEN, JobStatus, Row, Store, open_store
from tests.unit.state.conftest import Stores

SENDING, RUNNING, REVIEW, SUCCEEDED, FAILED, UNKNOWN = JobStatus
OVER = [SUCCEEDED, FAILED, UNKNOWN]


def launch(target: str = "kw-1", **fields: Any) -> Row:
    """Return a launch."""
    return Row("analysis", target, f"name of {target}", **fields)


def timeless(row: Row | None) -> Row | None:
    """Return a row without the times that depend on when it was read."""
    return None if row is None else evolve(row, age=0.0, remaining=0.0)


async def test_a_launch_is_read_as_it_was_written(store: Store) -> None:
    """Each field comes back with its type, in any language and with bytes that are not text."""
    row = Row(
        "generation",
        'Ünïcode 目標 \U0001f9ea\'s "target"; -- %s {x} \\ \n',
        "Название",
        settings="digest",
        token="töken",
        result=bytes(range(256)),
        error="fehlgeschlagen …",
        decision="confirm",
        attempt=3,
    )
    assert await store.insert(row, 60.0) is None
    assert timeless(await store.get(row.id)) == row
    assert timeless(await store.find(row.kind, row.target)) == row


async def test_what_is_not_there_is_none(store: Store) -> None:
    """Asking for what was never written is not an error."""
    assert await store.get("nothing") is None
    assert await store.find("analysis", "nothing") is None
    assert await store.rows(list(JobStatus)) == []
    assert await store.items("nothing") == {}
    assert await store.batches() == {}
    await store.delete()
    await store.delete("nothing")
    await store.drop_items("nothing", ["nothing"])
    assert not await store.update(launch(), status=RUNNING)


@pytest.mark.parametrize("status", sorted(OPEN))
async def test_one_launch_of_a_target_is_open(store: Store, status: JobStatus) -> None:
    """A second launch returns the open one; neither it nor its item is written."""
    first, second = launch(status=status), launch()
    await store.insert(first, 60.0)
    there = await store.insert(second, 60.0, ("batch", "item"))
    assert timeless(there) == first
    assert await store.get(second.id) is None
    assert await store.items("batch") == {}


async def test_other_targets_and_kinds_are_open_beside_it(store: Store) -> None:
    """The rule applies to kind and target together."""
    await store.insert(launch("a"), 60.0)
    assert await store.insert(launch("b"), 60.0) is None
    assert await store.insert(evolve(launch("a"), kind="prompt"), 60.0) is None
    assert len(await store.rows([SENDING])) == 3


@pytest.mark.parametrize("status", OVER)
async def test_a_launch_that_is_over_makes_room(store: Store, status: JobStatus) -> None:
    """After the end of a launch its target can be launched again, and only the new one is found."""
    first, second = launch(), launch()
    await store.insert(first, 60.0)
    assert await store.update(first, status=status)
    assert await store.find(first.kind, first.target) is None
    assert await store.insert(second, 60.0) is None
    assert timeless(await store.find(second.kind, second.target)) == second


async def test_a_change_needs_the_status_and_attempt_that_were_read(store: Store) -> None:
    """Of two changes to one row the later is refused and changes nothing."""
    row = launch()
    await store.insert(row, 60.0)
    assert await store.update(row, attempt=2)
    assert not await store.update(row, status=RUNNING, token="late")
    there = await store.get(row.id)
    assert there is not None
    assert await store.update(there, status=RUNNING, token="t")
    assert not await store.update(there, status=FAILED)
    assert timeless(await store.get(row.id)) == evolve(row, attempt=2, status=RUNNING, token="t")


async def test_a_field_can_be_emptied(store: Store) -> None:
    """None is a value like any other."""
    row = launch(error="old", token="t", result=b"r")
    await store.insert(row, 60.0)
    assert await store.update(row, error=None, result=None)
    assert timeless(await store.get(row.id)) == evolve(row, error=None, result=None)


async def test_a_launch_opens_again_only_beside_no_other(store: Store) -> None:
    """An unknown launch that turns out to be running does not displace a newer one."""
    first, second = launch(), launch()
    await store.insert(first, 60.0)
    await store.update(first, status=UNKNOWN)
    await store.insert(second, 60.0)
    unknown = evolve(first, status=UNKNOWN)
    assert not await store.update(unknown, status=RUNNING)
    assert timeless(await store.find(first.kind, first.target)) == second
    assert await store.update(second, status=FAILED)
    assert await store.update(unknown, status=RUNNING)
    assert timeless(await store.find(first.kind, first.target)) == evolve(first, status=RUNNING)
    assert await store.insert(launch(), 60.0) is not None


async def test_the_end_of_an_old_launch_leaves_the_open_one(store: Store) -> None:
    """Changes to a launch that is over do not touch the open one of its target."""
    first, second = launch(), launch()
    await store.insert(first, 60.0, ("batch", "item"))
    await store.update(first, status=UNKNOWN)
    await store.insert(second, 60.0)
    assert await store.update(evolve(first, status=UNKNOWN), status=FAILED)
    assert timeless(await store.find(second.kind, second.target)) == second
    await store.delete(first.id)
    assert timeless(await store.find(second.kind, second.target)) == second


async def test_rows_come_by_status_and_age(store: Store) -> None:
    """The oldest launch comes first, whatever its status."""
    made = [launch(f"kw-{number}") for number in range(6)]
    for number, row in enumerate(made):
        await store.insert(row, 60.0)
        if number % 2:
            await store.update(row, status=RUNNING)
    assert [row.id for row in await store.rows([SENDING])] == [row.id for row in made[::2]]
    assert [row.id for row in await store.rows({RUNNING, SENDING})] == [row.id for row in made]


async def test_age_and_deadline_are_of_the_clock_of_the_store(store: Store) -> None:
    """A row shows its age and the time to its deadline when it was read; only the deadline can be moved."""
    row = launch()
    await store.insert(row, 10.0)
    before = await store.get(row.id)
    await asyncio.sleep(0.05)
    after = await store.find(row.kind, row.target)
    assert before is not None
    assert after is not None
    assert 0.0 <= before.age < after.age < 5.0
    assert 10.0 >= before.remaining > after.remaining > 5.0
    assert before.age + before.remaining == pytest.approx(10.0, abs=1e-3)
    assert await store.update(row, 100.0)
    moved = await store.get(row.id)
    assert moved is not None
    assert 90.0 < moved.remaining <= 100.0


async def test_a_finished_launch_goes(store: Store) -> None:
    """A launch that no batch needs is deleted when it ends."""
    row = launch()
    await store.insert(row, 60.0)
    await store.update(row, status=RUNNING)
    running = evolve(row, status=RUNNING)
    assert await store.update(running, status=SUCCEEDED, result=b"r")
    assert await store.get(row.id) is None
    assert not await store.update(running, status=SUCCEEDED)


async def test_a_finished_launch_of_a_batch_stays(store: Store) -> None:
    """A launch that a batch needs keeps its result, until the last item that needs it is dropped."""
    row = launch()
    await store.insert(row, 60.0, ("first", "a"))
    await store.add_item("second", "b", row.id)
    assert await store.update(row, status=SUCCEEDED, result=b"r")
    ended = evolve(row, status=SUCCEEDED, result=b"r")
    assert timeless((await store.items("first"))["a"]) == ended
    await store.drop_items("first", ["a", "nothing"])
    assert await store.items("first") == {}
    assert timeless((await store.items("second"))["b"]) == ended
    await store.drop_items("second", ["b"])
    assert await store.get(row.id) is None
    assert await store.batches() == {}


async def test_dropping_an_item_leaves_an_open_launch(store: Store) -> None:
    """A running job is not deleted with its item, but when it ends."""
    row = launch()
    await store.insert(row, 60.0, ("batch", "a"))
    await store.drop_items("batch", ["a"])
    assert timeless(await store.find(row.kind, row.target)) == row
    assert await store.update(row, status=FAILED)
    assert await store.get(row.id) is None


async def test_a_deleted_launch_takes_its_items_along(store: Store) -> None:
    """No dangling item is left, and the others stay."""
    first, second, third = launch("a"), launch("b"), launch("c")
    await store.insert(first, 60.0, ("batch", "ä"))
    await store.insert(second, 60.0, ("batch", "b"))
    await store.insert(third, 60.0)
    await store.add_item("other", "a", first.id)
    await store.delete(first.id, third.id)
    assert list(await store.items("batch")) == ["b"]
    assert await store.items("other") == {}
    assert await store.batches() == {"batch": {SENDING: 1}}
    again = launch("a")
    assert await store.insert(again, 60.0) is None
    assert timeless(await store.find("analysis", "a")) == again


async def test_an_item_has_one_launch(store: Store) -> None:
    """An item with a launch gets no second one, whatever its status, until it is dropped."""
    first, second = launch("a"), launch("b")
    await store.insert(first, 60.0, ("batch", "item"))
    assert await store.update(first, status=FAILED)
    there = await store.insert(second, 60.0, ("batch", "item"))
    assert there is not None
    assert there.id == first.id
    assert await store.get(second.id) is None
    await store.drop_items("batch", ["item"])
    assert await store.insert(second, 60.0, ("batch", "item")) is None
    assert await store.batches() == {"batch": {SENDING: 1}}


async def test_batches_count_items_by_status(store: Store) -> None:
    """Each item counts, even if two share a launch."""
    for number, status in enumerate([SENDING, RUNNING, RUNNING, REVIEW, SUCCEEDED, FAILED, UNKNOWN]):
        row = launch(f"kw-{number}")
        await store.insert(row, 60.0, ("Größe: {1}", f"item {number}"))
        if status is not SENDING:
            await store.update(row, status=status)
    await store.add_item("Größe: {1}", "item 0 again", (await store.rows([SENDING]))[0].id)
    await store.insert(launch("x"), 60.0, ("other", "x"))
    counted = {SENDING: 2, RUNNING: 2, REVIEW: 1, SUCCEEDED: 1, FAILED: 1, UNKNOWN: 1}
    assert await store.batches() == {"Größe: {1}": counted, "other": {SENDING: 1}}


async def test_many_items_are_dropped_at_once(store: Store) -> None:
    """A batch may be larger than the number of arguments that one statement or script accepts."""
    row = launch()
    names = [f"item {number}" for number in range(40)]
    await store.insert(row, 60.0, ("batch", "kept"))
    for name in names:
        await store.add_item("batch", name, row.id)
    await store.drop_items("batch", names + [f"no item {number}" for number in range(9000)])
    assert list(await store.items("batch")) == ["kept"]


IDS = [f"id-{number}" for number in range(4)]
STATUSES = st.sampled_from(list(JobStatus))
ONE_ID = st.sampled_from(IDS)
BATCH, ITEM = st.sampled_from(["p", "q"]), st.sampled_from(["1", "2"])
STEP = st.one_of(
    st.tuples(st.just("insert"), ONE_ID, st.sampled_from(["a", "b"]), st.none() | st.tuples(BATCH, ITEM)),
    st.tuples(st.just("update"), ONE_ID, STATUSES, STATUSES),
    st.tuples(st.just("delete"), ONE_ID),
    st.tuples(st.just("add_item"), BATCH, ITEM, ONE_ID),
    st.tuples(st.just("drop_items"), BATCH, st.lists(ITEM, max_size=2)),
)


async def _take_step(store: Store, step: tuple[Any, ...], mark: str) -> Any:
    operation, *values = step
    name = mark + values[2 if operation == "add_item" else 0]
    there = await store.get(name)
    expected = evolve(there, status=values[1]) if there and operation == "update" else launch(id=name)
    match operation:
        case "insert" if there is None:
            return timeless(await store.insert(launch(values[1], id=name), 60.0, values[2]))
        case "update":
            return await store.update(expected, status=values[2])
        case "delete":
            await store.delete(name)
        case "add_item" if there is not None:
            await store.add_item(values[0], values[1], name)
        case "drop_items":
            await store.drop_items(values[0], values[1])
    return None


async def _contents(store: Store) -> Any:
    rows = {row.id: timeless(row) for row in await store.rows(list(JobStatus))}
    items = {batch: {item: row.id for item, row in (await store.items(batch)).items()} for batch in ("p", "q")}
    found = {target: timeless(await store.find("analysis", target)) for target in ("a", "b")}
    return rows, items, found, await store.batches()


@given(steps=st.lists(STEP, min_size=5, max_size=25))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=20)
async def test_any_history_ends_as_in_memory(stores: Stores, steps: list[tuple[Any, ...]]) -> None:
    """Whatever is done to a shared state, each response and the final contents are as in memory."""
    mark = secrets.token_hex(4)  # names of launches are used once in a state
    here, there = open_store("memory:", ""), stores.open(mark)
    for step in steps:
        assert await _take_step(there, step, mark) == await _take_step(here, step, mark), step
    assert await _contents(there) == await _contents(here)
    await there.aclose()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "redis",
        "mysql://host",
        "sqlite://file",
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite:///x.db?timeout=5",
        "sqlite:///x.db\n",
        "redis://h:port",
        "redis://[h",
    ],
)
async def test_a_state_that_cannot_be_is_refused(url: str) -> None:
    """An invalid address is refused before anything is opened."""
    with pytest.raises(ConfigError):
        open_store(url, "")
