"""Two versions share a state: what the older one wrote is read, and what only the newer one knows is left alone.

That a newer layout is refused and left as it is, byte for byte, is in `test_sqlite` and `test_redis`.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from pathlib import Path

import pytest

import cmsapi
from cmsapi.errors import StateError
from cmsapi.ratelimit import shared_log
from cmsapi.ratelimit.shared_log import AccountLimits, SharedLog, read, write
from cmsapi.state.entry import Entry, Lease
from cmsapi.state.sqlite import SqliteState
from cmsapi.state.store import State
from tests.support.tokens import sealed
from tests.support.written_state import ADDRESS, BATCH, client_of, dumped, sandbox

pytestmark = pytest.mark.enable_socket

SCOPE = "https://api.example.com org_1"
#: The state that each version wrote, as statements; a new version adds a file when it writes another one.
WRITTEN = sorted(Path(__file__).parent.glob("made_by_*.sql"))


@pytest.fixture(params=WRITTEN, ids=lambda path: path.stem)
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A file that a version wrote."""
    path = tmp_path / "state.db"
    db = sqlite3.connect(path)
    db.executescript(request.param.read_text(encoding="utf-8"))
    db.close()
    return path


@pytest.mark.usefixtures("turning_loop")
async def test_a_batch_of_an_older_version_goes_on(written: Path) -> None:
    """Its ended items are known and nothing is launched or paid again."""
    box = sandbox()
    # What the older version has launched at this service.
    async with cmsapi.Client(box.api_key, base_url=box.base_url, transport=box.transport) as client:
        async for _ in client.jobs.map(client.keywords.analyze, box.keyword_ids[:2]):
            pass
    async with client_of(box, written) as client, client.jobs.batch(BATCH) as batch:
        assert set(batch.ended) == set(box.keyword_ids[:2])
        outcomes = [outcome async for outcome in batch.map(client.keywords.analyze, box.keyword_ids[:2], key=str)]
    assert {outcome.item: outcome.ok for outcome in outcomes} == {box.keyword_ids[0]: True, box.keyword_ids[1]: False}
    assert len(box.ledger.launches()) == 2


@pytest.mark.usefixtures("turning_loop")
async def test_open_jobs_of_an_older_version_are_known(written: Path) -> None:
    """The journal lists them, and their tokens name the same jobs."""
    box = sandbox()
    tokens = [
        line[3:] for path in WRITTEN for line in path.read_text(encoding="utf-8").splitlines() if line[:3] == "-- "
    ]
    async with client_of(box, written) as client:
        found = {(each.kind, each.target): each.state for each in await client.jobs.journal()}
        assert set(found) == {
            ("keyword_analysis", box.keyword_ids[2]),
            ("generation", box.content_ids[0]),
        }
        assert {(str(job.kind), job.target) for job in map(client.jobs.attach, tokens)} == set(found)


async def test_an_older_file_keeps_its_layout(written: Path) -> None:
    """Opening it changes neither its version nor its tables, so that the older version can go on."""
    before = [line for line in dumped(written) if line.startswith(("PRAGMA", "CREATE"))]
    box = sandbox()
    async with client_of(box, written) as client:
        await client.me()
    assert [line for line in dumped(written) if line.startswith(("PRAGMA", "CREATE"))] == before


@pytest.mark.usefixtures("turning_loop")
async def test_a_kind_that_only_a_newer_version_knows(written: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Its entry stays as it is, a warning names it, and other jobs go on."""
    strange = Entry(kind="translation", target="cnt_1", asked_at=1.0, facts={"language": "sv"}).to_text()
    with sqlite3.connect(written) as db:
        db.execute(
            "INSERT INTO journal SELECT scope, 'translation cnt_1', NULL, NULL, ? FROM journal LIMIT 1", (strange,)
        )
    db.close()
    box = sandbox()
    with caplog.at_level(logging.WARNING, "cmsapi"):
        async with client_of(box, written) as client:
            assert len(await client.jobs.journal()) == 2
    assert "1 launches of kinds that this version of cmsapi does not know (translation)" in caplog.text
    assert any("'translation cnt_1',NULL,NULL" in line and "sv" in line for line in dumped(written))


async def test_facts_that_only_a_newer_version_knows(state: State, other: State) -> None:
    """They come back as they were written."""
    entry = Entry(kind="keyword_analysis", target="kw_1", asked_at=1.0, facts={"sent": 1, "region": "north"})
    assert await state.begin(Lease(SCOPE, "a"), entry) is None
    assert await other.entries(SCOPE) == {"a": entry}


async def test_fields_that_only_a_newer_version_knows(tmp_path: Path) -> None:
    """An entry that says more than this version can read is refused, and not half understood."""
    path = tmp_path / "state.db"
    state = SqliteState(path)
    assert await state.begin(Lease(SCOPE, "a"), Entry(kind="keyword_analysis", target="kw_1", asked_at=1.0)) is None
    with sqlite3.connect(path) as db:
        (text,) = db.execute("SELECT entry FROM journal").fetchone()
        newer = json.dumps({**json.loads(text), "paid_by": "org_2"})
        db.execute("UPDATE journal SET entry = ?", (newer,))
    db.close()
    with pytest.raises(StateError, match="Nothing was sent or charged"):
        await state.entries(SCOPE)
    await state.aclose()
    assert any("paid_by" in line for line in dumped(path))


def test_limits_of_another_format_are_learned_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A document of another format counts like none."""
    limits = AccountLimits(per_second=20, per_hour=1000)
    log = SharedLog(limits)
    log.began = 5
    ours = write(log)
    assert read(ours, limits).began == 5
    monkeypatch.setattr(shared_log, "FORMAT", shared_log.FORMAT + 1)
    assert read(ours, limits).began == 0


@pytest.mark.usefixtures("turning_loop")
async def test_tokens_of_other_versions(tmp_path: Path) -> None:
    """A token with more fields names its job; one of another prefix, or of an unknown kind, is refused by name."""
    box = sandbox()
    async with client_of(box, tmp_path / "state.db") as client:
        target = box.keyword_ids[0]
        document = {
            "kind": "keyword_analysis",
            "target": target,
            "job": None,
            "launched": None,
            "watched": False,
            "at": ADDRESS,
            "region": "north",
        }
        token = sealed(json.dumps(document).encode())
        assert client.jobs.attach(token).target == target
        for text, told in (
            (token.replace("cmsjob1", "cmsjob2"), "not a job token of this version"),
            (sealed(json.dumps({**document, "kind": "translation"}).encode()), "does not know: 'translation'"),
        ):
            with pytest.raises(cmsapi.ArgumentError, match=told):
                client.jobs.attach(text)
    assert len(box.ledger) == 0
