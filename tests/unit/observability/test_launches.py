"""Launches in the log: how they end, what becomes of lost ones, and what was recovered."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

import cmsapi
from cmsapi.sandbox import Fault, Fixed, Sandbox
from tests.support.resources import client_of

pytestmark = pytest.mark.looptime


def lines(caplog: pytest.LogCaptureFixture, word: str) -> list[str]:
    """Return the lines of events whose names begin with a word."""
    messages = [record.getMessage() for record in caplog.records]
    return [message for message in messages if message.startswith(word)]


async def test_a_launch_ends_with_its_job_and_another_joins_it(caplog: pytest.LogCaptureFixture) -> None:
    """The line of a launch names the job, and says whether this call has sent it or joined it."""
    caplog.set_level("INFO", "cmsapi")
    box = Sandbox(durations=Fixed(20))
    async with client_of(box) as client:
        one, two = await asyncio.gather(*(client.keywords.analyze(box.keyword_ids[0]) for _ in range(2)))
        await client.keywords.analyze(box.keyword_ids[0])
        await one
        await two
    launched = lines(caplog, "launch.finished")
    assert [line.partition(" joined=")[2].partition(" ")[0] for line in launched] == ["false", "true", "true"]
    assert all(f"target={one.target} id={one.id}" in line for line in launched)


async def test_a_refused_launch_names_its_error(caplog: pytest.LogCaptureFixture) -> None:
    """A launch that the service refuses has no job."""
    caplog.set_level("INFO", "cmsapi")
    box = Sandbox()
    async with client_of(box) as client:
        with pytest.raises(cmsapi.NotFoundError):
            await client.keywords.analyze("kwd_unknown")
    (line,) = lines(caplog, "launch.finished")
    assert re.fullmatch(
        r"launch\.finished kind=keyword_analysis target=kwd_unknown joined=false ms=\d+ error=NotFoundError", line
    )


async def test_a_lost_launch_warns_and_is_settled(caplog: pytest.LogCaptureFixture) -> None:
    """A launch without an answer tells for how long it waits before it is found out, and what was found out."""
    caplog.set_level("INFO", "cmsapi")
    box = Sandbox(durations=Fixed(20), faults=Fault(match="POST */analyze", drop=True, when="after"))
    async with client_of(box) as client:
        await (await client.keywords.analyze(box.keyword_ids[0]))
    (lost,) = lines(caplog, "launch.lost")
    (settled,) = lines(caplog, "launch.settled")
    target = f"kind=keyword_analysis target={box.keyword_ids[0]}"
    assert re.fullmatch(rf'launch\.lost {target} reason="[^"]+" settles_in=60', lost)
    assert re.fullmatch(rf'launch\.settled {target} verdict=launched reason="[^"]+"( id=\S+)? orphan=false', settled)
    assert [record.levelname for record in caplog.records if record.getMessage() == lost] == ["WARNING"]


async def test_what_was_recovered_is_told(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    """Each entry of the journal that `resume` takes up is a line: what it was, how old, and what became of it."""
    caplog.set_level("INFO", "cmsapi")
    box, state = Sandbox(durations=Fixed(20)), f"sqlite:///{tmp_path / 'jobs.db'}"
    async with client_of(box, state=state) as client:
        await client.keywords.analyze(box.keyword_ids[0])
    async with client_of(box, state=state) as client:
        resumed = await client.jobs.resume()
        await client.jobs.gather(*resumed.jobs)
    (line,) = lines(caplog, "launch.recovered")
    assert re.fullmatch(
        rf"launch\.recovered kind=keyword_analysis target={box.keyword_ids[0]} (id=\S+ )?status=running "
        r"outcome=polled elapsed=[\d.]+",
        line,
    )


async def test_a_launch_that_an_earlier_process_lost_warns_before_it_is_waited_for(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """The next run of a batch says at once what it waits for, and for how long; it is not silent for a minute."""
    box = Sandbox(durations=Fixed(20), faults=Fault(match="POST */analyze", drop=True, when="after", times=2))
    state = f"sqlite:///{tmp_path / 'jobs.db'}"

    async def run(client: cmsapi.Client) -> None:
        async with client.jobs.batch("nightly") as batch:
            async for _ in batch.map(client.keywords.analyze, box.keyword_ids[:2]):
                pass

    async with client_of(box, state=state) as client:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(run(client), 3)
    caplog.clear()
    async with client_of(box, state=state) as client:
        running = asyncio.create_task(run(client))
        await asyncio.sleep(3)
        lost = lines(caplog, "launch.lost")
        await running
    assert len(lost) == 2
    assert all(re.search(r'reason="the process that sent it ended .*" settles_in=\d\d', line) for line in lost)
    assert {record.levelname for record in caplog.records if record.getMessage() in lost} == {"WARNING"}


async def test_the_end_of_a_program_has_no_warning_for_each_launch_that_its_state_keeps(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """A launch without an answer when its client is closed is found out by the next run, and by no wait of this one."""
    box, state = Sandbox(durations=Fixed(20)), f"sqlite:///{tmp_path / 'jobs.db'}"
    async with client_of(box, state=state) as client:
        # Launches wait for the first one of a state.
        await (await client.keywords.analyze(box.keyword_ids[3]))
        box.add_fault(Fault(match="POST */analyze", slow=60.0, times=3))
        async with client.jobs.map(client.keywords.analyze, box.keyword_ids[:3]) as outcomes:
            waiting = asyncio.create_task(anext(outcomes))
            await asyncio.sleep(2)
            waiting.cancel()
    assert not [record.getMessage() for record in caplog.records if record.levelname in ("WARNING", "ERROR")]
    async with client_of(box, state=state) as client:
        await client.jobs.gather(*(await client.jobs.resume()).jobs)
    assert len(box.ledger.launches()) == 4
