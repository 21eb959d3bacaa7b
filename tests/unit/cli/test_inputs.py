"""What commands read: identifiers, tables, bodies, and what they refuse before anything is launched."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest

from cmsapi.cli.support.exit_codes import Exit
from cmsapi.sandbox import Behaviour, Sandbox
from tests.support.command import command

pytestmark = pytest.mark.looptime


def targets(box: Sandbox) -> set[str]:
    """Return what was launched for."""
    return {entry.path.split("/")[3] for entry in box.ledger.launches()}


async def test_a_body_comes_from_standard_input(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both spellings of the option take a hyphen for standard input, and no other option for a file."""
    for spelling in (["--html", "-"], ["--html=-"]):
        monkeypatch.setattr("sys.stdin", io.StringIO("<p>One two</p>"))
        assert await command("contents", "create", box.workspace_id, "New", *spelling, "--json") == Exit.DONE
        assert json.loads(capsys.readouterr().out)["html"] == "<p>One two</p>"
    assert await command("contents", "create", box.workspace_id, "New", "--html", "--json") == Exit.USAGE
    assert "--html" in capsys.readouterr().err


async def test_an_empty_body_is_said_with_an_empty_text(
    box: Sandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An empty file clears no draft, because the program that should have filled it may have failed; '' does."""
    (tmp_path / "body.html").write_text("<p>One two</p>")
    (tmp_path / "empty.html").write_text("\n")
    content_id = box.content_ids[0]
    assert await command("contents", "edit", content_id, "--html", "body.html") == Exit.DONE
    capsys.readouterr()

    assert await command("contents", "edit", content_id, "--html", "empty.html") == Exit.USAGE
    assert "empty.html" in capsys.readouterr().err
    assert await command("contents", "edit", content_id, "--html", "", "--json") == Exit.DONE
    assert not json.loads(capsys.readouterr().out)["html"]


@pytest.mark.parametrize("option", [["--csv"], ["--raw-csv"], []])
async def test_a_list_is_read_back(
    box: Sandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str], option: list[str]
) -> None:
    """What `keywords` prints into a file is what `analyze @FILE` reads, table or CSV."""
    await command("keywords", box.workspace_id, "--unanalysed", *option)
    (tmp_path / "found").write_text(capsys.readouterr().out)

    assert await command("analyze", "@found") == Exit.DONE
    assert targets(box) == set(box.keyword_ids)


@pytest.mark.parametrize("option", ["--csv", "--raw-csv"])
async def test_a_table_may_have_odd_identifiers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    """What stands in the column of identifiers is one, whatever it looks like."""
    async with Sandbox(behaviour=Behaviour(identifiers="odd")) as box:
        monkeypatch.setenv("CMSAPI_API_KEY", box.api_key)
        monkeypatch.setenv("CMSAPI_BASE_URL", box.base_url)
        await command("keywords", box.workspace_id, "--unanalysed", option)
        (tmp_path / "found").write_text(capsys.readouterr().out)
        assert await command("analyze", "@found") == Exit.DONE
        assert len(box.ledger.launches()) == len(box.keyword_ids)


async def test_what_is_offered_may_have_odd_identifiers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command that goes on names a table of them, also when they are few."""
    async with Sandbox(behaviour=Behaviour(identifiers="odd"), keywords=3) as box:
        monkeypatch.setenv("CMSAPI_API_KEY", box.api_key)
        monkeypatch.setenv("CMSAPI_BASE_URL", box.base_url)
        await command("keywords", box.workspace_id, "--unanalysed", "--csv")
        monkeypatch.setattr("sys.stdin", io.StringIO(capsys.readouterr().out))
        assert await command("analyze", "-", "--max-credits", "1") == Exit.CREDITS
        (rest,) = re.findall(r"cmsapi analyze (@\S+)", capsys.readouterr().err)
        assert await command("analyze", rest) == Exit.DONE
        assert len(box.ledger.launches()) == 3


@pytest.mark.parametrize(
    "text",
    [
        "{0}\n\n# a comment\n  {1} {2}\n",
        'keyword,ID,volume\n# a comment, with commas\n\nhats,{0},4180\n"two\nlines, one cell",{1},\n\'=x,{2},1\n',
        "\ufeffid;keyword\r\n{0};hats\r\n{1};\r\n{2};shoes\r\n",
        "id\n{0}\n{1}\n{2}",
    ],
)
async def test_identifiers_are_found_in_lists_and_tables(
    box: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """Comments and blank lines are skipped; CSV with a header is read by its column, from a file and from a pipe."""
    ids = box.keyword_ids[:3]
    (tmp_path / "found").write_text(text.format(*ids))
    assert await command("analyze", "@found") == Exit.DONE
    assert targets(box) == set(ids)
    monkeypatch.setattr("sys.stdin", io.StringIO(text.format(*ids)))
    assert await command("analyze", "-") == Exit.DONE
    assert targets(box) == set(ids)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("kwd_1\nkwd_2,hats,4180\n", 2),
        ('["kwd_1", "kwd_2"]', 1),
        ("# of a page\nid,keyword\nkwd_1,hats\n,shoes\n", 4),
        ("id,keyword\nkwd\x1b1,hats\n", 2),
        ("kwd_1\n\nkwd\x00_2\n", 3),
        ("<html>\n", 1),
    ],
)
async def test_what_cannot_be_an_identifier_is_refused(
    box: Sandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, line: int
) -> None:
    """File and line are named, and nothing is launched, nor even planned."""
    (tmp_path / "found").write_text(text)
    assert await command("analyze", "@found") == Exit.USAGE
    assert f"found, line {line}:" in capsys.readouterr().err
    assert await command("analyze", "kwd_1,kwd_2") == Exit.USAGE
    assert len(box.ledger) == 0


