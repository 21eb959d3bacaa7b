"""Limits that several processes share through a state, here as clients whose separate states use one file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TypeAlias

import pytest

from cmsapi import Client, RateLimits
from cmsapi.errors import RateLimitedError, StateError
from cmsapi.sandbox import Fault, Limits, Sandbox
from tests.support.box import client_of

pytestmark = pytest.mark.slow  # the limits take real seconds

PER_SECOND, PER_HOUR = 10, 60
Open: TypeAlias = Callable[[int], Client]


@pytest.fixture
def sandbox() -> Sandbox:
    """Return a service with small limits, which it enforces exactly."""
    return Sandbox(limits=Limits(per_second=PER_SECOND, per_hour=PER_HOUR), durations=1)


@pytest.fixture
async def open_client(sandbox: Sandbox, tmp_path: Path) -> AsyncIterator[Open]:
    """Return a function that opens another process on the same file."""
    async with AsyncExitStack() as stack:

        def open_one(number: int) -> Client:
            state = f"sqlite:///{tmp_path}/{'./' * number}state.db"  # another name, so that nothing else is shared
            limits = RateLimits(per_second=PER_SECOND, per_hour=PER_HOUR, reserve=0)
            client = client_of(sandbox, state=state, limits=limits)
            stack.push_async_callback(client.aclose)
            return client

        yield open_one


async def test_processes_together_keep_both_limits(open_client: Open, sandbox: Sandbox) -> None:
    """Three processes that send as much as the hour allows never get a 429."""
    clients = [open_client(number) for number in range(3)]
    keyword = sandbox.keyword_ids[0]
    await asyncio.gather(*(clients[n % 3].keywords.get(keyword) for n in range(PER_HOUR // 2)))
    assert sandbox.ledger.count() == PER_HOUR // 2
    assert sandbox.ledger.count(status=429) == 0


async def test_the_use_of_other_programs_counts(open_client: Open, sandbox: Sandbox) -> None:
    """What programs without this state use of the key is not free, as the responses show."""
    async with client_of(sandbox) as program:
        await asyncio.gather(*(program.keywords.get(sandbox.keyword_ids[0]) for _ in range(20)))
    client = open_client(0)
    await asyncio.sleep(1.1)  # the program's second
    await client.keywords.get(sandbox.keyword_ids[0])
    await asyncio.sleep(0.5)  # until the state knows of the response
    assert client.rate_limit.others == 20


async def test_a_process_knows_what_others_have_used(open_client: Open, sandbox: Sandbox) -> None:
    """What is free is what all processes together have left; none of it is mistaken for the use of other programs."""
    first, second = open_client(0), open_client(1)
    for _ in range(20):
        await first.keywords.get(sandbox.keyword_ids[0])
    await second.keywords.get(sandbox.keyword_ids[0])
    await asyncio.sleep(0.1)
    assert second.rate_limit.others == 0


async def test_a_pause_holds_for_all_processes(open_client: Open, sandbox: Sandbox) -> None:
    """After a 429 no process sends anything before the time that the service named."""
    first, second = open_client(0), open_client(1)
    await second.keywords.get(sandbox.keyword_ids[0])
    sandbox.faults.rules.append(Fault(match="get_keyword", status=429, retry_after=1, times=1))
    retrying = asyncio.ensure_future(first.keywords.get(sandbox.keyword_ids[0]))
    await asyncio.sleep(0.2)
    began = asyncio.get_running_loop().time()
    await second.keywords.get(sandbox.keyword_ids[1])
    assert asyncio.get_running_loop().time() - began > 0.5
    await retrying


async def test_a_cancelled_request_gives_its_turn_back(open_client: Open, sandbox: Sandbox) -> None:
    """Requests that are cancelled while they wait for the state take nothing from the hour."""
    client = open_client(0)
    await client.keywords.get(sandbox.keyword_ids[0])
    waiting = [asyncio.ensure_future(client.keywords.get(sandbox.keyword_ids[0])) for _ in range(30)]
    await asyncio.sleep(0)
    for each in waiting:
        each.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    await asyncio.gather(*(client.keywords.get(sandbox.keyword_ids[0]) for _ in range(PER_HOUR - 15)))
    assert sandbox.ledger.count(status=429) == 0


async def test_without_its_state_a_process_launches_nothing(sandbox: Sandbox, tmp_path: Path) -> None:
    """If the state does not answer, reads continue with a quarter of the hour, and launches are refused unsent."""
    limits = RateLimits(per_second=PER_SECOND, per_hour=PER_HOUR, max_wait=5)
    async with client_of(sandbox, state=f"sqlite:///{tmp_path}/nowhere/state.db", limits=limits) as client:
        assert (await client.keywords.get(sandbox.keyword_ids[0])).id == sandbox.keyword_ids[0]
        with pytest.raises(StateError):
            await client.keywords.analyze(sandbox.keyword_ids[0])
        assert not sandbox.ledger.launches
        answers = [client.keywords.get(sandbox.keyword_ids[0]) for _ in range(PER_HOUR // 2)]
        results = await asyncio.gather(*answers, return_exceptions=True)
        assert not any(isinstance(result, RateLimitedError) for result in results)
        assert sandbox.ledger.count() <= PER_HOUR // 4 + 1
