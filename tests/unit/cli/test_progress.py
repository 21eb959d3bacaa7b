"""How the command line shows progress: bars and rows in a terminal, lines now and then in a pipe."""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import Sequence

import attrs
import pytest
from rich.console import Console

import cmsapi
from cmsapi.cli.terminal.progress import ItemCount, LiveProgress
from cmsapi.cli.terminal.totals import elapsed, headline, hindrance, totals
from cmsapi.jobs.fanout.drawing import row_of
from cmsapi.jobs.fanout.progress import ItemStatus, Progress
from cmsapi.sandbox import Sandbox

pytestmark = pytest.mark.looptime

FAR = Progress(finished=12, running=18, waiting=70, failed=3, total=100, seconds_left=360.0, credits=30, requests=61)


@attrs.frozen
class Jobs:
    """Some jobs, shown without a fan-out."""

    jobs: Sequence[cmsapi.Job[cmsapi.Keyword]]

    @property
    def progress(self) -> Progress:
        """Count all of them as running."""
        return Progress(running=len(self.jobs), total=len(self.jobs))

    def rows(self, limit: int) -> list[ItemStatus]:
        """Return their rows."""
        return [row_of(job) for job in self.jobs[:limit]]


def screen(width: int, height: int = 24) -> Console:
    """Return a terminal without colours that writes into a text."""
    return Console(file=io.StringIO(), force_terminal=True, no_color=True, width=width, height=height)


def text_of(console: Console) -> str:
    """Return what was written."""
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_line_says_what_counts() -> None:
    """One line has the counts, the time that is left and the costs; what is zero is left out."""
    assert headline(FAR) == (
        "12 of 100 finished, 3 failed, 18 running, 70 waiting, about 6 min left, 30 credits, 61 requests"
    )
    ranged = attrs.evolve(FAR, seconds_left_range=(240.0, 540.0), requests_planned=250)
    assert headline(ranged).endswith("about 6 min left (4 min to 9 min), 30 credits, 61 of about 250 requests")
    assert headline(Progress(finished=2, total=2)) == "2 of 2 finished"
    assert headline(attrs.evolve(FAR, stopped=True, total=None)).startswith("12 finished, 3 failed, 18 running")
    assert "70 not launched" in headline(attrs.evolve(FAR, stopped=True))


def test_totals_add_up() -> None:
    """The totals of several tasks have the last end and all credits and requests; without requests there are none."""
    other = Progress(running=5, total=5, seconds_left=30.0, requests=9, requests_planned=20)
    planned = attrs.evolve(FAR, requests_planned=250)
    assert totals([planned, other], 75.0, 120) == (
        "about 6 min left, 30 credits, 70 of about 270 requests, 1:15 elapsed"
    )
    assert "70 requests" in totals([FAR, other], 75.0, 120)
    assert totals([Progress(finished=1, total=2)], 75.0, 120) == ""


@pytest.mark.parametrize("width", [1, 20, 40, 60, 90])
def test_totals_fit(width: int) -> None:
    """The least important parts are left out; the time that is left never is."""
    line = totals([FAR], 75.0, width)
    assert line.startswith("about 6 min left")
    assert len(line) <= max(width, len("about 6 min left"))
    assert not line.endswith(",")


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00"), (9.9, "0:09"), (75, "1:15"), (3723, "1:02:03")])
def test_elapsed_time_reads_like_a_clock(seconds: float, text: str) -> None:
    """Minutes have no leading zero, and hours are shown only where there are any."""
    assert elapsed(seconds) == text


async def test_a_pipe_gets_a_line_now_and_then() -> None:
    """Each line begins with the elapsed time and has news; a count that takes long enough ends with its result."""
    for seconds, lines in (
        (5, []),
        (
            25,
            [
                "0:10  pages: 10 of 25 finished, 15 waiting",
                "0:20  pages: 20 of 25 finished, 5 waiting",
                "0:24  pages: 25 of 25 finished",
            ],
        ),
    ):
        console = Console(file=io.StringIO(), width=80)
        live, count = LiveProgress(console), ItemCount(seconds)
        live.add("pages", count)
        async with live.running():
            for _ in range(seconds):
                await asyncio.sleep(0.999)
                count.done += 1
        assert text_of(console).splitlines() == lines


