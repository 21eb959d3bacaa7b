"""Kinds of jobs that this version does not know, in what a newer one has left: said, and left alone."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from pathlib import Path

import attrs
import pytest

import cmsapi
from cmsapi.jobs import JobKind
from cmsapi.jobs.journal.journal import scope_of
from cmsapi.jobs.kinds.kind import JobHistory
from cmsapi.jobs.token import write_token
from cmsapi.sandbox import Sandbox
from cmsapi.state.entry import Entry, EntryStatus, Lease
from cmsapi.state.opening import open_state
from cmsapi.state.store import State
from tests.support.jobs import box, client_of

STRANGE = "video"
LEFT = {
    f"{STRANGE} {status}": Entry(kind=STRANGE, target=status, asked_at=0.0, status=status)
    for status in (EntryStatus.INTENT, EntryStatus.SENDING, EntryStatus.RUNNING)
}
ENDED = Entry(kind=STRANGE, target="vid_1", asked_at=0.0, batch="nightly", item="one", job_id="v", status="succeeded")


@attrs.frozen
class Shared:
    """Hold a state that a newer version has written to."""

    sandbox: Sandbox
    url: str
    scope: str
    state: State

    def client(self) -> cmsapi.Client:
        """Make a client of this version."""
        return client_of(self.sandbox, state=self.url)


@pytest.fixture
async def shared(tmp_path: Path) -> AsyncIterator[Shared]:
    """A state with launches, an outcome and durations of a strange kind."""
    sandbox, url = box(0.2), f"sqlite:///{tmp_path / 'state.db'}"
    async with client_of(sandbox) as client:
        scope = scope_of(sandbox.base_url, (await client.me()).organization.id)
    state = open_state(url)
    for key, entry in LEFT.items():
        lease = Lease(scope, key)
        await state.begin(lease, entry)
        await state.release(lease)
    lease = Lease(scope, "ended")
    await state.begin(lease, attrs.evolve(ENDED, status=EntryStatus.RUNNING))
    await state.end(lease, attrs.evolve(ENDED, ended_at=1.0))
    await state.compare_and_set(scope, f"durations {STRANGE}", None, {"3 4": 5})
    yield Shared(sandbox, url, scope, state)
    await state.aclose()


async def test_launches_of_a_strange_kind_stay_in_the_journal(shared: Shared, caplog: pytest.LogCaptureFixture) -> None:
    """They are neither listed nor taken up nor struck out, and the log says why."""
    async with shared.client() as client:
        job = await client.keywords.analyze(shared.sandbox.keyword_ids[0])
        with caplog.at_level(logging.WARNING, "cmsapi"):
            assert [entry.kind for entry in await client.jobs.journal()] == ["keyword_analysis"]
            assert await client.jobs.reviews() == []
        assert "3 launches of kinds that this version of cmsapi does not know (video)" in caplog.text
        await client.jobs.resume()
        await job
    found = await shared.state.entries(shared.scope)
    assert {key: entry.status for key, entry in found.items()} == {key: entry.status for key, entry in LEFT.items()}
    assert await shared.state.get_document(shared.scope, f"durations {STRANGE}") == {"3 4": 5}


async def test_an_outcome_of_a_strange_kind_is_told(shared: Shared) -> None:
    """The item of a batch is not launched again, its outcome says why there is no result, and it stays."""
    one, two = "one", shared.sandbox.keyword_ids[1]
    async with shared.client() as client, client.jobs.batch("nightly") as batch:
        outcomes = {outcome.item: outcome async for outcome in batch.map(client.keywords.analyze, [one, two])}
    assert isinstance(outcomes[one].error, cmsapi.JobError)
    assert "does not know such jobs" in str(outcomes[one].error)
    assert outcomes[two].error is None
    assert {entry.item for entry in await shared.state.outcomes(shared.scope, batch="nightly")} == {one, two}
    assert [entry.target_id for entry in shared.sandbox.ledger.launches()] == [two]


@pytest.mark.looptime
async def test_a_word_without_a_kind_breaks_nothing() -> None:
    """A kind that is not registered is refused in words, and all others work."""
    newcomer = JobKind(STRANGE)
    assert not newcomer.known
    sandbox = box(30.0)
    token = write_token(newcomer, "vid_1", JobHistory(), sandbox.base_url)
    async with client_of(sandbox) as client:
        await client.keywords.get(sandbox.keyword_ids[0])
        await (await client.keywords.analyze(sandbox.keyword_ids[0]))
        assert client.jobs.statistics.finished == 1
        assert (await client.jobs.plan("keyword_analysis", 3)).learned_from == 1
        with pytest.raises(cmsapi.ArgumentError, match="`kind` must be one of"):
            client.jobs.watch(newcomer, "vid_1")
        with pytest.raises(cmsapi.ArgumentError, match="does not know: 'video'"):
            client.jobs.attach(token)
        with pytest.raises(cmsapi.ArgumentError, match="`kind` must be one of"):
            await client.jobs.plan(newcomer, 3)
