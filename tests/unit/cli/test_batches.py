"""Named batches: a rerun pays only for missing items, and Ctrl-C prints how to continue."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import re
import shlex
from pathlib import Path

import pytest

from cmsapi.cli.running import execute, parse
from cmsapi.cli.terminal.exit_codes import Exit
from cmsapi.sandbox import Fault, Faults, Sandbox
from tests.support.command import command

pytestmark = pytest.mark.looptime


def offered(shown: str) -> list[str]:
    """Return the last command line that a command printed to standard error."""
    return shlex.split(re.findall(r"^  cmsapi (.*)$", shown, re.MULTILINE)[-1])


async def test_the_printed_command_continues_after_ctrl_c(
    box: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Standard input is used up, so a file has its identifiers; no item is launched twice."""
    monkeypatch.chdir(tmp_path)
    ids = box.keyword_ids[:6]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(ids)))
    running = asyncio.create_task(execute(parse(["analyze", "-", "--batch", "nightly", "--max-credits", "4"])))
    await asyncio.sleep(5)
    running.cancel()
    assert await running == Exit.INTERRUPTED

    message = capsys.readouterr().err
    assert "Batch of 6 items: 4 launched and paid, 0 with a result, 2 still to launch." in message
    again = offered(message)
    assert again[-4:] == ["--batch", "nightly", "--max-credits", "4"]
    assert await command(*again, "--json") == Exit.DONE
    shown = capsys.readouterr()
    assert "batch 'nightly': 4 of 6 items launched in earlier runs" in shown.err
    assert "plan: 2 x keyword analysis" in shown.err
    assert {each["item"]: each["result"]["analysisStatus"] for each in json.loads(shown.out)} == dict.fromkeys(
        ids, "success"
    )
    assert len(box.ledger.launches()) == 6


async def test_a_finished_batch_costs_nothing(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """A rerun prints the same rows and launches nothing."""
    await command("analyze", *box.keyword_ids[:3], "--batch", "nightly", "--csv")
    first = capsys.readouterr().out
    assert await command("analyze", *box.keyword_ids[:3], "--batch", "nightly", "--csv") == Exit.DONE

    shown = capsys.readouterr()
    assert sorted(shown.out.splitlines()) == sorted(first.splitlines())
    assert "nothing to launch" in shown.err
    assert len(box.ledger.launches()) == 3


async def test_the_printed_command_repeats_files_and_state(
    box: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command to continue has the typed arguments and the given state."""
    (tmp_path / "ids.txt").write_text("\n".join(box.keyword_ids[:5]))
    monkeypatch.chdir(tmp_path)
    state = f"sqlite:///{tmp_path}/own.db"
    typed = ["analyze", "@ids.txt", "--batch", "a name", "--max-credits", "1", "--state", state]
    assert await command(*typed) == Exit.CREDITS
    assert offered(capsys.readouterr().err) == typed
    assert (tmp_path / "own.db").exists()


async def test_failed_items_are_launched_again_on_request(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """A rerun reports a failure and prints how to retry it, which costs a credit."""
    box.set_outcome(box.keyword_ids[0], "failed")
    typed = ["analyze", *box.keyword_ids[:2], "--batch", "nightly"]
    assert await command(*typed) == Exit.PARTLY
    again = offered(capsys.readouterr().err)
    assert await command(*typed) == Exit.PARTLY
    assert len(box.ledger.launches()) == 2

    assert again[-2:] == ["--retry", "failed"]
    box.set_outcome(box.keyword_ids[0], "success")
    assert await command(*again) == Exit.DONE
    assert len(box.ledger.launches()) == 3


async def test_a_dry_run_of_a_batch_plans_the_rest_and_changes_nothing(
    box: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    """Paid items are left out, and read again; failed items count with `--retry`, and stay failed."""
    box.set_outcome(box.keyword_ids[0], "failed")
    typed = ["analyze", *box.keyword_ids[:5], "--batch", "nightly"]
    await command("analyze", *box.keyword_ids[:3], "--batch", "nightly")
    capsys.readouterr()
    assert await command(*typed, "--dry-run", "--json") == Exit.DONE
    rest = json.loads(capsys.readouterr().out)
    assert (rest["count"], rest["credits"], rest["earlier"]) == (2, 2, 2)
    assert await command(*typed, "--dry-run", "--retry", "failed", "--json") == Exit.DONE
    assert json.loads(capsys.readouterr().out)["count"] == 3
    assert await command(*typed, "--dry-run", "--json") == Exit.DONE
    assert json.loads(capsys.readouterr().out)["count"] == 2
    assert len(box.ledger.launches()) == 3


async def test_an_unknown_search_is_not_repeated(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A keyword whose launch may have been charged stays unknown in each rerun, until `--retry unknown`."""
    faults = Faults(rules=[Fault(match="POST */content-idea-searches", drop=True, when="after", times=1)])
    async with Sandbox(faults=faults) as box:
        monkeypatch.setenv("CMSAPI_API_KEY", box.api_key)
        monkeypatch.setenv("CMSAPI_BASE_URL", box.base_url)
        typed = ["ideas", box.workspace_id, "trail running", "--batch", "seeds"]
        assert await command(*typed) == Exit.UNKNOWN
        assert await command(*typed) == Exit.UNKNOWN
        assert len(box.ledger.launches()) == 1
        assert await command(*offered(capsys.readouterr().err), "--csv") == Exit.DONE
        assert len(list(csv.DictReader(io.StringIO(capsys.readouterr().out)))) > 3


async def test_a_keyword_in_another_workspace_is_another_item(box: Sandbox) -> None:
    """A batch of searches distinguishes workspaces."""
    assert await command("ideas", box.workspace_id, "trail running", "--batch", "seeds") == Exit.DONE
    assert await command("ideas", "wsp_other", "trail running", "--batch", "seeds") == Exit.FAILED


async def test_articles_of_a_batch_are_written_once_and_decided_later(
    box: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    """A rerun resumes articles in review, applies them on request, and then reports them as decided."""
    ids = box.content_ids[:3]
    assert await command("generate", *ids, "--batch", "articles") == Exit.DONE
    assert await command("generate", *ids, "--batch", "articles", "--confirm", "--json") == Exit.DONE
    shown = capsys.readouterr()
    assert shown.err.count("Applied: ") == 3
    assert {each["result"]["decision"] for each in json.loads(shown.out)} == {"confirm"}

    assert await command("generate", *ids, "--batch", "articles", "--confirm") == Exit.DONE
    assert capsys.readouterr().err.count("Already decided: the article is applied.") == 3
    assert len(box.ledger.launches()) == 3


async def test_a_joined_job_counts_as_launched(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """A job launched without the batch is paid, and is not reported as still to launch."""
    for batch in ((), ("--batch", "nightly")):
        running = asyncio.create_task(execute(parse(["analyze", box.keyword_ids[0], *batch])))
        await asyncio.sleep(3)
        running.cancel()
        assert await running == Exit.INTERRUPTED
    assert "Batch of 1 item: 1 launched and paid, 0 with a result, 0 still to launch." in capsys.readouterr().err
    assert len(box.ledger.launches()) == 1


async def test_retry_needs_a_batch(box: Sandbox) -> None:
    """Without a batch there is no earlier run to retry."""
    assert await command("analyze", box.keyword_ids[0], "--retry", "failed") == Exit.USAGE
    assert len(box.ledger) == 0
