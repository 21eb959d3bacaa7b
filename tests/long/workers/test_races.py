"""Two workers on the same items: each item is launched once and polled by one of them, whatever befalls them."""

from __future__ import annotations

import asyncio
import json
import signal
from asyncio.subprocess import Process
from pathlib import Path
from typing import Any

import pytest

from cmsapi.sandbox import Entry, Fault, Faults, Limits, Sandbox
from tests.long.crash.harness import KINDS
from tests.long.workers.ledger import launched
from tests.long.workers.processes import Fleet, killed, lines_of, until

pytestmark = [pytest.mark.enable_socket, pytest.mark.slow]


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    """Name a file that processes share."""
    return f"sqlite:///{tmp_path / 'state.db'}"


ENDLESS = 1000.0


def box(seconds: float = 0.5, *faults: Fault) -> Sandbox:
    """Make a service with twelve items of each kind, whose jobs take so long."""
    limits = Limits(per_second=1000, per_hour=100_000)
    return Sandbox(keywords=12, contents=12, durations=seconds, limits=limits, faults=Faults(rules=list(faults)))


def items_of(sandbox: Sandbox, kind: str) -> tuple[str, ...]:
    """Return what jobs of a kind work on."""
    if kind == "keyword_analysis":
        return sandbox.keyword_ids
    return sandbox.content_ids if kind == "generation" else tuple(f"idea {number}" for number in range(12))


async def start(
    fleet: Fleet, sandbox: Sandbox, state: str, key: str, kind: str = KINDS[0], life: float = 30
) -> Process:
    """Start a worker on all items; its key tells in the ledger who it was."""
    words = (str(life), state, sandbox.base_url, key, kind, sandbox.workspace_id, *items_of(sandbox, kind))
    return await fleet.ready("-m", "tests.long.workers.racer", *words)


async def said(worker: Process) -> dict[str, dict[str, Any]]:
    """Return what a worker says of each item when it is through."""
    *items, end = [json.loads(line) for line in await lines_of(worker)]
    assert end["through"], end
    return {each["item"]: each for each in items}


def polls(sandbox: Sandbox, key: str, since: int = 0) -> list[Entry]:
    """Return the polls of analyses that were made with a key, from some entry of the ledger on."""
    found = [entry for entry in sandbox.ledger[since:] if entry.operation in ("get_keyword", "list_keywords")]
    return [entry for entry in found if entry.key == key]


@pytest.mark.parametrize("kind", ["generation", "idea_search"])
async def test_two_workers_on_the_same_items(kind: str, redis: str) -> None:
    """The first worker launches an item, the other one joins, and both have all results."""
    async with box() as sandbox, Fleet(sandbox) as fleet:
        for worker in await asyncio.gather(*(start(fleet, sandbox, redis, sandbox.api_key, kind) for _ in range(2))):
            assert {each["error"] for each in (await said(worker)).values()} == {None}
        assert launched(sandbox, kind) == dict.fromkeys(items_of(sandbox, kind), 1)


@pytest.mark.parametrize("kind", KINDS)
async def test_answers_that_are_lost_after_the_effect(kind: str, sqlite: str) -> None:
    """Two workers that do not hear of their launches, or hear 502, pay once an item, or say that they do not know."""
    often: dict[str, Any] = {"match": "POST /v1/*", "when": "after", "probability": 0.25, "times": None}
    async with box(0.5, Fault(drop=True, **often), Fault(status=502, **often)) as sandbox, Fleet(sandbox) as fleet:
        for worker in await asyncio.gather(*(start(fleet, sandbox, sqlite, sandbox.api_key, kind) for _ in range(2))):
            for each in (await said(worker)).values():
                assert each["error"] is None or each["unknown"], each
                # Only a search whose answer is lost leaves nothing by which it could be found.
                assert not each["unknown"] or kind == "idea_search", each
        assert launched(sandbox, kind) == dict.fromkeys(items_of(sandbox, kind), 1)
        assert set(sandbox.faults_struck) == {"dropped after the effect", "502 after the effect"}


async def test_a_frozen_worker_is_taken_over_and_wakes(redis: str) -> None:
    """While it stands still another one polls its jobs; when it wakes it follows, and nothing is paid twice."""
    life = 2.0
    async with box(ENDLESS) as sandbox, Fleet(sandbox) as fleet:
        frozen = await start(fleet, sandbox, redis, sandbox.api_key, life=life)
        await until(lambda: len(polls(sandbox, "admin")) >= 12)
        frozen.send_signal(signal.SIGSTOP)
        await asyncio.sleep(life)
        other = await start(fleet, sandbox, redis, sandbox.member_key, life=life)
        await until(lambda: len(polls(sandbox, "member")) >= 12)
        woken = len(sandbox.ledger)
        frozen.send_signal(signal.SIGCONT)
        await until(lambda: len(polls(sandbox, "member", woken)) >= 60)
        assert polls(sandbox, "admin", woken) == []
        await all_done(sandbox, frozen, other)


async def test_a_killed_worker_is_missed_by_those_that_wait(sqlite: str) -> None:
    """Who follows jobs that another one polls finds out soon that it was killed, and polls them itself."""
    async with box(ENDLESS) as sandbox, Fleet(sandbox) as fleet:
        first = await start(fleet, sandbox, sqlite, sandbox.api_key)
        await until(lambda: len(polls(sandbox, "admin")) >= 12)
        waiting = await start(fleet, sandbox, sqlite, sandbox.member_key)
        await until(lambda: any(entry.key == "member" for entry in sandbox.ledger))
        await asyncio.sleep(0.3)
        assert polls(sandbox, "member") == []
        await killed(first)
        async with asyncio.timeout(20):
            await until(lambda: len(polls(sandbox, "member")) >= 12)
        await all_done(sandbox, waiting)


async def all_done(sandbox: Sandbox, *workers: Process) -> None:
    """Let all jobs end, and see that the workers have all results and that each was paid once."""
    for keyword_id in sandbox.keyword_ids:
        sandbox.finish(keyword_id)
    for worker in workers:
        assert {each["error"] for each in (await said(worker)).values()} == {None}
    assert launched(sandbox) == dict.fromkeys(sandbox.keyword_ids, 1)
