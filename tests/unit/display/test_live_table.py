"""What a cell shows of jobs follows them: `client.jobs.show()`, a fan-out, a job."""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.terminal.interactiveshell import TerminalInteractiveShell
from IPython.utils.capture import RichOutput, capture_output
from traitlets.config import Config

import cmsapi
from cmsapi.sandbox import Fixed, Limits, Sandbox

pytestmark = pytest.mark.looptime


@pytest.fixture
def shell(no_history: Config) -> Iterator[Any]:
    """An IPython shell without history."""
    InteractiveShell.clear_instance()
    yield InteractiveShell.instance(config=no_history)
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
    assert str(client.jobs.show()) == "no open jobs"
    # A table without columns would break it after each word.
    assert "<table" not in client.jobs.show()._repr_html_()
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


async def test_a_large_fan_out_shows_failures_first_and_counts_the_rest() -> None:
    """Failed items come first, then running ones; those without a row are counted, and times count from now."""
    sandbox = Sandbox(keywords=61, durations=Fixed(600))
    client = cmsapi.Client(sandbox.api_key, base_url=sandbox.base_url, transport=sandbox.transport)
    async with client, client.jobs.map(client.keywords.analyze, sandbox.keyword_ids, in_flight=40) as outcomes:
        taken = asyncio.ensure_future(anext(outcomes))
        await asyncio.sleep(1)
        for place, keyword_id in enumerate(sandbox.keyword_ids[:10]):
            sandbox.finish(keyword_id, "failed" if place < 3 else "success")
        await asyncio.sleep(60)
        page = outcomes._repr_html_()
        await taken
    states = re.findall(r"<td[^>]*>(failed|running|review|launching|finished|waiting)\b", page)
    assert states[:3] == ["failed"] * 3
    assert set(states[3:]) == {"running"}
    assert len(states) == 20
    assert re.search(r"… and 41 more: \d+ running, 7 finished, \d+ waiting", page)
    assert "UTC" not in page
    assert re.search(r">in \d:\d\d<", page)


async def test_a_failure_stays_in_the_table() -> None:
    """Hundreds of later ends do not push a failed item out of the rows."""
    sandbox = Sandbox(keywords=150, durations=Fixed(1), limits=Limits.unlimited())
    sandbox.set_outcome(sandbox.keyword_ids[0], "failed")
    unlimited = cmsapi.RateLimits.unlimited()
    client = cmsapi.Client(sandbox.api_key, base_url=sandbox.base_url, transport=sandbox.transport, limits=unlimited)
    async with client, client.jobs.map(client.keywords.analyze, sandbox.keyword_ids) as outcomes:
        assert len([outcome async for outcome in outcomes]) == 150
        page = outcomes._repr_html_()
    assert page.count(">failed") == 1
    assert "… and 130 more: 130 finished" in page


async def test_a_failed_item_says_why() -> None:
    """Its row has the class and the beginning of the error, whether there was a job or not; other rows have nothing."""
    sandbox = Sandbox(durations=Fixed(5))
    ids = [*sandbox.keyword_ids[:2], "kwd_none"]
    sandbox.set_outcome(ids[0], "failed")
    client = cmsapi.Client(sandbox.api_key, base_url=sandbox.base_url, transport=sandbox.transport)
    async with client:
        job, table = await client.keywords.analyze(ids[0]), client.jobs.show()
        assert table.jobs == (job,)
        outcomes = client.jobs.map(client.keywords.analyze, ids, in_flight=1)
        assert ">reason<" not in outcomes._repr_html_()
        errors = {outcome.item: outcome.error async for outcome in outcomes}
        page, listed = outcomes._repr_html_(), table._repr_html_()
    assert {row.item: row.error for row in outcomes.rows()} == errors
    reasons = re.findall(r"<td[^>]*>(\w+Error: [^<]+)<", page)
    assert [reason.partition(":")[0] for reason in reasons] == ["NotFoundError", "JobFailedError"]
    # Two sentences without a stop between them read as one.
    assert reasons[0] == "NotFoundError: 404 not_found from analyze_keyword: keywordId: no such resource"
    assert ">reason<" in page
    assert all(len(html.unescape(reason)) <= 120 for reason in reasons)
    assert "JobFailedError: The keyword_analysis of" in listed


