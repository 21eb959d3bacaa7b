"""Commands that only read: output for people and for programs."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest

from cmsapi.cli.terminal.exit_codes import Exit
from cmsapi.sandbox import Sandbox
from tests.support.command import command

pytestmark = pytest.mark.looptime


async def test_me_shows_user_and_balances(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """The user and the balances are shown; the key is not."""
    assert await command("me") == Exit.DONE

    shown = capsys.readouterr().out
    assert "Ada Moreau" in shown
    assert "10,000" in shown
    assert box.api_key not in shown


async def test_a_list_is_bounded(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """`--limit` bounds a list, and standard error has the total."""
    await command("contents", "list", box.workspace_id, "--limit", "3", "--json")

    shown = capsys.readouterr()
    assert len(json.loads(shown.out)) == 3
    assert "3 of 10" in shown.err


async def test_keywords_of_a_workspace_or_of_one_page(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """Keywords are listed for all pages, for one page, or only without an analysis."""
    await command("keywords", box.workspace_id, "--csv")
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["id"] for row in rows} >= {*box.keyword_ids, *box.analyzed_keyword_ids}

    await command("keywords", box.workspace_id, "--page", box.page_ids[0], "--csv")
    of_page = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert 0 < len(of_page) < len(rows)
    assert [row for row in rows if row in of_page] == of_page

    await command("keywords", box.workspace_id, "--unanalysed", "--csv")
    unanalysed = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["id"] for row in unanalysed} == set(box.keyword_ids)


async def test_folders_are_a_tree(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """Each folder is below its parent, with its whole identifier."""
    await command("folders", box.workspace_id)

    lines = capsys.readouterr().out.splitlines()
    depth = {name: next(line.index(name) for line in lines if name in line) for name in ("Guides", "Shoes", "Trail")}
    assert depth["Guides"] < depth["Shoes"] < depth["Trail"]
    assert all(any(id_ in line for line in lines) for id_ in box.folder_ids)


async def test_credits_are_bars(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """The use of credits is shown per type, day and workspace; CSV has each usage."""
    await command("analyze", *box.keyword_ids[:3])
    await command("ideas", box.workspace_id, "trail running", "--json")
    capsys.readouterr()

    await command("credits", "--since", "3000d")
    shown = capsys.readouterr().out
    assert re.search(r"^analyses left +9,997$", shown, re.MULTILINE)
    assert "by workspace" in shown
    assert "█" in shown

    await command("credits", "--since", "3000d", "--json")
    assert json.loads(capsys.readouterr().out)["byType"]["content_idea_search"] == 1

    await command("credits", "--since", "3000d", "--csv")
    assert "trail running" in capsys.readouterr().out


async def test_service_text_cannot_control_the_terminal(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """Control characters and markup in a title are printed as text."""
    box.touch_content(box.content_ids[0], title="\x1b]0;owned\x07[bold]x[/]\nnext")

    await command("contents", "list", box.workspace_id)
    await command("contents", "show", box.content_ids[0])

    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "[bold]x[/] next" in shown


@pytest.mark.parametrize(
    ("tokens", "code"),
    [
        (["nonsense"], Exit.USAGE),
        (["me", "--jsn"], Exit.USAGE),
        (["workspaces", "--json", "--csv"], Exit.USAGE),
        (["folders", ".."], Exit.USAGE),
        (["folders", "wsp_missing"], Exit.FAILED),
        (["analyze", "--nonsense"], Exit.USAGE),
        (["contents", "edit", "cnt_1"], Exit.USAGE),
        (["generate", "cnt_1", "--settings", "fact_chekcing=true"], Exit.USAGE),
        (["generate", "cnt_1", "--confirm", "--discard"], Exit.USAGE),
        (["generate", "cnt_1", "--cancel"], Exit.USAGE),
        (["jobs", "reviews", "--confirm", "--cancel"], Exit.USAGE),
        (["generate", "cnt_1", "--review"], Exit.USAGE),
        (["jobs", "watch", "cmsjob1.x.y"], Exit.USAGE),
    ],
)
async def test_each_mistake_has_its_code(box: Sandbox, tokens: list[str], code: Exit) -> None:
    """Wrong usage ends with 2, before any launch; a request that the service refuses ends with 1."""
    assert await command(*tokens) == code
    assert len(box.ledger.launches()) == 0
