"""List open launches, and wait for their jobs."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import re
from pathlib import Path

import pytest

from cmsapi.cli.running import execute, parse
from cmsapi.cli.terminal.exit_codes import Exit
from cmsapi.sandbox import Fault, Faults, Fixed, Sandbox
from tests.support.command import command

pytestmark = pytest.mark.looptime


async def interrupted(*tokens: str) -> None:
    """Run a command line and interrupt it after its launches."""
    running = asyncio.create_task(execute(parse(tokens)))
    await asyncio.sleep(5)
    running.cancel()
    assert await running == Exit.INTERRUPTED


async def test_open_launches_are_listed(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """Each launch whose job has not finished is a row, with its batch; CSV and JSON have usable tokens."""
    await interrupted("analyze", *box.keyword_ids[:2], "--batch", "nightly")
    await interrupted("ideas", box.workspace_id, "trail running")
    capsys.readouterr()

    assert await command("jobs", "list") == Exit.DONE
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["id", *box.keyword_ids[:2], "trail"]
    assert "nightly" in lines[1]
    await command("jobs", "list", "--csv")
    tokens = [row["token"] for row in csv.DictReader(io.StringIO(capsys.readouterr().out))]
    await command("jobs", "list", "--json")
    assert [each["token"] for each in json.loads(capsys.readouterr().out)] == tokens

    assert await command("jobs", "watch", *tokens) == Exit.DONE
    capsys.readouterr()
    await command("jobs", "list", "--json")
    assert json.loads(capsys.readouterr().out) == []
    assert len(box.ledger.launches()) == 3


async def test_batches_are_listed(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """Each batch of the state is a row, with what it has cost and whether a process works on it."""
    box.set_outcome(box.keyword_ids[0], "failed")
    await command("analyze", *box.keyword_ids[:3], "--batch", "nightly")
    await interrupted("analyze", *box.keyword_ids[3:8], "--batch", "hourly")
    capsys.readouterr()
    assert await command("jobs", "batches") == Exit.DONE
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:3] for line in lines[1:]] == [["hourly", "stopped", "0"], ["nightly", "done", "3"]]
    await command("jobs", "batches", "--json")
    hourly, nightly = json.loads(capsys.readouterr().out)
    assert (nightly["finished"], nightly["failed"], nightly["credits"], nightly["secondsLeft"]) == (3, 1, 3, 0.0)
    assert (hourly["running"], hourly["total"], hourly["doneAt"], hourly["processes"]) == (5, 5, None, 0)


async def test_an_empty_list_names_the_state(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """Standard error names the state and how to use another; standard output is an empty list."""
    for name in ("list", "batches", "resume", "reviews"):
        assert await command("jobs", name, "--json") == Exit.DONE
        shown = capsys.readouterr()
        assert json.loads(shown.out) == []
        assert re.fullmatch(r"No [a-z ]+ in memory:\. To use another state: --state\.\n", shown.err)


async def test_a_list_of_batches_creates_no_state(
    box: Sandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A typo in `--state` does not look like a state without batches."""
    file = tmp_path / "typo.db"
    assert await command("jobs", "batches", "--state", f"sqlite:///{file}") == Exit.USAGE
    assert f"There is no state {file} yet" in capsys.readouterr().err
    assert not file.exists()


async def test_resume_waits_for_left_jobs(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """`jobs resume` needs no tokens, and records results in their batch."""
    box.set_outcome(box.keyword_ids[0], "failed")
    await interrupted("analyze", *box.keyword_ids[:3], "--batch", "nightly")
    capsys.readouterr()

    assert await command("jobs", "resume", "--json") == Exit.PARTLY
    ends = {each["item"]: each["error"] is None for each in json.loads(capsys.readouterr().out)}
    assert ends == {id_: id_ != box.keyword_ids[0] for id_ in box.keyword_ids[:3]}
    assert await command("jobs", "resume") == Exit.DONE
    assert await command("analyze", *box.keyword_ids[:3], "--batch", "nightly") == Exit.PARTLY
    assert len(box.ledger.launches()) == 3


async def test_articles_in_review_are_listed_and_decided(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`jobs reviews` decides on given contents, and on all only after a confirmation."""
    first, second, third = box.content_ids[:3]
    await command("generate", first, second, third)
    capsys.readouterr()
    await command("jobs", "reviews", "--csv")
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["id"]: row["state"] for row in rows} == dict.fromkeys([first, second, third], "review")

    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert await command("jobs", "reviews", "--confirm") == Exit.USAGE
    assert await command("jobs", "reviews", "--review") == Exit.USAGE
    assert await command("jobs", "reviews", "cnt_other", "--confirm", "--yes") == Exit.USAGE
    assert await command("jobs", "reviews", first, "--cancel", "--yes") == Exit.DONE
    assert await command("contents", "review", second, "--confirm") == Exit.DONE
    capsys.readouterr()
    assert await command("jobs", "reviews", "--confirm", "--yes", "--json") == Exit.DONE
    (last,) = json.loads(capsys.readouterr().out)
    assert (last["contentId"], last["decision"]) == (third, "confirm")
    await command("jobs", "list", "--json")
    assert json.loads(capsys.readouterr().out) == []


async def test_a_refused_decision_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If the service refuses one decision, the error names it, and the other articles are applied."""
    faults = Faults(rules=[Fault(match="POST /v1/contents/*/generation/confirm", status=403)])
    async with Sandbox(durations=Fixed(20), faults=faults) as box:
        monkeypatch.setenv("CMSAPI_API_KEY", box.api_key)
        monkeypatch.setenv("CMSAPI_BASE_URL", box.base_url)
        assert await command("generate", *box.content_ids[:3], "--confirm") == Exit.PARTLY
        shown = capsys.readouterr().err
        assert shown.count("Applied: ") == 2
        await command("jobs", "reviews", "--csv")
        (left,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert f"\n{left['id']}: " in shown


async def test_ctrl_c_in_resume_shows_no_empty_list(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """Interrupted before a job has finished, it prints only how to wait for the jobs."""
    await interrupted("analyze", box.keyword_ids[0])
    capsys.readouterr()

    await interrupted("jobs", "resume")
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "  cmsapi jobs watch cmsjob1." in shown.err
