"""The promises of commands that launch, and of those that continue with launched jobs."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from cmsapi.errors import ConfigError
from cmsapi.sandbox import Fault, Sandbox
from tests.unit.cli.conftest import QUICK, Run


def _database(tmp_path: Path) -> Path:
    return tmp_path / "state" / "cmsapi" / "jobs.db"


async def test_a_dry_run_launches_nothing(run: Run, sandbox: Sandbox, tmp_path: Path) -> None:
    """The plan names the cost; nothing is launched and no file is created."""
    done = await run("analyze", *sandbox.keyword_ids[:3], "--dry-run")
    assert (done.code, done.out, sandbox.ledger.launches) == (0, "", [])
    assert "3 of 5,000" in done.err
    assert not _database(tmp_path).exists()


async def test_a_dry_run_fails_if_the_balance_is_short(run: Run, sandbox: Sandbox) -> None:
    """A plan that exceeds the balance is a failure, which scripts can see."""
    sandbox.credits = {"analysis": 1}
    done = await run("analyze", *sandbox.keyword_ids[:3], "--dry-run")
    assert (done.code, "2 will stay unlaunched" in done.err) == (1, True)


async def test_analyze(run: Run, sandbox: Sandbox, tmp_path: Path) -> None:
    """Each keyword has a row; the state is a file that only its owner can read, and forgets finished work."""
    done = await run("analyze", *sandbox.keyword_ids[:3])
    assert done.code == 0
    assert {(row[0], row[1]) for row in done.rows} == {(id_, "succeeded") for id_ in sandbox.keyword_ids[:3]}
    assert _database(tmp_path).stat().st_mode & 0o777 == 0o600
    assert _database(tmp_path).parent.stat().st_mode & 0o777 == 0o700
    nothing = await run("jobs", "batches")
    assert (nothing.out, nothing.err) == ("", "none\n")


@pytest.mark.looptime
async def test_demo(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The demonstration needs no settings, adopts the lost launch, and pays for nothing twice."""
    for name in ("CMSAPI_API_KEY", "CMSAPI_BASE_URL"):
        monkeypatch.delenv(name)
    done = await run("demo", "--keywords", "9")
    assert (done.code, "9 analysis, 1 ai_writing; paid twice: 0" in done.out) == (0, True)


async def test_prompts(run: Run, sandbox: Sandbox) -> None:
    """``--prompts`` analyzes prompts."""
    [document] = (await run("analyze", "--prompts", sandbox.prompt_ids[0], "--json")).documents
    assert (document["status"], document["result"]["id"]) == ("succeeded", sandbox.prompt_ids[0])


async def test_a_batch_is_paid_once(run: Run, sandbox: Sandbox) -> None:
    """A run with the name of an earlier batch shows its results, and launches only what is new."""
    await run("analyze", *sandbox.keyword_ids[:2], "--batch", "b")
    done = await run("analyze", *sandbox.keyword_ids[:3], "--batch", "b")
    assert len(done.rows) == len(sandbox.ledger.launches) == 3
    assert "1 to launch, 2 launched before" in done.err
    assert "credits: 1 now, 3 in all" in done.err
    assert [row[:3] for row in (await run("jobs", "batches")).rows] == [["b", "3", "0"]]


async def test_failed_items(run: Run, sandbox: Sandbox) -> None:
    """A failed job gives exit code 1, stays failed, and is launched again only with ``--retry failed``."""
    bad, good = sandbox.keyword_ids[:2]
    sandbox.set_outcome(bad, "failed", duration=0.5)  # long enough to be seen at work
    first = await run("analyze", bad, good, "--batch", "b")
    assert (first.code, dict(row[:2] for row in first.rows)) == (1, {bad: "failed", good: "succeeded"})
    assert "--retry failed" in first.err
    assert (await run("jobs", "show", "b")).rows == [[bad, "failed"]]
    sandbox.set_outcome(bad, "success")
    assert (await run("analyze", bad, good, "--batch", "b")).code == 1
    assert len(sandbox.ledger.launches) == 2
    assert (await run("analyze", bad, good, "--batch", "b", "--retry", "failed")).code == 0
    assert len(sandbox.ledger.launches) == 3


@pytest.mark.parametrize("sandbox", [Sandbox(faults=Fault(match="start_*", drop="before", times=1), **QUICK)])
async def test_unknown_launches(run: Run, sandbox: Sandbox) -> None:
    """A lost search is shown with where to check, and launched again only on request."""
    search = ("ideas", sandbox.workspace_id, "shoes", "--batch", "b")
    done = await run(*search)
    assert (done.code, done.rows[0][1], "credit_usages" in done.out) == (1, "unknown", True)
    assert "twice" in done.err
    assert [row[0] for row in (await run("jobs", "unknown")).rows] == ["shoes"]
    assert (await run(*search)).code == 1
    again = await run(*search, "--retry", "unknown")
    assert (again.code, len(sandbox.ledger.launches), again.rows[0][:2]) == (0, 1, ["shoes", "succeeded"])


