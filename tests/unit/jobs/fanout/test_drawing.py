"""Rows of jobs: the same words in notebooks, terminals and plain texts."""

from __future__ import annotations

from typing import Literal

import pytest

import cmsapi
from cmsapi.jobs.fanout import drawing
from cmsapi.jobs.fanout.progress import ItemState, ItemStatus
from cmsapi.sandbox import Fixed, Sandbox
from tests.support.jobs import client_of

pytestmark = pytest.mark.looptime


async def test_a_row_names_its_target_and_says_the_words_of_the_service() -> None:
    """The keyword stands in the row, and its state does not go back from running to queued."""
    box = Sandbox(durations=Fixed(30))
    async with client_of(box) as client:
        keyword = await client.keywords.get(box.keyword_ids[0])
        job = await client.keywords.analyze(keyword.id)
        first = drawing.describe_state(drawing.row_of(job))
        row = drawing.cells(drawing.row_of(job))
        assert (row["name"], row["id"], row["kind"]) == (keyword.keyword, keyword.id, "keyword analysis")
        states = [drawing.describe_state(drawing.row_of(job)) async for _ in job.events()]
    assert first == "running"
    assert states[-1] == "finished"
    assert states[0] in ("running (queued)", "running (pending)")
    assert all(state == "finished" or state.startswith("running (") for state in states)


@pytest.mark.parametrize(("outcome", "state"), [("failed", "failed"), ("success", "finished")])
async def test_a_finished_row_is_done(outcome: Literal["failed", "success"], state: str) -> None:
    """It has no next poll and no expected end, and keeps its name."""
    box = Sandbox()
    box.set_outcome(box.keyword_ids[0], outcome)
    async with client_of(box) as client:
        job = await client.keywords.analyze(box.keyword_ids[0])
        await client.jobs.as_completed([job]).__anext__()
        row = drawing.cells(drawing.row_of(job))
    assert (row["state"], row["next poll"], row["expected end"]) == (state, "", "")
    assert row["name"] == job.name


def test_rows_come_in_the_order_in_which_they_need_a_person() -> None:
    """What failed comes first, then what runs, then what is finished, and what waits last."""
    rows = [ItemStatus(item=state, label=state, state=state) for state in reversed(ItemState)]
    assert [row.state for row in drawing.in_order(rows)] == [
        "failed",
        "review",
        "running",
        "launching",
        "finished",
        "waiting",
    ]


def test_names_cannot_colour_a_terminal_or_a_page() -> None:
    """Control characters and markup of a name are escaped."""
    rows = [ItemStatus(item="kwd_1", label="\x1b[31m<b>red</b>", state=ItemState.WAITING)]
    assert "\x1b" not in "\n".join(drawing.lines(rows))
    assert "<b>red" not in drawing.html("rows", rows)
    assert "&lt;b&gt;red" in drawing.html("rows", rows)


async def test_all_jobs_print_as_aligned_lines(sandbox: Sandbox, client: cmsapi.Client) -> None:
    """A printed table has a title, the names of its columns, and a line for each job."""
    for keyword_id in sandbox.keyword_ids[:2]:
        await client.keywords.analyze(keyword_id)
    title, columns, *rows = str(client.jobs.show()).splitlines()
    assert title == "2 jobs: 2 running"
    assert columns.split() == ["name", "state", "elapsed", "id"]
    assert [row.split()[0] for row in rows] == list(sandbox.keyword_ids[:2])
