"""The journal of launches, its leases and outcomes: the same promises in memory, SQLite, Redis and Postgres."""

from __future__ import annotations

import asyncio

import attrs
import pytest

from cmsapi.errors import LeaseLostError
from cmsapi.state.entry import Entry, Lease
from cmsapi.state.store import State
from tests.support.places import LEASE_TTL, Place

pytestmark = pytest.mark.enable_socket

SCOPE = "https://api.example.com org_1"
ENTRY = Entry(kind="keyword_analysis", target="kw_1", asked_at=1_700_000_000.25)
OF_BATCH = attrs.evolve(ENTRY, batch="nightly", item="shoes")


def lease(key: str = "keyword_analysis kw_1", scope: str = SCOPE) -> Lease:
    """Wish to hold an entry."""
    return Lease(scope, key)


async def test_an_entry_comes_back_as_it_was(state: State, other: State) -> None:
    """What one process writes, another one reads, with everything that it says."""
    entry = Entry(
        kind="generation",
        target="cnt_1",
        asked_at=1_700_000_000.123456,
        status="review",
        served_at=1_700_000_001.5,
        job_id="gen_1",
        batch="nightly",
        item="ü 1",
        settings="0123",
        decision="confirm",
        facts={"baseline": "gen_0", "credits": 12, "seen": True, "at": 1.5, "none": None},
    )
    assert await state.begin(lease("a key"), entry) is None
    assert await other.entries(SCOPE) == {"a key": entry}


async def test_two_that_begin_the_same_work(state: State, other: State) -> None:
    """The first one holds the entry; the second one gets to see it and writes nothing."""
    assert await state.begin(lease(), ENTRY) is None
    assert await other.begin(lease(), attrs.evolve(ENTRY, job_id="another")) == ENTRY
    assert await state.entries(SCOPE) == {lease().key: ENTRY}


async def test_many_at_once(state: State, other: State) -> None:
    """Of forty that begin the same work at once, exactly one holds it."""
    begun = await asyncio.gather(*(each.begin(lease(), ENTRY) for each in (state, other) * 20))
    assert begun.count(None) == 1


async def test_scopes_do_not_meet(state: State) -> None:
    """The same key in another scope is another entry."""
    assert await state.begin(lease(), ENTRY) is None
    assert await state.begin(lease(scope="another"), ENTRY) is None
    await state.end(Lease("a third", lease().key))
    assert list(await state.entries("another")) == [lease().key]


async def test_a_repeated_beginning_is_the_same(state: State) -> None:
    """One that is repeated because its answer got lost holds the entry still."""
    mine = lease()
    assert await state.begin(mine, ENTRY) is None
    assert await state.begin(mine, ENTRY) is None
    await state.keep(mine)


async def test_an_outcome_is_kept_in_one_step(state: State, other: State) -> None:
    """That of an item without an entry: no process can end in between, and the first one counts."""
    shoes = attrs.evolve(ENTRY, batch="nightly", item="shoes", status="succeeded", ended_at=1.0)
    await state.note(lease(), shoes)
    await other.note(lease(), attrs.evolve(shoes, status="failed"))
    assert await other.outcomes(SCOPE, batch="nightly") == [shoes]
    assert await state.entries(SCOPE) == {}


async def test_an_entry_is_written_anew_and_deleted(state: State) -> None:
    """Under its lease an entry changes, ends, and can begin again."""
    mine, bound = lease(), attrs.evolve(ENTRY, status="active", job_id="job_1")
    await state.begin(mine, ENTRY)
    await state.update(mine, bound)
    assert await state.entries(SCOPE) == {mine.key: bound}
    await state.end(mine)
    assert await state.entries(SCOPE) == {}
    assert await state.begin(lease(), ENTRY) is None


async def test_a_held_entry_cannot_be_claimed(state: State, other: State) -> None:
    """An entry that a live process holds cannot be claimed, by that process under another lease neither."""
    await state.begin(lease(), ENTRY)
    assert await other.claim(lease()) is None
    assert await state.claim(lease()) is None
    assert await other.claim(lease("unheard of")) is None


async def test_released_is_free(state: State, other: State) -> None:
    """What its holder releases, the next one claims; then the first lease opens nothing any more."""
    mine, theirs = lease(), lease()
    await state.begin(mine, ENTRY)
    await state.release(theirs)
    assert await other.claim(theirs) is None
    await state.release(mine)
    assert await other.claim(theirs) == ENTRY
    assert await other.claim(theirs) == ENTRY
    with pytest.raises(LeaseLostError, match="another process has taken over"):
        await state.keep(mine)


async def test_a_frozen_owner_finds_out(place: Place, state: State, other: State) -> None:
    """A process without a heartbeat for too long loses the entry to the first that asks, and can write no more."""
    mine, theirs, found = lease(), lease(), attrs.evolve(ENTRY, job_id="found")
    await state.begin(mine, ENTRY)
    await place.pass_time(LEASE_TTL + 0.1)
    assert await other.claim(theirs) == ENTRY
    await other.update(theirs, found)
    for attempt in (state.keep(mine), state.update(mine, ENTRY), state.end(mine, attrs.evolve(ENTRY, ended_at=1.0))):
        with pytest.raises(LeaseLostError):
            await attempt
    await state.release(mine)
    assert await other.entries(SCOPE) == {mine.key: found}
    await other.keep(theirs)


async def test_a_late_owner_holds_its_entry_if_no_process_has_asked(place: Place, state: State, other: State) -> None:
    """A process that wakes late, before another one has asked, holds the entry for a whole life of a lease again."""
    mine = lease()
    await state.begin(mine, ENTRY)
    await place.pass_time(LEASE_TTL + 0.1)
    await state.keep(mine)
    assert await other.claim(lease()) is None


