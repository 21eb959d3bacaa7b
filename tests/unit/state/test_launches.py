"""Launches of clients on a real file: what is written when, and what happens when another process takes over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

import cmsapi
from cmsapi.jobs.journal.journal import scope_of
from cmsapi.sandbox import Fault, Faults, Sandbox
from cmsapi.state.entry import Entry, Lease
from cmsapi.state.opening import open_state
from cmsapi.state.store import State

pytestmark = pytest.mark.usefixtures("turning_loop")

INSTRUCTIONS = "Mention the secret discount of the spring sale."


def box(**options: Any) -> Sandbox:
    """Make a sandbox whose jobs end soon."""
    return Sandbox(durations=0.3, **options)


def client_of(sandbox: Sandbox, state: str, **options: Any) -> cmsapi.Client:
    """Make a client that shares a state, and polls often."""
    options.setdefault("polling", cmsapi.PollPolicy(min_interval=0.1, max_interval=0.2))
    options.setdefault("launch", cmsapi.LaunchPolicy(settle=0.2))
    options.setdefault("transport", sandbox.transport)
    return cmsapi.Client(sandbox.api_key, base_url=sandbox.base_url, state=state, **options)


@attrs.frozen
class Held:
    """Carry requests to a sandbox, and keep the answers to changes back until they are let go.

    Args:
        sandbox: The service.
        free: Whether the answers may go.
    """

    sandbox: Sandbox
    free: asyncio.Event = attrs.field(factory=asyncio.Event)

    async def send(self, request: cmsapi.Request) -> cmsapi.Response:
        """Carry one request."""
        answer = await self.sandbox.transport.send(request)
        if request.method == "POST":
            await self.free.wait()
        return answer


@pytest.fixture
def url(tmp_path: Path) -> str:
    """Name a state."""
    return f"sqlite:///{tmp_path / 'state.db'}"


async def scope(sandbox: Sandbox) -> str:
    """Return whose journal it is."""
    async with client_of(sandbox, "memory:") as client:
        return scope_of(sandbox.base_url, (await client.me()).organization.id)


async def take_over(other: State, name: str) -> Entry:
    """Take over the only entry of a journal, as if its owner were dead."""
    for owner in await other.heartbeat(name):
        await other.evict(name, owner)
    (key,) = await other.entries(name)
    entry = await other.claim(Lease(name, key))
    assert entry is not None
    return entry


async def until(found: Callable[[], bool]) -> None:
    """Wait for something to be so."""
    async with asyncio.timeout(10):
        while not found():  # noqa: ASYNC110  another party does it
            await asyncio.sleep(0.005)


async def test_one_request_tells_whose_journal_it_is(url: str) -> None:
    """The first launch reads whose key it is before it is sent; the journal is empty when all jobs have ended."""
    sandbox = box()
    name = await scope(sandbox)
    seen = len(sandbox.ledger)
    async with client_of(sandbox, url) as client:
        for keyword_id in sandbox.keyword_ids[:2]:
            await (await client.keywords.analyze(keyword_id))
    operations = [entry.operation for entry in sandbox.ledger][seen:]
    assert operations[:2] == ["get_me", "analyze_keyword"]
    # The books are read once besides, to learn how this service shows launches.
    assert operations.count("get_me") <= 2
    assert operations.count("list_credit_usages") <= 1
    state = open_state(url)
    assert await state.entries(name) == {}
    await state.aclose()


async def test_a_state_that_cannot_be_reached_keeps_launches_here(tmp_path: Path) -> None:
    """What cannot be written down is not sent."""
    sandbox = box()
    async with client_of(sandbox, f"sqlite:///{tmp_path / 'nowhere' / 'state.db'}") as client:
        with pytest.raises(cmsapi.StateError):
            await client.keywords.analyze(sandbox.keyword_ids[0])
    assert len(sandbox.ledger) == 0


async def test_a_launch_that_was_taken_over_is_not_sent(url: str) -> None:
    """A process that stood still before sending finds out that another one has taken over, and sends nothing."""
    sandbox = box()
    name = await scope(sandbox)
    other = open_state(url)
    async with client_of(sandbox, url, limits=cmsapi.RateLimits(per_second=1)) as client:
        launching = asyncio.create_task(client.keywords.analyze(sandbox.keyword_ids[0]))
        async with asyncio.timeout(10):
            while not await other.entries(name):  # noqa: ASYNC110  another party writes it
                await asyncio.sleep(0.005)
        assert (await take_over(other, name)).status == "intent"
        with pytest.raises(cmsapi.LeaseLostError):
            await launching
    assert sandbox.ledger.launches() == []
    await other.aclose()


async def test_a_launch_that_was_taken_over_on_its_way_is_not_lost(url: str) -> None:
    """The answer that comes after the take-over still gives the job; the new holder's entry is left alone."""
    sandbox = box()
    name = await scope(sandbox)
    other, transport = open_state(url), Held(sandbox)
    async with client_of(sandbox, url, transport=transport) as client:
        launching = asyncio.create_task(client.keywords.analyze(sandbox.keyword_ids[0]))
        await until(lambda: bool(sandbox.ledger.launches()))
        assert (await take_over(other, name)).status == "sending"
        transport.free.set()
        job = await launching
        assert job.target == sandbox.keyword_ids[0]
        assert len(await other.entries(name)) == 1
    assert len(sandbox.ledger.launches()) == 1
    await other.aclose()