async def test_a_long_run_does_not_flood_a_pipe() -> None:
    """An hour takes 25 lines, with news in each second or without any."""
    for news in (True, False):
        console = Console(file=io.StringIO(), width=80)
        live, count = LiveProgress(console), ItemCount(3600)
        live.add("", count)
        async with live.running():
            for _ in range(3599):
                await asyncio.sleep(1)
                if news:
                    count.done += 1
        lines = text_of(console).splitlines()
        assert 24 <= len(lines) <= 26
        assert lines[-1].startswith("59:59")


async def test_a_line_says_that_the_hour_is_used_up() -> None:
    """What keeps all jobs waiting, and until when, is in the lines of a pipe and below the bar of a terminal."""
    for console in (Console(file=io.StringIO(), width=80, soft_wrap=True), screen(80)):
        live = LiveProgress(console, hindrance=lambda: "waiting for requests of the hour until 21:02:00")
        live.add("", ItemCount(2, done=1))
        async with live.running():
            await asyncio.sleep(15)
        assert "aiting for requests of the hour until 21:02:00" in text_of(console)


@pytest.mark.parametrize(("left", "told"), [(0, True), (11, True), (40, False)])
async def test_the_hour_counts_as_used_up_when_no_job_can_end(
    left: int, told: bool, sandbox: Sandbox, client: cmsapi.Client
) -> None:
    """Below the reserve, a poll and a result, there is a time to wait for; with more requests there is none."""
    for _ in range(1000 - left):
        await client.me()
    said = hindrance(client.rate_limit)
    assert bool(re.fullmatch(r"waiting for requests of the hour until \d\d:\d\d:\d\d", said)) is told
    assert hindrance(attrs.evolve(client.rate_limit, paused_for=5.0)).startswith("paused by the service until ")


@pytest.mark.parametrize(("done", "bar"), [(0, "╌" * 20), (5, "━" * 10 + "╌" * 10), (10, "━" * 20)])
async def test_a_bar_without_colours_is_visible(done: int, bar: str) -> None:
    """With NO_COLOR the part that is left has a sign of its own, at 0 % as well."""
    console = screen(80)
    live = LiveProgress(console)
    live.add("", ItemCount(10, done=done))
    async with live.running():
        await asyncio.sleep(1)
    assert bar in text_of(console)


@pytest.mark.parametrize("width", [50, 60, 66, 80, 95, 127, 137])
async def test_rows_fit_into_the_terminal(width: int, sandbox: Sandbox, client: cmsapi.Client) -> None:
    """No row is wider than the terminal less the room for ^C, and each name and identifier is whole."""
    jobs = [await client.keywords.analyze(keyword_id) for keyword_id in sandbox.keyword_ids[:3]]
    console = screen(width)
    live = LiveProgress(console)
    live.add("", Jobs(jobs))
    async with live.running():
        await asyncio.sleep(1)
    shown = text_of(console)
    assert all(keyword_id in shown for keyword_id in sandbox.keyword_ids[:3])
    rows = [line for line in shown.splitlines() if "kwd_" in line]
    assert max(len(row.rstrip()) for row in rows) <= width - 3


async def test_what_has_no_room_is_counted(sandbox: Sandbox, client: cmsapi.Client) -> None:
    """A low terminal shows the first rows, and how many more jobs are running."""
    jobs = [await client.keywords.analyze(keyword_id) for keyword_id in sandbox.keyword_ids[:9]]
    console = screen(80, height=12)
    live = LiveProgress(console)
    live.add("", Jobs(jobs))
    async with live.running():
        await asyncio.sleep(1)
    assert "and 4 more running" in text_of(console)