async def test_a_list_without_its_column_is_refused(
    box: Sandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tokens are looked for in the column of that name only, and seed keywords never in lines of a table."""
    (tmp_path / "found.csv").write_text("id,seed\nidea_1,hats\n")
    assert await command("jobs", "watch", "@found.csv") == Exit.USAGE
    assert "'token'" in capsys.readouterr().err
    assert await command("ideas", box.workspace_id, "@found.csv") == Exit.USAGE
    assert "'keyword'" in capsys.readouterr().err
    await command("keywords", box.workspace_id)
    (tmp_path / "found").write_text(capsys.readouterr().out)
    assert await command("ideas", box.workspace_id, "@found") == Exit.USAGE
    assert len(box.ledger.launches()) == 0


async def test_seeds_are_read_from_the_column_of_keywords(
    box: Sandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each seed is read as `keywords --csv` wrote it; a list has one a line, commas and all."""
    (tmp_path / "found.csv").write_text("id,keyword\nkwd_1,trail running\nkwd_2,'=sum\n")
    (tmp_path / "list").write_text("# seeds\nshoes, red\n\n#running\n")
    assert await command("ideas", box.workspace_id, "@found.csv", "@list", "--json") == Exit.DONE
    seeds = {each["seed"] for each in json.loads(capsys.readouterr().out)}
    assert seeds == {"trail running", "=sum", "shoes, red", "#running"}


@pytest.mark.parametrize("source", ["-", "@empty", ""])
async def test_nothing_to_do_is_no_success(
    box: Sandbox,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    source: str,
) -> None:
    """An empty source ends with 2 beside others, too, so that a broken program before it shows; an option allows it."""
    (tmp_path / "empty").write_text("\n# nothing\n")
    commands = (["analyze"], ["generate"], ["ideas", box.workspace_id], ["jobs", "watch"], ["jobs", "reviews"])
    for tokens in commands:
        monkeypatch.setattr("sys.stdin", io.StringIO(""))
        assert await command(*tokens, source) == Exit.USAGE
        assert "--allow-empty" in capsys.readouterr().err
        assert await command(*tokens, source, "--allow-empty") == Exit.DONE
    assert await command("analyze", box.keyword_ids[0], "@empty") == Exit.USAGE
    assert len(box.ledger.launches()) == 0


async def test_no_named_article_is_not_all_of_them(box: Sandbox, tmp_path: Path) -> None:
    """An empty list of contents decides on nothing."""
    await command("generate", box.content_ids[0])
    (tmp_path / "empty").write_text("")
    assert await command("jobs", "reviews", "@empty", "--confirm", "--yes") == Exit.USAGE
    assert await command("jobs", "reviews", "@empty", "--confirm", "--yes", "--allow-empty") == Exit.DONE
    assert box.ledger.count(operation="confirm_generation") == 0


async def test_what_cannot_be_read_is_said_in_words(
    box: Sandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No number of an error and no name of a codec: what is wrong, and with which file."""
    (tmp_path / "latin").write_bytes(b"kwd_1 \xff")
    for name, why in (("missing", "No such file"), (".", "Is a directory"), ("latin", "not UTF-8"), ("a\0b", "null")):
        assert await command("analyze", f"@{name}") == Exit.USAGE
        shown = capsys.readouterr().err
        assert why in shown
        assert "Errno" not in shown
        assert "codec" not in shown
    assert len(box.ledger) == 0


@pytest.mark.parametrize(
    ("tokens", "name"),
    [
        (["analyze", "kwd_1", "--batch", ""], "--batch has"),
        (["contents", "create"], "WORKSPACE-ID is missing"),
        (["contents", "create", "wsp_1"], "TITLE is missing"),
        (["contents", "create", "wsp_1", ""], "TITLE has"),
        (["contents", "create", "wsp_1", "T", "--html"], "--html requires"),
        (["contents", "list", "wsp_1", "--min-score", "900"], "--min-score is"),
        (["contents", "create", "wsp_1", "\udcff"], "TITLE is not UTF-8"),
        (["analyze"], "KEYWORD_IDS is missing"),
        (["analyze", "kwd_1", "--max-credits", "1.6"], "--max-credits: must be a whole number of at least 0, got 1.6"),
        (["analyze", "kwd_1", "--max-credits", "-1"], "--max-credits"),
        (["ideas", "a/..", "seed", "--state", "nowhere"], "--state or CMSAPI_STATE is"),
    ],
)
async def test_arguments_are_named_as_they_are_typed(
    box: Sandbox, capsys: pytest.CaptureFixture[str], tokens: list[str], name: str
) -> None:
    """A message has the name of the help, not of a method's parameter."""
    assert await command(*tokens) == Exit.USAGE
    shown = capsys.readouterr().err
    assert name in shown
    assert "_id " not in shown
    assert len(box.ledger) == 0


async def test_texts_cannot_be_formulas(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """CSV begins such a text with an apostrophe and escapes control characters; `--raw-csv` prints what came."""
    titles = ["=cmd|' /C calc'!A0", "+1+1", "-2", "@SUM(1)", "\t=1", "a\x1b[2Jb", "'=quoted"]
    for content_id, title in zip(box.content_ids, titles, strict=False):
        box.touch_content(content_id, title=title)

    await command("contents", "list", box.workspace_id, "--csv")
    shown = capsys.readouterr().out
    assert all(f"'{title}" in shown for title in ["=cmd", "+1+1", "-2", "@SUM(1)", "'=quoted"])
    assert "\\t=1" in shown
    assert "\x1b" not in shown
    assert "a\\x1b[2Jb" in shown
    await command("contents", "list", box.workspace_id, "--raw-csv")
    shown = capsys.readouterr().out
    assert [title for title in titles if title not in shown] == []
    assert "'+1+1" not in shown
    assert await command("contents", "list", box.workspace_id, "--raw-csv", "--json") == Exit.USAGE
