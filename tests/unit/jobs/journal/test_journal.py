"""What a client writes down of its launches, and how clients of several processes share one journal."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import attrs
import pytest

from cmsapi.errors import LeaseLostError, StateError
from cmsapi.jobs.journal.journal import LaunchJournal, scope_of
from cmsapi.jobs.tracked import Record
from cmsapi.state.entry import Entry, EntryStatus, Lease, digest_of
from cmsapi.state.memory import MemoryState
from cmsapi.state.process import Owner
from tests.support.jobs import Spoiling, box, changed, client_of
from tests.support.memory import ProcessState

pytestmark = pytest.mark.looptime

BASE_URL = "https://api.example.com"
SCOPE = "digest of an account"
FULL = "the disk is full"
NOW = 1_700_000_100.0
ENTRY = Entry(kind="keyword_analysis", target="kwd_1", asked_at=1_700_000_000.0)
RUNNING = attrs.evolve(ENTRY, status="running")
SEARCH = attrs.evolve(ENTRY, kind="idea_search", target="tents", job_id="cis_1", status="running")
ITEM = attrs.evolve(ENTRY, batch="nightly", item="shoes")


class Gone(Owner):
    """Name a process that is no more, whatever the system says."""

    @property
    def dead(self) -> bool:
        """Whether the process is known to be gone."""
        return True


class Disk(ProcessState):
    """A state that counts what is asked, takes its time, fails when it is told to, and knows of dead processes."""

    shared = True

    def __init__(self, memory: MemoryState) -> None:
        super().__init__(memory)
        self.asked: Counter[str] = Counter()
        self.slow: dict[str, float] = {}
        self.fails: Sequence[str] = ()
        self.error: Exception = StateError(FULL)
        self.died = False
        self.evicted: Counter[str] = Counter()

    async def _asked(self, what: str) -> None:
        self.asked[what] += 1
        await asyncio.sleep(self.slow.get(what, 0.0))

    def _answered(self, what: str) -> None:
        if what in self.fails:
            raise self.error

    async def begin(self, lease: Lease, entry: Entry) -> Entry | None:
        """Begin an entry; when that fails it may be written all the same."""
        await self._asked("begin")
        stands = await super().begin(lease, entry)
        self._answered("begin")
        return stands

    async def note(self, lease: Lease, outcome: Entry) -> None:
        """Keep an outcome."""
        await self._asked("note")
        await super().note(lease, outcome)
        self._answered("note")

    async def claim(self, lease: Lease) -> Entry | None:
        """Claim an entry; when that fails it may be held all the same."""
        await self._asked("claim")
        entry = await super().claim(lease)
        self._answered("claim")
        return entry

    async def update(self, lease: Lease, entry: Entry) -> None:
        """Write an entry anew."""
        await self._asked("update")
        self._answered("update")
        await super().update(lease, entry)

    async def end(self, lease: Lease, outcome: Entry | None = None) -> bool:
        """Delete an entry."""
        await self._asked("end")
        self._answered("end")
        return await super().end(lease, outcome)

    async def release(self, lease: Lease) -> None:
        """Let others have an entry."""
        await self._asked("release")
        self._answered("release")
        await super().release(lease)

    async def keep(self, lease: Lease) -> None:
        """Make sure of an entry."""
        await self._asked("keep")
        await super().keep(lease)

    async def entries(self, scope: str) -> dict[str, Entry]:
        """Read the open entries."""
        await self._asked("entries")
        return await super().entries(scope)

    async def get_document(self, scope: str, name: str) -> Any:
        """Read a document."""
        await self._asked("get_document")
        self._answered("get_document")
        return await super().get_document(scope, name)

    async def heartbeat(self, scope: str) -> Sequence[Owner]:
        """Say that this process lives; the others may be dead."""
        await self._asked("heartbeat")
        self._answered("heartbeat")
        found = await super().heartbeat(scope)
        return [Gone(**attrs.asdict(owner)) for owner in found] if self.died else found

    async def evict(self, scope: str, owner: Owner) -> None:
        """Let others claim what an owner holds."""
        self.evicted[owner.id] += 1
        await super().evict(scope, owner)


class OwnDisk(Disk):
    """A state that no other process uses."""

    shared = False


class AtOnce(ThreadPoolExecutor):
    """Do work of threads on the loop: a thread knows nothing of virtual time."""

    def submit(self, work: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Do it."""
        done: Future[Any] = Future()
        done.set_result(work(*args, **kwargs))
        return done