async def test_a_heartbeat_holds_everything(place: Place, state: State, other: State) -> None:
    """One heartbeat keeps all that a process holds, however many entries."""
    held = [lease(f"key {number}") for number in range(5)]
    for each in held:
        await state.begin(each, ENTRY)
    for _ in range(3):
        await place.pass_time(LEASE_TTL / 2)
        await state.heartbeat(SCOPE)
    assert [await other.claim(lease(each.key)) for each in held] == [None] * 5


async def test_a_heartbeat_tells_who_is_alive(place: Place, state: State, other: State) -> None:
    """A heartbeat returns the others whose heartbeats came in time, in this scope."""
    assert await state.heartbeat(SCOPE) == []
    assert len(await other.heartbeat(SCOPE)) == 1
    assert await other.heartbeat("another") == []
    await place.pass_time(LEASE_TTL + 0.1)
    assert await other.heartbeat(SCOPE) == []


async def test_who_only_asks_who_is_alive_is_not_alive(place: Place, state: State, other: State) -> None:
    """Asking for the others is no heartbeat, and finds those whose heartbeats came in time."""
    assert [*await state.others(SCOPE), *await other.others(SCOPE)] == []
    await state.heartbeat(SCOPE)
    assert await state.others(SCOPE) == []
    assert len(await other.others(SCOPE)) == 1
    assert await other.others("another") == []
    await place.pass_time(LEASE_TTL + 0.1)
    assert await other.others(SCOPE) == []


async def test_an_evicted_owner_holds_nothing(state: State, other: State) -> None:
    """What a dead owner held can be claimed at once."""
    await state.begin(lease(), ENTRY)
    (owner,) = await other.heartbeat(SCOPE)
    await other.evict(SCOPE, owner)
    assert await other.claim(lease()) == ENTRY


async def test_closing_gives_back(state: State, other: State) -> None:
    """What a process held that was closed in order can be claimed at once."""
    await state.begin(lease(), ENTRY)
    await state.aclose()
    await state.aclose()
    assert await other.claim(lease()) == ENTRY


async def test_an_outcome_stands_in_the_way(state: State, other: State) -> None:
    """The item of a batch that has ended is not begun again, by whatever key; another item is."""
    mine, outcome = lease(), attrs.evolve(OF_BATCH, status="succeeded", ended_at=1_700_000_060.0)
    assert await state.begin(mine, OF_BATCH) is None
    await state.end(mine, outcome)
    assert await other.outcomes(SCOPE, batch="nightly") == [outcome]
    assert await other.begin(lease("another key"), OF_BATCH) == outcome
    assert outcome.over
    assert not OF_BATCH.over
    assert await other.begin(lease(), attrs.evolve(OF_BATCH, item="boots")) is None
    assert await other.begin(lease("a third key"), attrs.evolve(OF_BATCH, batch="daily")) is None
    assert await other.outcomes(SCOPE, batch="daily") == []


async def test_a_repeated_end_is_the_same(state: State) -> None:
    """An end that is repeated because its answer got lost changes nothing."""
    mine, outcome = lease(), attrs.evolve(OF_BATCH, ended_at=2.0)
    await state.begin(mine, OF_BATCH)
    await state.end(mine, outcome)
    await state.end(mine, outcome)
    assert await state.outcomes(SCOPE, batch="nightly") == [outcome]
    assert await state.entries(SCOPE) == {}


@pytest.mark.parametrize("held", [True, False])
async def test_a_known_outcome_takes_the_place_of_an_unknown_one(state: State, other: State, held: bool) -> None:
    """It does so for a process that still takes its entry for held, too; an unknown one replaces nothing."""
    mine = lease()
    unknown = attrs.evolve(OF_BATCH, status="unknown", ended_at=2.0)
    known, later = (attrs.evolve(OF_BATCH, status=word, ended_at=3.0) for word in ("succeeded", "failed"))
    await state.note_known(mine, known)
    assert await state.outcomes(SCOPE, batch="nightly") == []
    await other.note(lease("theirs"), unknown)
    if held:
        assert await state.end(mine, known) is False
    else:
        await state.note(mine, known)
    await other.note(lease("theirs"), unknown)
    await other.note(lease("theirs"), later)
    assert await state.outcomes(SCOPE, batch="nightly") == [known]


async def test_recent_outcomes_of_all_batches(state: State, other: State) -> None:
    """What was asked for since a time is found in each batch, and what was asked for before is not."""
    ended = []
    for batch, asked_at in (("nightly", 100.0), ("daily", 200.0), ("weekly", 300.0)):
        of_item = attrs.evolve(OF_BATCH, batch=batch, asked_at=asked_at)
        mine = lease(batch)
        await state.begin(mine, of_item)
        ended.append(attrs.evolve(of_item, status="succeeded", ended_at=400.0))
        await state.end(mine, ended[-1])
    found = await other.outcomes(SCOPE, since=200.0)
    assert sorted(found, key=lambda entry: entry.asked_at) == ended[1:]
    assert await other.outcomes("another scope") == []


async def test_forgotten_outcomes(state: State) -> None:
    """What is forgotten of a batch may be launched again; the rest is kept."""
    for item in ("a", "b", "c"):
        of_item = attrs.evolve(OF_BATCH, item=item)
        mine = lease(item)
        await state.begin(mine, of_item)
        await state.end(mine, attrs.evolve(of_item, ended_at=3.0))
    await state.forget(SCOPE, "nightly", ["a", "c", "never there"])
    await state.forget(SCOPE, "nightly", [])
    assert [entry.item for entry in await state.outcomes(SCOPE, batch="nightly")] == ["b"]
    assert await state.begin(lease("a"), attrs.evolve(OF_BATCH, item="a")) is None
