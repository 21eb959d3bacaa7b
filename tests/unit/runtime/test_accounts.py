"""What clients of one event loop share, and what outlives them."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path
from typing import Any

import pytest

import cmsapi
from cmsapi.runtime.accounts import accounts_of_loop
from cmsapi.sandbox import Sandbox
from tests.support.jobs import box, client_of

POLLING = cmsapi.PollPolicy(min_interval=0.05, max_interval=0.1)


@pytest.fixture(params=["memory:", "sqlite"])
def state(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Each kind of state that needs no server."""
    return "memory:" if request.param == "memory:" else f"sqlite:///{tmp_path / 'state.db'}"


async def analyze(sandbox: Sandbox, number: int, **options: Any) -> int:
    """Analyze a keyword with a client of its own; return how many polls of the account are known to it."""
    async with client_of(sandbox, polling=POLLING, **options) as client:
        await (await client.keywords.analyze(sandbox.keyword_ids[number]))
        return client.jobs.statistics.polls


async def test_what_was_learned_outlives_the_clients(state: str) -> None:
    """Each client of an account knows what the ones before it have seen, also when these have closed the state."""
    sandbox = box(0.1)
    first = await analyze(sandbox, 0, state=state)
    second = await analyze(sandbox, 1, state=state)
    third = await analyze(sandbox, 2, state=state)
    assert 0 < first < second < third
    async with client_of(sandbox, state=state) as client:
        assert client.jobs.statistics.polls == third
        await client.me()
        assert client.rate_limit.remaining == 1000 - len(sandbox.ledger)


async def test_accounts_are_apart(state: str) -> None:
    """Clients of another key share neither limits nor what was learned."""
    sandbox, other = box(0.1), box(0.1)
    await analyze(sandbox, 0, state=state)
    async with client_of(other, state=state, api_key=f"{other.api_key}2") as client:
        assert client.jobs.statistics.polls == 0
        assert client.rate_limit.remaining == 1000


async def test_a_client_may_come_while_the_last_one_goes(state: str) -> None:
    """A client that is first used while the last one before it closes the state opens it again."""
    sandbox = box(0.1)
    leaving = client_of(sandbox, state=state, polling=POLLING)
    await (await leaving.keywords.analyze(sandbox.keyword_ids[0]))
    closing = asyncio.create_task(leaving.aclose())
    for _ in range(3):
        await asyncio.sleep(0)
    await analyze(sandbox, 1, state=state)
    await closing
    await analyze(sandbox, 2, state=state)
    assert len(sandbox.ledger.launches()) == 3


async def test_a_forgotten_client_keeps_nothing_for_others(state: str) -> None:
    """A client that was dropped without being closed does not keep the state open for ever."""
    sandbox = box(0.1)
    forgotten = client_of(sandbox, state=state)
    await forgotten.me()
    shared = accounts_of_loop().states[state]
    del forgotten
    gc.collect()
    await analyze(sandbox, 0, state=state)
    assert (accounts_of_loop().states.get(state) is not shared) == shared.shared
    async with client_of(sandbox, state=state) as client:
        await client.me()
        assert client.rate_limit.remaining == 1000 - len(sandbox.ledger)


def test_a_client_is_made_before_its_loop() -> None:
    """Resources, jobs and methods may be taken from a client before any loop runs; its first call binds it."""
    sandbox = box(0.1)
    client = client_of(sandbox, polling=POLLING)
    analyze, jobs, pages = client.keywords.analyze, client.jobs, client.keywords.list("page_1")

    async def main() -> None:
        async with client:
            async with jobs.map(analyze, sandbox.keyword_ids[:2]) as outcomes:
                assert [outcome.error async for outcome in outcomes] == [None, None]
            assert client.keywords is client.keywords
            with pytest.raises(cmsapi.NotFoundError):
                await pages

    asyncio.run(main())
    with pytest.raises(cmsapi.ClientClosedError, match="no running event loop of asyncio"):
        _ = jobs.statistics