@attrs.define
class Fleet:
    """Hold the journals of several processes that share a memory."""

    memory: MemoryState = attrs.field(factory=MemoryState)
    journals: list[LaunchJournal] = attrs.field(factory=list)

    def process(self, *, shared: bool = True) -> tuple[LaunchJournal, Disk]:
        """Begin another process, which does not know yet whose journal it is."""
        disk = Disk(self.memory) if shared else OwnDisk(self.memory)
        self.journals.append(LaunchJournal(disk, SCOPE, BASE_URL, wall=lambda: NOW))
        return self.journals[-1], disk

    async def open(self, *, shared: bool = True) -> tuple[LaunchJournal, Disk]:
        """Begin another process on a journal of the account."""
        journal, disk = self.process(shared=shared)
        await journal.open()
        disk.asked.clear()
        return journal, disk

    async def entries(self) -> dict[str, Entry]:
        """Return what is open."""
        return await ProcessState(self.memory).entries(SCOPE)

    async def outcomes(self) -> dict[str, Entry]:
        """Return how the items of the batch ended."""
        found = await ProcessState(self.memory).outcomes(SCOPE, batch="nightly")
        return {str(entry.item): entry for entry in found}


@pytest.fixture
async def fleet() -> AsyncIterator[Fleet]:
    """Processes that are ended in order."""
    asyncio.get_running_loop().set_default_executor(AtOnce())
    fleet = Fleet()
    yield fleet
    for journal in fleet.journals:
        await journal.aclose()


async def others(journal: LaunchJournal, key: str = "k") -> bool:
    """Tell whether another process can claim an entry, and release it again."""
    if (record := await journal.claim(key)) is None:
        return False
    await journal.leases.release(record)
    return True


# Whose journal


def test_a_journal_is_named_after_the_organisation() -> None:
    """The name stays what it is: under another one a new version would not find what an older one has launched."""
    assert scope_of(BASE_URL, "org_1") == "6c3027ed056bf1e94a5551be3e9fe3f1"
    assert len({scope_of(BASE_URL, "org_1"), scope_of(BASE_URL, "org_2"), scope_of("https://other", "org_1")}) == 3


@pytest.mark.parametrize("shared", [True, False])
async def test_a_shared_journal_belongs_to_the_organisation(fleet: Fleet, shared: bool) -> None:
    """One request finds out whose it is, once for all that ask; in memory the account is enough."""
    sandbox = box(latency=(1.0, 1.0))
    journal, disk = fleet.process(shared=shared)
    with pytest.raises(RuntimeError, match="the journal was not opened"):
        _ = journal.scope
    async with client_of(sandbox) as client:
        names = await asyncio.gather(journal.open(client.me), journal.open(client.me))
        assert len(sandbox.ledger) == disk.asked["heartbeat"] == shared
        organization = (await client.me()).organization.id
    assert set(names) == {scope_of(BASE_URL, organization) if shared else SCOPE} == {journal.scope}


async def test_a_key_without_an_organisation_has_no_shared_journal(tmp_path: Path) -> None:
    """A null there is refused in words before anything is launched, and not by a mistake of this package."""
    sandbox = box()
    state, transport = f"sqlite:///{tmp_path}/state.db", Spoiling(sandbox, changed("/v1/me", organization=None))
    async with client_of(sandbox, state=state, transport=transport) as client:
        with pytest.raises(StateError, match="does not show the organization of the key"):
            await client.keywords.analyze(sandbox.keyword_ids[0])
    assert not sandbox.ledger.launches(sandbox.keyword_ids[0])


async def test_a_state_that_fails_is_found_before_the_request(fleet: Fleet) -> None:
    """Nothing is asked of the service when what it says could not be used; the next one that asks tries again."""
    sandbox = box()
    journal, disk = fleet.process()
    async with client_of(sandbox) as client:
        disk.fails = ("get_document",)
        with pytest.raises(StateError, match=FULL):
            await journal.open(client.me)
        assert len(sandbox.ledger) == 0
        disk.fails = ()
        await journal.open(client.me)
    assert len(sandbox.ledger) == 1


async def test_what_the_dead_held_is_free_once_a_journal_is_open(fleet: Fleet) -> None:
    """A process that begins looks for those that are gone before anything else."""
    sandbox = box()
    (one, dead), (other, disk) = fleet.process(), fleet.process()
    async with client_of(sandbox) as client:
        await one.open(client.me)
        await one.begin("k", ENTRY)
        disk.died = True
        await other.open(client.me)
        assert disk.evicted.total() == 1
        lease = Lease(other.scope, "k")
        assert await ProcessState(fleet.memory).claim(lease) == ENTRY
    assert dead.evicted.total() == 0


