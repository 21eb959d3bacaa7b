"""Commands that launch many jobs: results, bounds of spending, Ctrl-C."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import logging
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cmsapi.cli.running import execute, parse
from cmsapi.cli.terminal.exit_codes import Exit
from cmsapi.sandbox import Fault, Faults, Fixed, Sandbox
from tests.support.command import command

pytestmark = pytest.mark.looptime


async def test_keywords_are_analysed_from_standard_input(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`-` reads identifiers; each is launched once, the plan is printed first, and JSON has each result."""
    ids = box.keyword_ids[:4]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join([*ids, ids[0]])))

    assert await command("analyze", "-", "--json") == Exit.DONE

    shown = capsys.readouterr()
    assert "plan: 4 x keyword analysis, 4 credits" in shown.err
    assert {each["item"]: each["result"]["analysisStatus"] for each in json.loads(shown.out)} == dict.fromkeys(
        ids, "success"
    )
    assert len(box.ledger.launches()) == 4


async def test_items_that_failed_alike_share_a_line(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """The line has each identifier with its keyword, and says why only once; the table has the keywords, too."""
    first, second, third = box.keyword_ids[:3]
    names = box.keyword_ids[:2]
    for keyword_id in names:
        box.set_outcome(keyword_id, "failed")
    assert await command("analyze", first, second, third, "--csv") == Exit.PARTLY
    shown = capsys.readouterr()
    rows = {row["id"]: row["name"] for row in csv.DictReader(io.StringIO(shown.out))}
    assert all(rows.values())
    (line,) = [line for line in shown.err.splitlines() if "failed, as the service reports" in line]
    assert line.startswith(
        ", ".join(f"{keyword_id} ({rows[keyword_id]})" for keyword_id in rows if keyword_id in names)
    )
    assert f"of {first}" not in line


async def test_a_dry_run_launches_nothing(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """`--dry-run` prints the cost and launches nothing."""
    assert await command("analyze", *box.keyword_ids, "--dry-run") == Exit.DONE
    assert "20 credits" in capsys.readouterr().err
    assert not box.ledger.launches()


async def test_a_dry_run_checks_the_balance(capsys: pytest.CaptureFixture[str], box: Sandbox) -> None:
    """With too few credits it ends with 4; items beyond `--max-credits` need no credit."""
    box.set_credits(analysis=3)
    assert await command("analyze", *box.keyword_ids, "--dry-run") == Exit.CREDITS
    shown = capsys.readouterr().err
    assert "20 credits of 3 left" in shown
    assert "it pays for 3 of 20" in shown
    assert await command("analyze", *box.keyword_ids, "--dry-run", "--max-credits", "3") == Exit.DONE
    box.set_credits(analysis=0)
    assert await command("analyze", *box.keyword_ids, "--dry-run") == Exit.CREDITS
    assert await command("analyze", *box.keyword_ids) == Exit.CREDITS
    assert not box.ledger.launches()


async def test_a_plan_learns_from_earlier_commands(
    capsys: pytest.CaptureFixture[str], box: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A state keeps the durations of jobs, and the next command plans with them."""
    monkeypatch.setenv("CMSAPI_STATE", f"sqlite:///{tmp_path}/jobs.db")
    await command("analyze", *box.keyword_ids[:10], "--dry-run")
    assert "a guess: no keyword analysis was seen to end yet" in capsys.readouterr().err
    await command("analyze", *box.keyword_ids[:10])
    capsys.readouterr()
    await command("analyze", *box.keyword_ids[10:], "--dry-run")
    assert "10 keyword analyses seen" in capsys.readouterr().err


async def test_a_dry_run_prints_the_plan_for_programs(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """With `--json` the plan is one object, with `--csv` one row; both are on standard output."""
    assert await command("analyze", *box.keyword_ids[:7], "--dry-run", "--json") == Exit.DONE
    shown = json.loads(capsys.readouterr().out)
    assert (shown["kind"], shown["count"], shown["credits"], shown["affordable"]) == ("keyword_analysis", 7, 7, True)
    assert shown["requestsRange"][0] <= shown["requests"] <= shown["requestsRange"][1] <= shown["requestsLeft"]
    assert await command("analyze", *box.keyword_ids[:7], "--dry-run", "--csv") == Exit.DONE
    row = next(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert (row["count"], row["learned_from"]) == ("7", "0")


async def test_the_same_error_is_printed_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Items with the same error share a message, however long each of them waited."""
    faults = Faults(rules=[Fault(match="POST */analyze", status=429, times=None)])
    async with Sandbox(faults=faults) as box:
        monkeypatch.setenv("CMSAPI_API_KEY", box.api_key)
        monkeypatch.setenv("CMSAPI_BASE_URL", box.base_url)
        assert await command("analyze", *box.keyword_ids[:5]) == Exit.FAILED
    shown = capsys.readouterr().err
    assert shown.count("429 rate_limited") == 1
    assert shown.count("; waited ") == 1
    assert " and 2 more: 429" in shown


async def test_spending_is_bounded(
    box: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--max-credits` bounds launches; a file has the other items, for a command with the same bound."""
    box.set_credits(analysis=25)
    monkeypatch.chdir(tmp_path)

    assert await command("analyze", *box.keyword_ids, "--max-credits", "2") == Exit.CREDITS

    shown = capsys.readouterr().err
    (rest, bound) = re.findall(r"^  cmsapi analyze (@\S+)(.*)$", shown, re.MULTILINE)[0]
    assert len(box.ledger.launches()) == 2
    assert "The bound that you set, --max-credits=2, is reached" in shown
    assert "23 credits remain." in shown
    assert "18 items not launched and not charged. To launch up to 2 more:" in shown
    assert bound == " --max-credits 2"
    assert await command("analyze", rest, *bound.split()) == Exit.CREDITS
    assert len(box.ledger.launches()) == 4
    # The name of the file has the second in it, which may be another one by now.
    (rest,) = re.findall(r"^  cmsapi analyze (@\S+)", capsys.readouterr().err, re.MULTILINE)
    assert await command("analyze", rest) == Exit.DONE
    assert len(box.ledger.launches()) == 20


async def test_jobs_can_be_awaited_after_ctrl_c(
    box: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The interrupted command prints the tokens; `jobs watch` prints the results and pays nothing."""
    monkeypatch.chdir(tmp_path)
    running = asyncio.create_task(execute(parse(["analyze", *box.keyword_ids[:6]])))
    await asyncio.sleep(5)
    running.cancel()

    assert await running == Exit.INTERRUPTED
    shown = capsys.readouterr().err
    assert "6 jobs launched and not finished" in shown

    (tokens,) = re.findall(r"cmsapi jobs watch (@\S+)", shown)
    assert await command("jobs", "watch", tokens, "--json") == Exit.DONE
    assert len(json.loads(capsys.readouterr().out)) == 6
    assert len(box.ledger.launches()) == 6


async def test_ctrl_c_keeps_the_bound_of_spending(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """The command to launch the rest has the same `--max-credits`."""
    running = asyncio.create_task(execute(parse(["analyze", *box.keyword_ids[:6], "--max-credits", "4"])))
    await asyncio.sleep(5)
    running.cancel()
    assert await running == Exit.INTERRUPTED
    (rest,) = re.findall(r"^  (cmsapi analyze .*)$", capsys.readouterr().err, re.MULTILINE)
    assert rest.endswith(" --max-credits 4")


async def test_ctrl_c_during_a_generation_prints_how_to_decide(
    box: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command prints how to wait for an unfinished article, and how to decide on it."""
    running = asyncio.create_task(execute(parse(["generate", box.content_ids[0], "--confirm"])))
    await asyncio.sleep(5)
    running.cancel()
    assert await running == Exit.INTERRUPTED

    watch, decide = re.findall(r"^  cmsapi (.*)$", capsys.readouterr().err, re.MULTILINE)
    assert decide == f"contents review {box.content_ids[0]} --confirm"
    assert await command(*watch.split()) == Exit.DONE
    assert await command(*decide.split()) == Exit.DONE
    assert "Applied: " in capsys.readouterr().err


async def test_a_launch_in_flight_at_ctrl_c_is_not_offered_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A search whose launch was in flight keeps running, and is not among the items to launch."""
    async with Sandbox(faults=Faults(latency=(2.0, 2.0))) as box:
        monkeypatch.setenv("CMSAPI_API_KEY", box.api_key)
        monkeypatch.setenv("CMSAPI_BASE_URL", box.base_url)
        running = asyncio.create_task(execute(parse(["ideas", box.workspace_id, "trail running"])))
        # The plan takes the first request.
        await asyncio.sleep(5)
        running.cancel()
        assert await running == Exit.INTERRUPTED
        assert len(box.ledger.launches()) == 1

    shown = capsys.readouterr().err
    assert "1 job launched and not finished" in shown
    assert "Check before you launch them again" in shown
    assert "not launched" not in shown


@pytest.mark.parametrize("batch", [False, True])
async def test_launches_without_an_answer_at_the_end_are_told_once(
    batch: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The summary counts them as perhaps charged; the state keeps them, so that the log has no paragraph for each."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CMSAPI_STATE", "sqlite:///jobs.db")
    faults = Faults(rules=[Fault(match="POST */analyze", drop=True, when="after", times=2)])
    async with Sandbox(faults=faults) as box:
        monkeypatch.setenv("CMSAPI_API_KEY", box.api_key)
        monkeypatch.setenv("CMSAPI_BASE_URL", box.base_url)
        named = ["--batch", "nightly"] if batch else []
        running = asyncio.create_task(execute(parse(["analyze", *box.keyword_ids[:6], *named])))
        await asyncio.sleep(5)
        running.cancel()
        assert await running == Exit.INTERRUPTED
        lost = box.keyword_ids[:2]
    shown = capsys.readouterr().err
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]
    if batch:
        assert "4 launched and paid, 2 perhaps launched" in shown
    else:
        assert "4 jobs launched and not finished" in shown
        assert "This run has cost at most 6 credits." in shown
        (doubtful,) = re.findall(r"some may be running. Check before you launch them again:\n  (.*)\n", shown)
        assert sorted(doubtful.split()) == sorted(lost)
    assert "not charged" not in shown


async def test_items_that_fail_alike_share_a_line(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """The same refusal of several items is printed once, with the request id of the first, which the ledger has."""
    for keyword_id in box.keyword_ids[:2]:
        box.add_fault(Fault(match=f"POST /v1/keywords/{keyword_id}/analyze", status=403))
    await command("analyze", *box.keyword_ids[:2])
    shown = capsys.readouterr().err
    assert shown.count("403 forbidden") == 1
    (named,) = re.findall(r"Request id: (\S+)", shown)
    assert named in {entry.request_id for entry in box.ledger.filter(status=403)}


@pytest.fixture
async def slow_box(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Sandbox]:
    """A sandbox whose jobs take ten minutes."""
    async with Sandbox(durations=Fixed(600)) as box:
        monkeypatch.setenv("CMSAPI_API_KEY", box.api_key)
        monkeypatch.setenv("CMSAPI_BASE_URL", box.base_url)
        yield box


async def test_items_out_of_time_are_left_to_another_command(
    slow_box: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--timeout` ends the wait for each job; the command prints why, the tokens to wait for again, and a code."""
    box = slow_box
    quick, *slow = box.keyword_ids[:3]
    asyncio.get_running_loop().call_later(60, box.finish, quick)

    assert await command("analyze", quick, *slow, "--timeout", "3m") == Exit.PARTLY

    shown = capsys.readouterr().err
    (line,) = [line for line in shown.splitlines() if "did not finish within 180 s of its launch" in line]
    assert all(item in line for item in slow)
    assert "wait again with a longer --timeout" in line
    assert "not launched" not in shown
    watch = shown.partition("2 jobs launched and not finished. To wait for the results:\n  cmsapi ")[2].splitlines()[0]
    assert await command(*watch.split(), "--timeout", "3h") == Exit.DONE
    assert len(box.ledger.launches()) == 3


async def test_a_batch_out_of_time_is_continued(slow_box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """The command that a batch prints waits for the same jobs, for no credit."""
    box = slow_box
    ids = box.keyword_ids[:2]
    assert await command("analyze", *ids, "--batch", "nightly", "--timeout", "180") == Exit.FAILED
    shown = capsys.readouterr().err
    assert "To launch failed items again" not in shown
    again = shown.partition("To wait for the results, for no credit:\n  cmsapi ")[2].splitlines()[0]
    assert await command(*again.split()) == Exit.DONE
    assert len(box.ledger.launches()) == 2


async def test_a_bad_timeout_is_refused(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """A command with a time that ends nothing launches nothing."""
    assert await command("analyze", box.keyword_ids[0], "--timeout", "0") == Exit.USAGE
    assert "--timeout" in capsys.readouterr().err
    assert not box.ledger