async def test_nothing_secret_is_written(url: str, tmp_path: Path) -> None:
    """The file holds neither the key nor the instructions, in whichever state the launch is."""
    sandbox = box()
    raw = b""
    async with client_of(sandbox, url) as client:
        settings = cmsapi.GenerationSettings(custom_instructions=INSTRUCTIONS)
        job = await client.contents.generate(sandbox.content_ids[0], settings)
        raw += b"".join(path.read_bytes() for path in tmp_path.iterdir())
        await job
        raw += b"".join(path.read_bytes() for path in tmp_path.iterdir())
    raw += b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert sandbox.content_ids[0].encode() in raw
    assert INSTRUCTIONS.encode() not in raw
    assert sandbox.api_key.encode() not in raw


async def test_a_token_is_attached_in_another_client(url: str) -> None:
    """A client waits under its own lease for a job that another one launched; its entry is deleted at its end."""
    sandbox = box()
    name = await scope(sandbox)
    async with client_of(sandbox, url) as client:
        token = (await client.keywords.analyze(sandbox.keyword_ids[0])).token
    async with client_of(sandbox, url) as client:
        assert (await client.jobs.attach(token)).id == sandbox.keyword_ids[0]
    other = open_state(url)
    assert await other.entries(name) == {}
    await other.aclose()


@pytest.mark.parametrize("after", [0.0, 0.002, 0.005, 0.02])
async def test_a_cancelled_launch_blocks_no_other(url: str, after: float) -> None:
    """Whenever its caller gives up, also while it is being written down, the next launch goes through or joins it."""
    sandbox = box(faults=Faults(latency=(0.01, 0.01)))
    async with client_of(sandbox, url) as client:
        await client.me()
        launching = asyncio.create_task(client.keywords.analyze(sandbox.keyword_ids[0]))
        await asyncio.sleep(after)
        launching.cancel()
        async with asyncio.timeout(8):
            await (await client.keywords.analyze(sandbox.keyword_ids[0]))
    assert len(sandbox.ledger.launches()) == 1


async def test_clients_that_wait_for_an_unknown_launch_do_not_repeat_it(url: str) -> None:
    """A launch that may have happened is not sent again by another client that waited for it."""
    sandbox = box(faults=Faults(rules=[Fault(match="POST */analyze", drop=True)]))
    prompt_id = sandbox.prompt_ids[0]
    async with client_of(sandbox, url) as one, client_of(sandbox, url) as other:
        launches = [asyncio.create_task(each.prompts.analyze(prompt_id)) for each in (one, other)]
        errors = await asyncio.gather(*launches, return_exceptions=True)
        assert [type(error) for error in errors] == [cmsapi.LaunchUnknownError] * 2
        assert len([entry for entry in sandbox.ledger if entry.method == "POST"]) == 1
        # A request that comes later is a launch of its own.
        await (await other.prompts.analyze(prompt_id))
    assert len(sandbox.ledger.launches()) == 1