async def test_settings_are_compared_by_a_digest(fleet: Fleet) -> None:
    """It is the same in every process of a journal, another one in another journal, and tells nothing by itself."""
    (one, _), (other, _) = await fleet.open(), await fleet.open()
    elsewhere, _ = await Fleet().open()
    settings = {"tone": "plain", "length": 3}
    digest = one.digest(settings)
    assert digest == other.digest({"length": 3, "tone": "plain"})
    assert len({digest, one.digest({"tone": "plain"}), elsewhere.digest(settings), None}) == 4
    assert one.digest(None) is None
    # Other versions find it there too.
    salt = await ProcessState(fleet.memory).get_document(SCOPE, "salt")
    assert len(salt) == 32
    assert digest == digest_of(settings, salt)


# Begin, write, end


async def test_what_is_begun_is_held(fleet: Fleet) -> None:
    """The client that begins an entry finds its own record again; others see what stands there, and do not hold it."""
    (one, disk), (other, _) = await fleet.open(), await fleet.open()
    mine = await one.begin("k", ENTRY)
    assert (mine.entry, mine.held) == (ENTRY, True)
    assert await one.begin("k", attrs.evolve(ENTRY, asked_at=1.0)) is mine
    assert await one.claim("k") is None
    assert disk.asked["claim"] == 0
    theirs = await other.begin("k", attrs.evolve(ENTRY, asked_at=2.0))
    assert (theirs.entry, theirs.held) == (ENTRY, False)
    await one.leases.release(mine)
    theirs = await other.begin("k", attrs.evolve(ENTRY, asked_at=3.0))
    assert (theirs.entry, theirs.held) == (ENTRY, True)
    assert not mine.held
    assert await one.claim("k") is None
    assert await one.claim("never begun") is None


async def test_the_outcome_of_an_item_is_not_claimed(fleet: Fleet) -> None:
    """An item that has ended stands in the way for good, and there is nothing to hold."""
    journal, disk = await fleet.open()
    await journal.delete(await journal.begin("k", ITEM), EntryStatus.SUCCEEDED, decision="confirm")
    outcome = attrs.evolve(ITEM, status="succeeded", decision="confirm", ended_at=NOW)
    assert await fleet.outcomes() == {"shoes": outcome}
    record = await journal.begin("k", ITEM)
    assert (record.entry, record.held, disk.asked["claim"]) == (outcome, False, 0)


async def test_an_entry_that_may_have_been_written_is_withdrawn(fleet: Fleet) -> None:
    """A beginning that fails leaves nothing behind, whether or not it was written."""
    journal, disk = await fleet.open()
    disk.fails = ("begin",)
    with pytest.raises(StateError, match=FULL):
        await journal.begin("k", ITEM)
    assert set(await fleet.entries()) == {"k"}
    await journal.flush()
    assert (await fleet.entries(), await fleet.outcomes()) == ({}, {})


async def test_an_entry_that_may_be_held_is_left(fleet: Fleet) -> None:
    """A claim that fails blocks no other process, whether or not it had an effect."""
    (one, disk), (other, _) = await fleet.open(), await fleet.open()
    await other.leases.release(await other.begin("k", ENTRY))
    disk.fails = ("claim",)
    with pytest.raises(StateError, match=FULL):
        await one.claim("k")
    await one.flush()
    assert await others(other)


async def test_changes_are_known_once_they_are_written(fleet: Fleet) -> None:
    """When they cannot be written the entry says what it said, and it is held still."""
    journal, disk = await fleet.open()
    record = await journal.begin("k", ENTRY)
    await journal.write(record, status="sending", served_at=5.0)
    pending = attrs.evolve(ENTRY, status="sending", served_at=5.0)
    assert (record.entry, await fleet.entries()) == (pending, {"k": pending})
    disk.fails = ("update",)
    with pytest.raises(StateError, match=FULL):
        await journal.write(record, status="running")
    assert (record.entry, record.held, await fleet.entries()) == (pending, True, {"k": pending})


@pytest.mark.parametrize("how", ["write", "delete"])
async def test_who_was_taken_over_writes_nothing(fleet: Fleet, how: str) -> None:
    """It finds out when it writes, holds the entry no longer, and may see what the other has made of it."""
    (one, _), (other, _) = await fleet.open(), await fleet.open()
    record = await one.begin("k", ITEM)
    await ProcessState(fleet.memory).release(record.lease)
    theirs = await other.claim("k")
    assert theirs is not None
    with pytest.raises(LeaseLostError, match="another process has taken over"):
        await (one.write(record, status="sending") if how == "write" else one.delete(record, EntryStatus.FAILED))
    assert not record.held
    assert (await fleet.entries(), await fleet.outcomes()) == ({"k": ITEM}, {})
    await other.delete(theirs)
    assert (await one.begin("k", ITEM)).held