async def test_a_shown_job_fills_in(shell: Any, sandbox: Sandbox, client: cmsapi.Client) -> None:
    """A job that a cell shows is followed to its result, sends no request for that, and then stays as it is."""
    job = await client.keywords.analyze(sandbox.keyword_ids[0])
    with capture_output() as captured:
        shell.display_formatter.format(job)
        sent = len(sandbox.ledger)
        await asyncio.sleep(60)
        assert len(sandbox.ledger) == sent
        keyword = await job
        await asyncio.sleep(2)
    with capture_output() as later:
        await asyncio.sleep(3)

    shown = pages(captured.outputs)
    assert "none planned: it has no waiters" in shown[0][1]
    assert sum(not update for update, _ in shown) == 1
    assert "succeeded" in shown[-1][1]
    assert str(keyword.keyword) in shown[-1][1]
    assert later.outputs == []


async def test_a_failed_job_says_why(shell: Any, sandbox: Sandbox, client: cmsapi.Client) -> None:
    """The last state of a job without a result has its error; shown after its end, it is followed no more."""
    sandbox.set_outcome(sandbox.keyword_ids[0], "failed")
    job = await client.keywords.analyze(sandbox.keyword_ids[0])
    with pytest.raises(cmsapi.JobFailedError):
        await job
    with capture_output() as captured:
        shell.display_formatter.format(job)
        await asyncio.sleep(3)
    ((_, page),) = pages(captured.outputs)
    assert "failed" in page
    assert "error" in page


async def test_the_end_of_a_cell_is_a_version(shell: Any, sandbox: Sandbox, client: cmsapi.Client) -> None:
    """What a cell has changed is shown when the cell ends, so that a notebook that is saved then is up to date."""
    job = await client.keywords.analyze(sandbox.keyword_ids[0])
    with capture_output() as captured:
        shell.display_formatter.format(job)
        await asyncio.sleep(0)
        await job
        shell.events.trigger("post_execute")
    assert "succeeded" in pages(captured.outputs)[-1][1]
    with capture_output() as later:
        await asyncio.sleep(2)
        shell.events.trigger("post_execute")
    assert later.outputs == []


async def test_the_end_of_a_cell_repeats_the_last_version(shell: Any, sandbox: Sandbox, client: cmsapi.Client) -> None:
    """A cell that outlasts the job sends its last state once more, because some programs read nothing else."""
    job = await client.keywords.analyze(sandbox.keyword_ids[0])
    shell.display_formatter.format(job)
    await job
    await asyncio.sleep(2)
    with capture_output() as captured:
        shell.events.trigger("post_execute")
        shell.events.trigger("post_execute")
    ((_, page),) = pages(captured.outputs)
    assert "succeeded" in page


async def test_a_closed_client_ends_the_updates(shell: Any, sandbox: Sandbox, client: cmsapi.Client) -> None:
    """A job of a closed client is shown as it was last known, and nothing follows it."""
    job = await client.keywords.analyze(sandbox.keyword_ids[0])
    with capture_output():
        shell.display_formatter.format(job)
        await asyncio.sleep(1)
        await client.aclose()
        shell.events.trigger("post_execute")
    with capture_output() as captured:
        shell.display_formatter.format(job)
        shell.events.trigger("post_execute")
        await asyncio.sleep(3)
    assert len(captured.outputs) == 1


async def test_a_text_is_there_for_readers_without_html(shell: Any, sandbox: Sandbox, client: cmsapi.Client) -> None:
    """Each version has a text besides its HTML."""
    outcomes = client.jobs.map(client.keywords.analyze, sandbox.keyword_ids[:2])
    with capture_output() as captured:
        shell.display_formatter.format(outcomes)
        async for _ in outcomes:
            pass
        await asyncio.sleep(2)
    texts = [output.data["text/plain"] for output in captured.outputs]
    assert texts[0] == "<Fanout: 0 of 2 finished, 0 failed>"
    assert texts[-1] == "<Fanout: 2 of 2 finished, 0 failed>"


async def test_a_terminal_gets_one_text(no_history: Config, sandbox: Sandbox, client: cmsapi.Client) -> None:
    """IPython in a terminal prints each version below the last one, so that it gets only the first, as a text."""
    InteractiveShell.clear_instance()
    terminal: Any = TerminalInteractiveShell.instance(config=no_history, simple_prompt=True)
    job = await client.keywords.analyze(sandbox.keyword_ids[0])
    with capture_output() as captured:
        terminal.display_formatter.format(job)
        await job
        await asyncio.sleep(3)
    TerminalInteractiveShell.clear_instance()
    (output,) = captured.outputs
    assert list(output.data) == ["text/plain"]
