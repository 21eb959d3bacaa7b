"""`analyze --since` and `--skip-analyzed`: keywords that have an analysis are not paid for again."""

from __future__ import annotations

import json

import pytest

from cmsapi.cli.terminal.exit_codes import Exit
from cmsapi.sandbox import Sandbox
from tests.support.command import command

pytestmark = pytest.mark.looptime


def launched(box: Sandbox) -> list[str]:
    """Return the targets of all launches."""
    return [entry.path.split("/")[3] for entry in box.ledger.launches()]


async def test_analysed_keywords_are_left_out(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """Only keywords without an analysis, or with an older one, are launched; the plan names the others."""
    first, second, third = box.keyword_ids[:3]
    await command("analyze", first)
    for option in (["--skip-analyzed"], ["--since", "5d"]):
        capsys.readouterr()
        assert await command("analyze", first, second, *option, "--dry-run", "--json") == Exit.DONE
        shown = capsys.readouterr()
        plan = json.loads(shown.out)
        assert (plan["count"], plan["skipped"]) == (1, 1)
        assert "skipped: 1 of 2 keywords, analysed" in shown.err
    assert await command("analyze", first, third, "--skip-analyzed") == Exit.DONE
    assert await command("analyze", first, "--since", "2020-01-01") == Exit.DONE
    assert launched(box) == [first, third]
    assert "plan: nothing to launch, no credit" in capsys.readouterr().err


async def test_an_older_analysis_is_made_again(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """An analysis before the moment does not count."""
    box.step_clock(-864_000)
    await command("analyze", box.keyword_ids[0])
    assert await command("analyze", box.keyword_ids[0], "--since", "5d") == Exit.DONE
    assert launched(box) == [box.keyword_ids[0]] * 2
    assert "skipped: none of 1 keyword" in capsys.readouterr().err


async def test_a_failed_analysis_is_made_again(box: Sandbox) -> None:
    """A keyword whose analysis failed has none."""
    box.set_outcome(box.keyword_ids[0], "failed")
    await command("analyze", box.keyword_ids[0])
    await command("analyze", box.keyword_ids[0], "--skip-analyzed")
    assert launched(box) == [box.keyword_ids[0]] * 2


async def test_a_batch_prints_its_own_results_again(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """What the batch has launched is no reason to leave it out of the batch."""
    ids = box.keyword_ids[:3]
    for _ in range(2):
        capsys.readouterr()
        assert await command("analyze", *ids, "--batch", "nightly", "--since", "30d", "--json") == Exit.DONE
        assert {each["item"] for each in json.loads(capsys.readouterr().out)} == set(ids)
    assert len(launched(box)) == 3


async def test_keywords_of_a_page_are_read_together(box: Sandbox) -> None:
    """One list serves the keywords of a page, so that the reads take fewer requests than keywords."""
    assert await command("analyze", *box.keyword_ids, "--skip-analyzed", "--dry-run") == Exit.DONE
    reads = box.ledger.count(operation="get_keyword") + box.ledger.count(operation="list_keywords")
    assert reads < len(box.keyword_ids)


async def test_an_unknown_keyword_is_left_to_its_launch(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """The launch says that it does not exist; the others are launched."""
    assert await command("analyze", "kwd_missing", box.keyword_ids[0], "--skip-analyzed") == Exit.PARTLY
    assert "kwd_missing: 404" in capsys.readouterr().err


async def test_a_refused_key_launches_nothing(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the reads nothing is launched."""
    monkeypatch.setenv("CMSAPI_API_KEY", box.revoked_key)
    assert await command("analyze", box.keyword_ids[0], "--skip-analyzed") == Exit.FAILED
    assert box.ledger.count(operation="analyze_keyword") == 0


async def test_the_next_command_of_a_batch_has_the_option(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """A run that stops names a command line that leaves out the same keywords."""
    tokens = ("--batch", "nightly", "--since", "30d", "--max-credits", "1")
    assert await command("analyze", *box.keyword_ids[:3], *tokens) == Exit.CREDITS
    assert "--batch nightly --since 30d --max-credits 1" in capsys.readouterr().err


async def test_both_options_at_once_are_refused(box: Sandbox) -> None:
    """They say different things."""
    assert await command("analyze", "kwd_1", "--since", "30d", "--skip-analyzed") == Exit.USAGE
    assert len(box.ledger) == 0
