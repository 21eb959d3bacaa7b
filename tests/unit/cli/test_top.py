"""One page in the terminal shows what all processes of a state do."""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rich.text import Text

import cmsapi
from cmsapi.cli.running import execute, parse
from cmsapi.cli.terminal.exit_codes import Exit
from cmsapi.cli.terminal.fleet import page
from cmsapi.sandbox import Fault, Sandbox
from tests.support.command import command


@pytest.mark.looptime
@pytest.mark.parametrize("width", [80, 140])
async def test_one_page_shows_batches_jobs_and_what_needs_a_person(
    width: int, box: Sandbox, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No line is wider than the terminal, and nothing is sent for it."""
    monkeypatch.setenv("COLUMNS", str(width))
    box.set_outcome(box.keyword_ids[0], "failed")
    await command("analyze", *box.keyword_ids[:3], "--batch", "a-batch-that-has-a-rather-long-name-of-its-own")
    await command("generate", box.content_ids[0])
    running = asyncio.create_task(execute(parse(["analyze", *box.keyword_ids[3:18], "--batch", "nightly"])))
    await asyncio.sleep(7)
    capsys.readouterr()
    before = len(box.ledger)
    assert await command("top", "--once") == Exit.DONE
    assert len(box.ledger) == before
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    assert "of 1,000 requests" in text
    assert "batches  1 running, 1 done" in text
    (nightly,) = [line for line in lines if line.startswith("nightly")]
    assert "0 of 15" in nightly
    assert "░" in nightly
    assert "15 running" in nightly
    (ended,) = [line for line in lines if line.startswith("a-batch-that-has")]
    assert "3 of 3, 1 failed, 3 credits" in ended
    assert "running jobs  15" in text
    assert "… and 6 more" in text
    assert "articles that wait for a decision: cmsapi jobs reviews  1" in text
    assert box.content_ids[0] in text
    assert await running == Exit.DONE


@pytest.mark.looptime
async def test_a_state_without_work_says_so(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """The page is not empty, and names the state."""
    assert await command("top", "--once") == Exit.DONE
    shown = capsys.readouterr().out
    assert shown.startswith("cmsapi top  memory:")
    assert "no batches, no running jobs" in shown
    assert await command("top", "--every=nan") == Exit.USAGE


@pytest.mark.slow
@pytest.mark.enable_socket
@pytest.mark.skipif(sys.platform == "win32", reason="the system has no pseudo-terminals")
@pytest.mark.parametrize(("width", "colours"), [(80, False), (140, True)])
async def test_it_is_live_in_a_terminal_until_ctrl_c(
    width: int, colours: bool, box: Sandbox, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    """The batch of another process appears on the page until Ctrl-C; there are colours only where they are wanted."""
    from tests.support.terminal import terminal

    if not colours:
        monkeypatch.setenv("NO_COLOR", "1")
    state = f"sqlite:///{tmp_path}/state.db"
    monkeypatch.setenv("CMSAPI_STATE", state)
    async with terminal(box, "top", "--every", "0.2", columns=width) as shell:
        await shell.until("no batches, no running jobs")
        async with cmsapi.Client(box.api_key, base_url=box.base_url, state=state) as client:
            async with client.jobs.batch("nightly") as batch:
                outcomes = batch.map(client.keywords.analyze, box.keyword_ids[:3])
                launching = asyncio.ensure_future(anext(outcomes))
                await shell.until("3 running")
                launching.cancel()
            assert ("\x1b[36m" in shell.shown) is colours
            shell.type("\x03")
            assert await shell.end() == Exit.DONE
    assert shell.shown.rstrip().endswith(("\x1b[?1049l\x1b[?25h", "\x1b[?25h\x1b[?1049l", "\x1b[?25h"))
    assert "Interrupted" not in shell.shown


async def test_a_file_that_does_not_exist_is_not_created(
    box: Sandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A typo in `--state` does not look like a fleet without work."""
    file = tmp_path / "typo.db"
    assert await command("top", "--once", "--state", f"sqlite:///{file}") == Exit.USAGE
    assert f"There is no state {file} yet" in capsys.readouterr().err
    assert not file.exists()


def used(hour: int, processes: dict[str, int], foreign: int = 0) -> cmsapi.RequestUse:
    """Return the use of an hour of a thousand requests."""
    return cmsapi.RequestUse(per_hour=1000, hour=hour, foreign=foreign, per_second=20, second=1, processes=processes)


def test_processes_have_one_name_on_the_page() -> None:
    """Who used the hour and who works on jobs are told by process identifiers, and the page says what it counts."""
    use = used(150, {"4711-e3691397aa00": 138, "25067585bb00": 12})
    overview = cmsapi.Overview(at=datetime.now(UTC), use=use, processes=(4711,))
    shown = [line.plain for line in page(overview, "state.db", 100).renderables if isinstance(line, Text)]
    assert shown[1].endswith("150 of 1,000 requests; 138 by 4711, 12 by 25067585")
    assert shown[3] == "alive   1 other process works on jobs: 4711"


def test_a_page_of_80_columns_tells_who_used_the_hour_and_what_to_do() -> None:
    """Who used the hour has a line of its own where there is no room, a warning has as many as it takes."""
    use = used(404, {"18043-e3691397aa00": 197, "18046-25067585bb00": 184}, foreign=23)
    warning = "no process works on the batch keywords-of-autumn-2026, which is not done: run it again"
    batches = tuple(
        cmsapi.BatchStatus(name=f"keywords-of-autumn-2026-{part}", progress=cmsapi.Progress(total=3)) for part in "12"
    )
    overview = cmsapi.Overview(at=datetime.now(UTC), use=use, batches=batches, warnings=(warning,))
    shown = [line.plain for line in page(overview, "state.db", 80).renderables if isinstance(line, Text)]
    assert shown[1].endswith("404 of 1,000 requests, 23 of them by other programs")
    assert shown[2] == "        197 by 18043, 184 by 18046"
    assert " ".join(line.strip() for line in shown[5:7]) == f"! {warning}"
    assert any(line.startswith("keywords-of-autumn-… ") for line in shown)


@pytest.mark.looptime
async def test_launches_without_an_answer_are_on_the_page_although_no_job_runs(
    box: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    """For a minute it is not known what became of them, and that is not the picture of a batch that stands still."""
    box.add_fault(Fault(match="POST /v1/keywords/*/analyze", drop=True, when="after", times=2))
    running = asyncio.create_task(execute(parse(["analyze", *box.keyword_ids[:2], "--batch", "nightly"])))
    await asyncio.sleep(20)
    capsys.readouterr()
    assert await command("top", "--once") == Exit.DONE
    assert "running jobs  0, 2 being launched" in capsys.readouterr().out
    assert await running == Exit.DONE