async def test_credits_are_bounded(run: Run, sandbox: Sandbox) -> None:
    """``--max-credits`` leaves out what would cost more; the plan says so, and a line names how to continue."""
    done = await run("analyze", *sandbox.keyword_ids[:5], "--max-credits", "2")
    assert (done.code, len(done.rows), len(sandbox.ledger.launches)) == (1, 2, 2)
    assert "2 of 5" in done.err
    assert (done.err.count("3 unlaunched"), done.err.count("unlaunched: ")) == (1, 1)


@pytest.mark.parametrize("directory", ["/dev/null", "/proc"])
async def test_works_without_a_home(
    run: Run, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, directory: str
) -> None:
    """Without a writable home the state is a file in the working directory, with a message."""
    monkeypatch.setenv("XDG_STATE_HOME", f"{directory}/state")
    done = await run("analyze", sandbox.keyword_ids[0], "--batch", "b")
    assert (done.code, str(tmp_path / "cmsapi-jobs.db") in done.err) == (0, True)
    assert (await run("jobs", "batches")).rows[0][:2] == ["b", "1"]


async def test_errors_name_commands(run: Run) -> None:
    """An error about an assumed route shows no Python."""
    done = await run("analyze", "--prompts", "nosuch")
    assert (done.rows[0][1], "OPERATIONS" in done.out, "cmsapi doctor" in done.out) == ("refused", False, True)


async def test_ideas_have_a_row_each(run: Run, sandbox: Sandbox) -> None:
    """A search gives a row for each idea, or one row without an idea if there is none."""
    sandbox.set_outcome("shoes", "success", ideas=3)
    sandbox.set_outcome("none", "success", ideas=0)
    rows = (await run("ideas", sandbox.workspace_id, "shoes", "none")).rows
    assert sorted(row[0] for row in rows) == ["none", "shoes", "shoes", "shoes"]


async def test_articles_are_applied(run: Run, sandbox: Sandbox) -> None:
    """``--confirm`` applies an article to its draft, and settings reach the service."""
    content = sandbox.content_ids[0]
    options = ("--brand-voice", sandbox.brand_voice_ids[0], "--knowledge", "web-search", "--confirm", "--json")
    [document] = (await run("generate", content, *options)).documents
    assert (document["result"]["decision"], document["result"]["content"]["id"]) == ("confirm", content)


async def test_articles_can_be_decided_on_later(run: Run, sandbox: Sandbox) -> None:
    """``--review`` leaves articles in review, where ``jobs reviews`` finds and decides on them."""
    first, second = sandbox.content_ids[:2]
    done = await run("generate", first, second, "--review")
    assert (done.code, {row[1] for row in done.rows}) == (0, {"review"})
    assert {row[0] for row in (await run("jobs", "reviews")).rows} == {first, second}
    assert "applied" in (await run("jobs", "reviews", first, "--confirm")).err
    assert "discarded" in (await run("jobs", "reviews", "--discard")).err
    assert (await run("jobs", "reviews")).out == ""


async def test_articles_are_asked_for(run: Run, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal the command asks about each article; undecided ones stay in review, even at end of input."""
    monkeypatch.setattr("cmsapi.cli.launches.can_ask", lambda: True)
    monkeypatch.setattr("sys.stdin", io.StringIO("maybe\nconfirm\nleave\n"))
    done = await run("generate", *sandbox.content_ids[:3])
    assert (done.code, done.err.count("applied")) == (0, 1)
    assert len((await run("jobs", "reviews")).rows) == 2


async def test_jobs_of_other_programs(run: Run, sandbox: Sandbox) -> None:
    """Commands wait for running jobs by state or by token, and a batch can be forgotten."""
    sandbox.set_outcome(sandbox.keyword_ids[0], "success", duration=3600)
    [lost] = (await run("analyze", sandbox.keyword_ids[0], "--batch", "b", "--json")).documents
    assert lost["status"] == "running"
    sandbox.finish()
    assert [row[1] for row in (await run("jobs", "resume")).rows] == ["succeeded"]
    assert (await run("jobs", "watch", lost["token"])).rows[0][1] == "succeeded"
    assert "items forgotten: 1" in (await run("jobs", "forget", "b")).err
    assert "launches forgotten: 0" in (await run("jobs", "forget")).err
    with pytest.raises(ConfigError, match="no batch b"):
        await run("jobs", "show", "b")
