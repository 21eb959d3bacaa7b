"""`client.jobs.show()`: one table that follows the jobs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import RichOutput, capture_output

import cmsapi
from cmsapi.sandbox import Sandbox

pytestmark = pytest.mark.looptime


@pytest.fixture
def shell() -> Iterator[Any]:
    """An IPython shell without history."""
    InteractiveShell.clear_instance()
    yield InteractiveShell.instance(history_length=0)
    InteractiveShell.clear_instance()


def pages(outputs: list[RichOutput]) -> list[tuple[bool, str]]:
    """Return the displayed HTML, each with whether it replaced an earlier one."""
    return [(bool(output.update), output.data["text/html"]) for output in outputs]


async def test_the_table_follows_its_jobs(shell: Any, sandbox: Sandbox, client: cmsapi.Client) -> None:
    """The table is updated in place until the jobs have finished, and shows jobs launched later."""
    first = await client.keywords.analyze(sandbox.keyword_ids[0])
    with capture_output() as captured:
        shell.display_formatter.format(client.jobs.show())
        await asyncio.sleep(3)
        second = await client.keywords.analyze(sandbox.keyword_ids[1])
        await asyncio.gather(first, second)
        await asyncio.sleep(3)

    shown = pages(captured.outputs)
    assert [update for update, _ in shown][:2] == [False, True]
    assert sum(not update for update, _ in shown) == 1
    assert sandbox.keyword_ids[1] not in shown[0][1]
    assert "2 jobs: 2 finished" in shown[-1][1]


async def test_only_the_last_table_is_updated(shell: Any, sandbox: Sandbox, client: cmsapi.Client) -> None:
    """Showing the table again ends the updates of the earlier one."""
    await client.keywords.analyze(sandbox.keyword_ids[0])
    with capture_output():
        shell.display_formatter.format(client.jobs.show())
        await asyncio.sleep(2)
        shell.display_formatter.format(client.jobs.show())
        await asyncio.sleep(2)
    with capture_output() as later:
        await asyncio.sleep(2)
    assert len(later.outputs) <= 2


async def test_it_prints_as_text(sandbox: Sandbox, client: cmsapi.Client) -> None:
    """Printed, it is a line per job below the titles."""
    assert str(client.jobs.show()) == "no jobs"
    job = await client.keywords.analyze(sandbox.keyword_ids[0])
    assert str(client.jobs.show()).splitlines()[2].startswith(job.id)


async def test_a_shown_fan_out_is_followed_to_its_end(shell: Any, sandbox: Sandbox, client: cmsapi.Client) -> None:
    """A fan-out that a cell shows has a bar and a row for each item, which are updated until the last outcome."""
    outcomes = client.jobs.map(client.keywords.analyze, sandbox.keyword_ids[:3])
    with capture_output() as captured:
        shell.display_formatter.format(outcomes)
        results = [outcome async for outcome in outcomes]
        await asyncio.sleep(3)
    with capture_output() as later:
        await asyncio.sleep(3)

    shown = pages(captured.outputs)
    assert sum(not update for update, _ in shown) == 1
    assert "0 of 3 finished" in shown[0][1]
    assert "3 of 3 finished" in shown[-1][1]
    assert all(outcome.job is not None and str(outcome.job.name) in shown[-1][1] for outcome in results)
    assert later.outputs == []
