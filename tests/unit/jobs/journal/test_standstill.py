"""A process that stands still while another one goes on with its work, and what it does when it wakes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import attrs
import pytest

import cmsapi
from cmsapi.config import LaunchPolicy
from cmsapi.runtime.accounts import accounts_of_loop
from cmsapi.sandbox import Sandbox
from cmsapi.state.memory import MemoryState
from cmsapi.state.process import Owner
from tests.support.jobs import box, client_of
from tests.support.launches import posts
from tests.support.memory import ProcessState

pytestmark = pytest.mark.looptime

BATCH = "nightly"


class Process(ProcessState):
    """A state that other processes use, too, and whose heartbeats stop when its process stands still."""

    shared = True
    still = False

    async def heartbeat(self, scope: str) -> Sequence[Owner]:
        """Say that this process lives, unless it stands still."""
        if self.still:
            raise cmsapi.StateError("this process stands still")
        return await super().heartbeat(scope)


def process(memory: MemoryState) -> Process:
    """Let the clients that come next be those of another process."""
    begun = accounts_of_loop().states["memory:"] = Process(memory)
    return begun


@attrs.define
class LateAnswers:
    """Carry requests to a sandbox, and some answers late."""

    sandbox: Sandbox
    method: str
    seconds: float = 0.0

    async def send(self, request: cmsapi.Request) -> cmsapi.Response:
        """Carry one request."""
        response = await self.sandbox.transport.send(request)
        await asyncio.sleep(self.seconds if request.method == self.method else 0.0)
        return response


async def ideas(client: cmsapi.Client, sandbox: Sandbox) -> list[cmsapi.Outcome[str, Any]]:
    """Run a batch of one search."""

    async def search(keyword: str) -> Any:
        return await client.content_ideas.search(sandbox.workspace_id, keyword)

    async with client.jobs.batch(BATCH) as batch:
        return [outcome async for outcome in batch.map(search, ["tents"])]


async def test_a_result_takes_the_place_of_an_unknown_end() -> None:
    """What another process found unknown meanwhile has the result that the first process gets afterwards."""
    sandbox, memory = box(30.0), MemoryState()
    first = process(memory)
    timeouts, settle = cmsapi.Timeouts(request=300.0), LaunchPolicy(settle=1.0)
    late = LateAnswers(sandbox, "POST", 100.0)
    async with client_of(sandbox, transport=late, timeouts=timeouts, launch=settle) as client:
        running = asyncio.create_task(ideas(client, sandbox))
        await asyncio.sleep(5)
        first.still = True
        await asyncio.sleep(50)
        process(memory)
        async with client_of(sandbox) as other:
            (found,) = await ideas(other, sandbox)
            assert isinstance(found.error, cmsapi.LaunchUnknownError)
            first.still = False
            (mine,) = await running
            assert mine.ok
            batch = other.jobs.batch(BATCH)
            status = await batch.refresh()
            assert (batch.unknown, status.progress.unknown, status.progress.failed) == ((), 0, 0)
            (again,) = await ideas(other, sandbox)
            assert again.ok
    assert posts(sandbox) == 1


async def test_what_another_process_ended_stays_ended(caplog: pytest.LogCaptureFixture) -> None:
    """The entry of a job that another process saw end meanwhile is not written anew: it would answer a new launch."""
    sandbox, memory = box(60.0), MemoryState()
    keyword_id = sandbox.keyword_ids[0]
    first, late = process(memory), LateAnswers(sandbox, "GET")
    async with client_of(sandbox, transport=late, timeouts=cmsapi.Timeouts(request=300.0)) as client:
        waiting = asyncio.create_task((await client.keywords.analyze(keyword_id)).wait())
        first.still, late.seconds = True, 100.0
        await asyncio.sleep(40)
        process(memory)
        async with client_of(sandbox) as other:
            await (await other.keywords.analyze(keyword_id))
            first.still = False
            await asyncio.sleep(15)
            assert await other.jobs.journal() == []
            await (await other.keywords.analyze(keyword_id))
        await waiting
    assert posts(sandbox) == 2
    assert not any("lost entries" in said for said in caplog.messages)