async def test_without_a_status_an_item_has_no_outcome(fleet: Fleet) -> None:
    """What was deleted without one may be launched again at once."""
    journal, _ = await fleet.open()
    for end in (journal.delete, None, None):
        record = await journal.begin("k", ITEM)
        assert record.held
        await (journal.delete(record) if end else _withdrawn(journal, record))
        assert (record.held, await fleet.entries(), await fleet.outcomes()) == (False, {}, {})


async def _withdrawn(journal: LaunchJournal, record: Record) -> None:
    journal.delete_later(record)
    await journal.flush()


async def test_what_cannot_be_struck_out_is_left(fleet: Fleet) -> None:
    """An end that fails raises, and the next process that asks gets the entry."""
    (one, disk), (other, _) = await fleet.open(), await fleet.open()
    record = await one.begin("k", ENTRY)
    disk.fails = ("end",)
    with pytest.raises(StateError, match=FULL):
        await one.delete(record)
    assert not record.held
    await one.flush()
    assert await others(other)


@pytest.mark.parametrize("lost", [True, False])
async def test_a_launch_that_happened_is_not_lost_with_the_state(
    fleet: Fleet, lost: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """That it could not be written down is in the log; here it is known to run."""
    (one, disk), (other, _) = await fleet.open(), await fleet.open()
    record = await one.begin("k", ENTRY)
    if lost:
        await ProcessState(fleet.memory).release(record.lease)
        assert await other.claim("k") is not None
    else:
        disk.fails = ("update",)
    await one.record_launched(record, job_id="kwd_1", served_at=7.0)
    assert record.entry == attrs.evolve(ENTRY, status="running", job_id="kwd_1", served_at=7.0)
    assert await fleet.entries() == {"k": ENTRY}
    (said,) = [each.getMessage() for each in caplog.records]
    assert said.startswith("Journal unavailable; a launch could not be recorded as done: ")
    assert ("taken over" if lost else FULL) in said


async def test_a_launch_that_happened_is_written_down(fleet: Fleet, caplog: pytest.LogCaptureFixture) -> None:
    """With its name and its time, and without a word."""
    journal, _ = await fleet.open()
    record = await journal.begin("k", ENTRY)
    await journal.record_launched(record, job_id="kwd_1", served_at=7.0)
    running = attrs.evolve(ENTRY, status="running", job_id="kwd_1", served_at=7.0)
    assert (record.entry, await fleet.entries()) == (running, {"k": running})
    assert not caplog.records


async def test_what_is_written_stands_although_a_heartbeat_was_first(fleet: Fleet) -> None:
    """A heartbeat that writes a lost entry anew does not put what was known before in the place of what is written."""
    journal, disk = await fleet.open()
    record = await journal.begin("k", ENTRY)
    with record.in_work():
        disk.slow = {"begin": 1.0}
        fleet.memory.rows["journal"].clear()
        # The heartbeat has found that it is lost, and its write takes a second.
        await asyncio.sleep(10.5)
        await journal.write(record, status=EntryStatus.SENDING)
        assert (await fleet.entries())["k"].status == "sending"


async def test_doubt_is_kept_for_those_who_wait(fleet: Fleet) -> None:
    """Each time a launch is given up, its followers can tell that one from those before; the reason is cut short."""
    (one, _), (other, _) = await fleet.open(), await fleet.open()
    for asked_at in (1.0, 2.0):
        launch = attrs.evolve(ITEM, asked_at=asked_at, item=f"{asked_at}", facts={"settle": 5.0})
        theirs = await one.begin("k", launch)
        followed = (await other.begin("k", attrs.evolve(ENTRY, asked_at=9.0))).entry
        assert await other.unknown.of(Lease(SCOPE, "k"), followed.asked_at) is None
        await one.record_unknown(theirs, "no evidence " + "x" * 1000)
        told = attrs.evolve(launch, facts={"settle": 5.0, "found": "no evidence " + "x" * 488})
        assert (await fleet.outcomes())[f"{asked_at}"] == attrs.evolve(told, status="unknown", ended_at=NOW)
        mine = await other.begin("k", attrs.evolve(ENTRY, asked_at=9.0))
        assert mine.held
        assert await other.unknown.of(mine.lease, followed.asked_at) == attrs.evolve(told, batch="nightly")
        assert await other.unknown.of(mine.lease, ENTRY.asked_at) is None
        assert await other.unknown.of(Lease(SCOPE, "another"), followed.asked_at) is None
        await other.delete(mine)


async def test_doubt_is_forgotten_after_a_day(fleet: Fleet) -> None:
    """One document has the launches of the last day that were given up, and those before leave nothing."""
    journal, disk = await fleet.open()
    for key, age in (("old", 90_000.0), ("k", 60.0), ("new", 0.0)):
        await journal.record_unknown(await journal.begin(key, attrs.evolve(ENTRY, asked_at=NOW - age)), "why")
    kept = await disk.get_document(SCOPE, "unknown")
    assert {key: said["asked_at"] for key, said in kept.items()} == {"k": NOW - 60.0, "new": NOW}
    assert await fleet.entries() == {}


async def test_an_outcome_can_be_noted_without_an_entry(fleet: Fleet) -> None:
    """That of an item whose job stands for another item too; the first one that is noted counts."""
    journal, _ = await fleet.open()
    shoes, later = (attrs.evolve(ITEM, status=status, ended_at=NOW) for status in ("succeeded", "failed"))
    boots = attrs.evolve(later, item="boots")
    await asyncio.gather(journal.note_outcome(shoes), journal.note_outcome(boots))
    await journal.note_outcome(later)
    assert await fleet.outcomes() == {"shoes": shoes, "boots": boots}
    assert await fleet.entries() == {}


async def test_an_outcome_is_kept_although_its_fan_out_is_left(fleet: Fleet) -> None:
    """A caller that leaves the loop in that moment does not have the item launched and paid for by each later run."""
    journal, disk = await fleet.open()
    shoes = attrs.evolve(ITEM, status="succeeded", ended_at=NOW)
    disk.slow = dict.fromkeys(("begin", "note", "end"), 1.0)
    for after in (0.0, 0.5):
        noting = asyncio.create_task(journal.note_outcome(shoes))
        await asyncio.sleep(after + 0.1)
        noting.cancel()
    await journal.flush()
    assert await fleet.outcomes() == {"shoes": shoes}
    assert await fleet.entries() == {}


async def test_an_outcome_that_cannot_be_kept_is_told_and_tried_again(fleet: Fleet) -> None:
    """A full disk ends the fan-out, and the outcome is written once there is room."""
    journal, disk = await fleet.open()
    disk.fails = ("note",)
    with pytest.raises(StateError):
        await journal.note_outcome(attrs.evolve(ITEM, status="succeeded", ended_at=NOW))
    disk.fails = ()
    await journal.flush()
    assert list(await fleet.outcomes()) == ["shoes"]


# Ends that are written in a moment


async def test_an_end_is_written_once_it_was_seen(fleet: Fleet) -> None:
    """With its word and what was decided; the process that saw it need not hold the entry."""
    (one, _), (other, _) = await fleet.open(), await fleet.open()
    record = await one.begin("k", ITEM)
    await one.leases.release(record)
    one.record_end(record, EntryStatus.SUCCEEDED, "confirm")
    assert await fleet.entries() == {"k": ITEM}
    await one.flush()
    assert await fleet.entries() == {}
    outcome = attrs.evolve(ITEM, status="succeeded", decision="confirm", ended_at=NOW)
    assert await fleet.outcomes() == {"shoes": outcome}
    assert (await other.begin("k", ENTRY)).held


@pytest.mark.parametrize("seen", ["end", "review", "nothing"])
async def test_what_is_seen_of_a_launch_is_not_said_of_a_later_one(fleet: Fleet, seen: str) -> None:
    """When another process has deleted it and launched anew, the new entry stays as it is, and is free."""
    (one, _), (other, _) = await fleet.open(), await fleet.open()
    record = await one.begin("k", ITEM)
    await one.leases.release(record)
    theirs = await other.claim("k")
    assert theirs is not None
    await other.delete(theirs)
    later = attrs.evolve(ITEM, asked_at=ITEM.asked_at + 60.0)
    await other.leases.release(await other.begin("k", later))
    _on_response(one, record, seen)
    await one.flush()
    assert (await fleet.entries(), await fleet.outcomes()) == ({"k": later}, {})
    assert await others(other)


@pytest.mark.parametrize("seen", ["end", "review", "nothing"])
async def test_what_others_hold_is_theirs_to_write(fleet: Fleet, seen: str) -> None:
    """An end, a review or long silence is left to the process that polls the job now."""
    (one, _), (other, _) = await fleet.open(), await fleet.open()
    record = await one.begin("k", ITEM)
    await one.leases.release(record)
    assert await other.claim("k") is not None
    _on_response(one, record, seen)
    await one.flush()
    assert (await fleet.entries(), await fleet.outcomes()) == ({"k": ITEM}, {})


def _on_response(journal: LaunchJournal, record: Record, seen: str) -> None:
    if seen == "end":
        journal.record_end(record, EntryStatus.SUCCEEDED)
    elif seen == "review":
        journal.record_review(record)
    else:
        journal.record_end(record, None)


async def test_any_process_may_decide_on_a_review(fleet: Fleet) -> None:
    """An article that waits is written down as such, and its entry is free."""
    (one, _), (other, _) = await fleet.open(), await fleet.open()
    record = await one.begin("k", ENTRY)
    one.record_review(record)
    await one.flush()
    assert await fleet.entries() == {"k": attrs.evolve(ENTRY, status="review")}
    assert not record.held
    assert await others(other)


async def test_a_job_without_an_outcome_is_deleted(fleet: Fleet) -> None:
    """Its entry is deleted without an outcome."""
    journal, _ = await fleet.open()
    record = await journal.begin("k", ITEM)
    journal.record_end(record, None)
    await journal.flush()
    assert (record.held, await fleet.entries(), await fleet.outcomes()) == (False, {}, {})


@pytest.mark.parametrize("how", ["begin", "take"])
async def test_what_is_asked_of_an_entry_waits_for_what_is_being_written(fleet: Fleet, how: str) -> None:
    """A process that releases an entry can hold it again."""
    journal, disk = await fleet.open()
    record = await journal.begin("k", ENTRY)
    disk.slow = {"release": 0.5}
    journal.leases.release_later(record)
    if how == "begin":
        again = await journal.begin("k", attrs.evolve(ENTRY, asked_at=1.0))
    else:
        again = Record(ENTRY, Lease(SCOPE, "k"))
        assert await journal.acquire(again)
    assert again is not record
    assert again.held


# Taking


async def test_a_job_is_polled_by_one(fleet: Fleet) -> None:
    """The first process that asks claims its entry; when it is over, every process may poll it."""
    (one, _), (other, disk) = await fleet.open(), await fleet.open()
    mine = await one.begin("k", ENTRY)
    theirs = Record(ENTRY, Lease(SCOPE, "k"))
    assert not other.leases.holds(theirs)
    assert not await other.acquire(theirs)
    await one.leases.release(mine)
    assert not await other.acquire(theirs, claim=False)
    assert await other.acquire(theirs)
    assert (theirs.held, other.leases.holds(theirs), one.leases.holds(mine)) == (True, True, False)
    assert not await one.acquire(mine)
    await other.delete(theirs)
    await asyncio.sleep(1)
    assert await other.acquire(theirs, claim=False)
    assert (theirs.held, theirs.pollable, other.leases.holds(theirs)) == (False, True, True)
    disk.asked.clear()
    assert await other.acquire(theirs)
    assert not disk.asked


@pytest.mark.parametrize("shared", [True, False])
async def test_a_poll_without_a_claim_asks_for_none(fleet: Fleet, shared: bool) -> None:
    """As long as no process was found dead, it only checks that the entry is still there."""
    (one, _), (other, disk) = await fleet.open(), await fleet.open(shared=shared)
    await one.leases.release(await one.begin("k", ENTRY))
    assert not await other.acquire(Record(ENTRY, Lease(SCOPE, "k")), claim=False)
    assert (disk.asked["claim"], disk.asked["heartbeat"]) == (0, shared)


async def test_a_job_is_found_by_its_name(fleet: Fleet) -> None:
    """The entry of a job that a token names: of the same kind, by its own identifier or what it works on."""
    (one, _), (other, _) = await fleet.open(), await fleet.open()
    running = {
        "prompt": attrs.evolve(RUNNING, kind="prompt_analysis"),
        "before": attrs.evolve(RUNNING, target="kwd_0"),
        "sending": attrs.evolve(RUNNING, status="sending"),
        "later": attrs.evolve(RUNNING, served_at=NOW),
        "keyword": attrs.evolve(RUNNING, served_at=NOW - 60.0),
        "first": SEARCH,
        "second": attrs.evolve(SEARCH, job_id="cis_2"),
    }
    for key, entry in running.items():
        await one.leases.release(await one.begin(key, entry))
    for key in ("keyword", "second"):
        wanted = attrs.evolve(running[key], asked_at=0.0, target="kwd_1")
        record = Record(wanted)
        assert await other.acquire(record)
        assert (record.held, record.entry) == (True, running[key])
        assert await one.claim(key) is None
    unknown = Record(attrs.evolve(SEARCH, job_id="cis_3"))
    assert await other.acquire(unknown)
    assert (unknown.held, unknown.pollable) == (False, True)


async def test_an_entry_that_comes_later_is_found_at_the_end(fleet: Fleet) -> None:
    """A job that stood in no journal when it was first polled may stand in one when it ends."""
    (one, _), (other, _) = await fleet.open(), await fleet.open()
    record = Record(attrs.evolve(ENTRY, asked_at=0.0))
    assert await one.acquire(record)
    await other.leases.release(await other.begin("k", RUNNING))
    one.record_end(record, EntryStatus.SUCCEEDED)
    await one.flush()
    assert await fleet.entries() == {}


async def test_followers_read_the_journal_together(fleet: Fleet) -> None:
    """However many jobs are followed, what is open is read once in half a second."""
    (one, _), (other, disk) = await fleet.open(), await fleet.open()
    await asyncio.sleep(3)
    await one.begin("k", ENTRY)
    read = []
    for pause in (0.0, 0.0, 0.375, 0.125):
        await asyncio.sleep(pause)
        assert not await other.acquire(Record(ENTRY, Lease(SCOPE, "k")), claim=False)
        read.append(disk.asked["entries"])
    assert read == [1, 1, 1, 2]


async def test_followers_search_for_dead_processes_together(fleet: Fleet) -> None:
    """Once a second; what a dead process held is claimed in the round in which it is found, and in the next."""
    (one, _), (other, disk) = await fleet.open(), await fleet.open()
    for key in "abc":
        await one.begin(key, ENTRY)
    await asyncio.sleep(3)
    seen = []
    for pause in (0.0, 0.5, 0.5):
        await asyncio.sleep(pause)
        assert not await other.acquire(Record(ENTRY, Lease(SCOPE, "a")), claim=False)
        seen.append(disk.asked["heartbeat"])
    assert seen == [1, 1, 2]
    disk.died = True
    await asyncio.sleep(1)
    assert await other.acquire(Record(ENTRY, Lease(SCOPE, "a")), claim=False)
    disk.died = False
    await asyncio.sleep(1.5)
    assert await other.acquire(Record(ENTRY, Lease(SCOPE, "b")), claim=False)
    await asyncio.sleep(0.5)
    assert not await other.acquire(Record(ENTRY, Lease(SCOPE, "c")), claim=False)
    assert disk.evicted.total() == 1


@pytest.mark.parametrize("died", [True, False])
async def test_a_claim_looks_for_the_dead(fleet: Fleet, died: bool) -> None:
    """What cannot be claimed is claimed once more when its holder turns out to be gone."""
    (one, _), (other, disk) = await fleet.open(), await fleet.open()
    await one.begin("k", ENTRY)
    disk.died = died
    record = await other.claim("k")
    assert (record is not None) == died
    assert disk.asked == {"claim": 1 + died, "heartbeat": 1}


async def test_what_is_free_is_claimed_without_a_search(fleet: Fleet) -> None:
    """Dead processes do not matter then."""
    (one, _), (other, disk) = await fleet.open(), await fleet.open()
    await one.leases.release(await one.begin("k", ENTRY))
    assert await other.claim("k") is not None
    assert disk.asked == {"claim": 1}


# Heartbeats


async def test_what_is_worked_on_is_held(fleet: Fleet) -> None:
    """A heartbeat goes out every ten seconds; an entry without work and waiters is free after the first."""
    (one, disk), (other, _) = await fleet.open(), await fleet.open()
    idle, busy = await one.begin("idle", ENTRY), await one.begin("busy", ENTRY)
    with busy.in_work():
        await asyncio.sleep(9.5)
        assert idle.held
        await asyncio.sleep(1)
        assert (idle.held, await others(other, "idle")) == (False, True)
        for _ in range(10):
            await asyncio.sleep(20)
            assert not await others(other, "busy")
        assert (one.leases.holds(busy), disk.asked["heartbeat"]) == (True, 21)
    await asyncio.sleep(10)
    assert await others(other, "busy")
    assert not busy.held


async def test_heartbeats_begin_anew(fleet: Fleet) -> None:
    """A process that held nothing for a while holds what it begins then, and says that it lives."""
    (one, disk), (other, _) = await fleet.open(), await fleet.open()
    await one.begin("k", ENTRY)
    await asyncio.sleep(100)
    beats = disk.asked["heartbeat"]
    record = await one.claim("k")
    assert record is not None
    with record.in_work():
        for _ in range(10):
            assert one.leases.holds(record)
            await asyncio.sleep(10)
        assert not await others(other)
    assert disk.asked["heartbeat"] - beats == pytest.approx(10, abs=1)


async def test_in_memory_no_heartbeat_is_needed(fleet: Fleet) -> None:
    """No other process could take an entry over."""
    journal, disk = await fleet.open(shared=False)
    record = await journal.begin("k", ENTRY)
    with record.in_work():
        await asyncio.sleep(100)
        assert journal.leases.holds(record)
    assert not disk.asked["heartbeat"]


async def test_heartbeats_go_on_after_a_failure(fleet: Fleet, caplog: pytest.LogCaptureFixture) -> None:
    """A state that fails for a moment is in the log, and the next heartbeat comes in time."""
    (one, disk), (other, _) = await fleet.open(), await fleet.open()
    with (await one.begin("k", ENTRY)).in_work():
        disk.fails = ("heartbeat",)
        await asyncio.sleep(15)
        disk.fails = ()
        (said,) = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
        assert said == f"Heartbeat failed; other processes may take the launches over: {FULL}"
        await asyncio.sleep(30)
        assert not await others(other)


async def test_heartbeats_go_on_after_an_unexpected_error(fleet: Fleet, caplog: pytest.LogCaptureFixture) -> None:
    """An error that no state should raise is logged once with its traceback, and the entry stays with this process."""
    (one, disk), (other, _) = await fleet.open(), await fleet.open()
    record = await one.begin("k", ENTRY)
    with record.in_work():
        disk.fails, disk.error = ("heartbeat",), OSError("no such device")
        await asyncio.sleep(25)
        disk.fails = ()
        (said,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
        assert said.getMessage() == "Heartbeat failed; other processes may take the launches over: no such device"
        assert said.exc_info is not None
        for _ in range(10):
            await asyncio.sleep(10)
            assert not await others(other)
        assert one.leases.holds(record)


async def test_held_entries_are_lost_when_heartbeats_keep_failing(fleet: Fleet) -> None:
    """When the heartbeats fail for longer than a lease lives, this process takes its entries for lost."""
    (one, disk), (other, _) = await fleet.open(), await fleet.open()
    record = await one.begin("k", ENTRY)
    with record.in_work():
        disk.fails, disk.error = ("heartbeat",), OSError("no such device")
        await asyncio.sleep(31)
        assert not one.leases.holds(record)
        assert await others(other)


async def test_after_a_standstill_nothing_is_taken_for_held(fleet: Fleet) -> None:
    """Half a minute after its last heartbeat a process has to hold an entry anew before it polls the job."""
    (one, disk), (other, _) = await fleet.open(), await fleet.open()
    await asyncio.sleep(50)
    record = await one.begin("k", ENTRY)
    disk.slow = {"heartbeat": 45.0}
    with record.in_work():
        await asyncio.sleep(29.5)
        assert one.leases.holds(record)
        await asyncio.sleep(0.5)
        assert not one.leases.holds(record)
        assert not record.held
        assert await others(other)
        disk.slow = {}
        await asyncio.sleep(30)
        assert await one.acquire(record)
        assert one.leases.holds(record)


async def test_who_stood_still_keeps_what_is_left(fleet: Fleet, caplog: pytest.LogCaptureFixture) -> None:
    """When it wakes it makes sure of each entry, lets go of those that others have taken, and says so."""
    caplog.set_level(logging.INFO, "cmsapi")
    (one, disk), (other, _) = await fleet.open(), await fleet.open()
    lost, kept = await one.begin("lost", ENTRY), await one.begin("kept", ENTRY)
    disk.slow = {"heartbeat": 45.0}
    with lost.in_work(), kept.in_work():
        await asyncio.sleep(35)
        disk.slow = {}
        theirs = await other.claim("lost")
        assert theirs is not None
        with theirs.in_work():
            await asyncio.sleep(31)
            assert (one.leases.holds(lost), one.leases.holds(kept), disk.asked["keep"]) == (False, True, 2)
            assert not lost.held
            (said,) = [record.getMessage() for record in caplog.records]
            assert said.startswith("lost is no longer held by this process")
            await asyncio.sleep(60)
            assert (one.leases.holds(kept), disk.asked["keep"]) == (True, 2)


# Closing


@pytest.mark.parametrize("fails", [(), ("end", "release")])
async def test_closing_leaves_to_others_what_was_sent(fleet: Fleet, fails: Sequence[str]) -> None:
    """The entry of an intent is deleted; a state that fails then does not keep a client from closing."""
    (one, disk), (other, _) = await fleet.open(), await fleet.open()
    tasks = asyncio.all_tasks()
    await one.begin("intended", ENTRY)
    await one.begin("running", SEARCH)
    ended = await one.begin("ended", attrs.evolve(SEARCH, target="boots"))
    one.record_end(ended, EntryStatus.SUCCEEDED)
    if fails:
        await one.flush()
    disk.fails = fails
    await one.aclose()
    assert asyncio.all_tasks() == tasks
    if not fails:
        assert await fleet.entries() == {"running": SEARCH}
        assert await others(other, "running")
