"""Documents and entries that something else has written over: each call ends, with its result or an error in words."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis
from hypothesis import given, settings, strategies as st

import cmsapi
from benchmarks.virtual import in_virtual_time
from cmsapi.errors import StateError
from cmsapi.runtime.accounts import accounts_of_loop
from cmsapi.sandbox import Sandbox
from cmsapi.state.entry import Entry
from cmsapi.state.memory import MemoryState
from cmsapi.state.text import read_row
from tests.support.jobs import box, client_of
from tests.support.launches import posts, scope
from tests.support.places import shared_url

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**40), 10**40) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
FIELDS = (
    "kind",
    "target",
    "asked_at",
    "status",
    "served_at",
    "job_id",
    "batch",
    "item",
    "settings",
    "decision",
    "facts",
)
FACTS = ("sent", "sent_at", "settle", "mark", "balance", "baseline", "doubt", "workspace")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("asked_at", 1e30),
        ("asked_at", -1),
        ("asked_at", True),
        ("served_at", 10**400),
        ("ended_at", 1e12),
        ("job_id", 7),
        ("facts", {"sent": {"times": 1}}),
        ("facts", {"settle": 1e300}),
        ("facts", [1]),
    ],
)
def test_entries_that_make_no_sense_are_refused(field: str, value: Any) -> None:
    """A time that no clock shows, a nested fact or a value of another type makes the row unreadable, in words."""
    text = json.dumps({"kind": "keyword_analysis", "target": "kw_1", "asked_at": 1.0, field: value})
    with pytest.raises(StateError, match=r"cannot be read|out of range"):
        read_row(Entry, text)


@pytest.mark.looptime
@pytest.mark.parametrize("salt", ["7", "[]", '{"a": 1}', '""', "true"])
async def test_a_salt_of_another_type(salt: str) -> None:
    """A launch tells that the salt is damaged, that nothing was sent, and what to do."""
    sandbox = box(1.0)
    state = accounts_of_loop().states["memory:"] = MemoryState()
    state.rows["documents"] = {(scope(sandbox), "salt"): (salt,)}
    async with client_of(sandbox) as client:
        with pytest.raises(StateError, match=r"'salt'.*damaged.*Nothing was sent"):
            await client.keywords.analyze(sandbox.keyword_ids[0])
    assert posts(sandbox) == 0


@pytest.mark.parametrize("kind", ["sqlite", "redis", "postgres"])
async def test_an_overwritten_lease(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """A lease that is overwritten while its launch is under way holds neither the job nor the next launch up."""
    sandbox = box(0.3)
    url = await shared_url(kind, request, tmp_path)

    class Overwriting:
        """Overwrite the lease when a launch arrives."""

        async def send(self, request: cmsapi.Request) -> cmsapi.Response:
            answer = await sandbox.transport.send(request)
            if request.method == "POST":
                await asyncio.to_thread(OVERWRITE[kind], url)
            return answer

    polling = cmsapi.PollPolicy(min_interval=0.05, max_interval=0.1)
    async with (
        asyncio.timeout(10),
        client_of(sandbox, state=url, transport=Overwriting(), polling=polling) as client,
    ):
        for _ in range(2):
            await (await client.keywords.analyze(sandbox.keyword_ids[0]))
    assert posts(sandbox) == 2


def overwrite_file(url: str) -> None:
    """Overwrite the leases of a file."""
    with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as db:
        db.execute("UPDATE journal SET lease = 'overwritten'")
        db.commit()


def overwrite_rows(url: str) -> None:
    """Overwrite the leases of a database."""
    with psycopg.connect(url) as db:
        db.execute("UPDATE cmsapi.journal SET lease = 'overwritten'")


def overwrite_key(url: str) -> None:
    """Overwrite the leases of a server; each names its owner."""
    with contextlib.closing(redis.Redis.from_url(url, decode_responses=True)) as opened:
        client: Any = opened
        for key in client.scan_iter(match="cmsapi:*:journal", _type="hash"):
            for name, row in client.hgetall(key).items():
                client.hset(key, name, json.dumps(["overwritten", *json.loads(row)[1:]]))


OVERWRITE = {"sqlite": overwrite_file, "redis": overwrite_key, "postgres": overwrite_rows}


@settings(max_examples=60)
@given(
    documents=st.dictionaries(st.sampled_from(["salt", "unknown", "durations keyword_analysis"]), JSON, max_size=3),
    changes=st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=2),
    facts=st.dictionaries(st.sampled_from(FACTS), JSON, max_size=3),
    status=st.sampled_from(["intent", "sending", "running", "review", "odd"]),
    kind=st.sampled_from(["keyword_analysis", "prompt_analysis", "idea_search", "generation", "knowledge_document"]),
    over=st.booleans(),
)
def test_a_damaged_state_ends_every_call(
    documents: dict[str, Any], changes: dict[str, Any], facts: dict[str, Any], status: str, kind: str, over: bool
) -> None:
    """Whatever stands in documents, entries and outcomes: no call hangs, and what it raises is an error of the SDK."""

    async def main() -> None:
        sandbox = Sandbox(durations=5.0)
        state = accounts_of_loop().states["memory:"] = MemoryState()
        name = scope(sandbox)
        state.rows["documents"] = {(name, title): (json.dumps(value),) for title, value in documents.items()}
        target = sandbox.keyword_ids[0]
        said = {"kind": kind, "target": target, "asked_at": 1e9, "status": status, "facts": facts} | changes
        if over:
            ended = json.dumps({**said, "ended_at": 1e9, "batch": "nightly", "item": target})
            state.rows["outcomes"] = {(name, "nightly", target): (ended,)}
        else:
            state.rows["journal"] = {(name, f"keyword_analysis {target}"): (None, None, json.dumps(said))}
        async with client_of(sandbox) as client:
            for call in (client.jobs.journal, client.jobs.resume, lambda: launched(client, target)):
                with contextlib.suppress(cmsapi.CMSError):
                    async with asyncio.timeout(400_000):
                        await call()
            with contextlib.suppress(cmsapi.CMSError):
                async with asyncio.timeout(400_000), client.jobs.batch("nightly") as batch:
                    async for outcome in batch.map(client.keywords.analyze, [target]):
                        assert outcome.ok or isinstance(outcome.error, cmsapi.CMSError)

    in_virtual_time(main())


async def launched(client: cmsapi.Client, target: str) -> Any:
    """Launch an analysis and wait for it."""
    return await (await client.keywords.analyze(target))
