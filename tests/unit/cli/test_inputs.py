"""Inputs of commands: identifiers, tables, bodies, and those that are refused before a launch."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest

from cmsapi.cli.commands.analyze import analyze
from cmsapi.cli.terminal.exit_codes import Exit
from cmsapi.sandbox import Behaviour, Sandbox
from tests.support.command import command

pytestmark = pytest.mark.looptime


def targets(box: Sandbox) -> set[str]:
    """Return the targets of all launches."""
    return {entry.path.split("/")[3] for entry in box.ledger.launches()}


async def test_a_body_comes_from_standard_input(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both spellings of the option accept a hyphen for standard input, and do not take another option for a file."""
    for spelling in (["--html", "-"], ["--html=-"]):
        monkeypatch.setattr("sys.stdin", io.StringIO("<p>One two</p>"))
        assert await command("contents", "create", box.workspace_id, "New", *spelling, "--json") == Exit.DONE
        assert json.loads(capsys.readouterr().out)["html"] == "<p>One two</p>"
    assert await command("contents", "create", box.workspace_id, "New", "--html", "--json") == Exit.USAGE
    assert "--html" in capsys.readouterr().err


async def test_an_empty_name_clears_the_body(box: Sandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty file is refused, because the program that should have filled it may have failed; '' clears the body."""
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
    """`analyze @FILE` reads the output of `keywords`, table or CSV."""
    await command("keywords", box.workspace_id, "--unanalysed", *option)
    (tmp_path / "found").write_text(capsys.readouterr().out)

    assert await command("analyze", "@found") == Exit.DONE
    assert targets(box) == set(box.keyword_ids)


async def test_an_argument_is_one_identifier(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An identifier with spaces is an argument as it is; what looks like a list is refused with a way out."""
    async with Sandbox(behaviour=Behaviour(identifiers="odd")) as box:
        monkeypatch.setenv("CMSAPI_API_KEY", box.api_key)
        monkeypatch.setenv("CMSAPI_BASE_URL", box.base_url)
        assert await command("analyze", *box.keyword_ids[:2]) == Exit.DONE
        assert await command("contents", "show", box.content_ids[0]) == Exit.DONE
        assert await command("generate", box.content_ids[0]) == Exit.DONE
        assert len(box.ledger.launches()) == 3
        capsys.readouterr()
        for wrong in ("kwd_1,kwd_2", "kwd_1\nkwd_2", '["kwd_1"]'):
            assert await command("analyze", wrong) == Exit.USAGE
            assert "pass @FILE" in capsys.readouterr().err
        assert len(box.ledger.launches()) == 3


async def test_odd_identifiers_are_offered_in_a_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command to continue names a file with a table, even for few identifiers."""
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
    """Comments and blank lines are skipped; CSV with a header is read by its column, from files and pipes."""
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
async def test_invalid_identifiers_are_refused(
    box: Sandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, line: int
) -> None:
    """The message names file and line; the command launches and plans nothing."""
    (tmp_path / "found").write_text(text)
    assert await command("analyze", "@found") == Exit.USAGE
    assert f"found, line {line}:" in capsys.readouterr().err
    assert await command("analyze", "kwd_1,kwd_2") == Exit.USAGE
    assert len(box.ledger) == 0


async def test_a_list_without_its_column_is_refused(
    box: Sandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tokens must be in the column of that name, and seed keywords in a CSV table."""
    (tmp_path / "found.csv").write_text("id,seed\nidea_1,hats\n")
    assert await command("jobs", "watch", "@found.csv") == Exit.USAGE
    assert "'token'" in capsys.readouterr().err
    assert await command("ideas", box.workspace_id, "@found.csv") == Exit.USAGE
    assert "'keyword'" in capsys.readouterr().err
    await command("keywords", box.workspace_id)
    (tmp_path / "found").write_text(capsys.readouterr().out)
    assert await command("ideas", box.workspace_id, "@found") == Exit.USAGE
    assert len(box.ledger.launches()) == 0


async def test_keywords_are_read_from_their_column(
    box: Sandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`ideas` reads keywords as `keywords --csv` wrote them; a list has one per line, with commas."""
    (tmp_path / "found.csv").write_text("id,keyword\nkwd_1,trail running\nkwd_2,'=sum\n")
    (tmp_path / "list").write_text("# seeds\nshoes, red\n\n#running\n")
    assert await command("ideas", box.workspace_id, "@found.csv", "@list", "--json") == Exit.DONE
    seeds = {each["seed"] for each in json.loads(capsys.readouterr().out)}
    assert seeds == {"trail running", "=sum", "shoes, red", "#running"}


@pytest.mark.parametrize("source", ["-", "@empty", ""])
async def test_an_empty_source_is_refused(
    box: Sandbox,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    source: str,
) -> None:
    """An empty source ends with 2, even beside others; `--allow-empty` accepts it."""
    (tmp_path / "empty").write_text("\n# nothing\n")
    commands = (["analyze"], ["generate"], ["ideas", box.workspace_id], ["jobs", "watch"], ["jobs", "reviews"])
    for tokens in commands:
        monkeypatch.setattr("sys.stdin", io.StringIO(""))
        assert await command(*tokens, source) == Exit.USAGE
        assert "--allow-empty" in capsys.readouterr().err
        assert await command(*tokens, source, "--allow-empty") == Exit.DONE
    assert await command("analyze", box.keyword_ids[0], "@empty") == Exit.USAGE
    assert len(box.ledger.launches()) == 0


async def test_a_file_without_the_sign_is_asked_for_with_it(
    box: Sandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The name of a file that exists is no identifier; nothing is sent, and the message has what to write."""
    (tmp_path / "ids.csv").write_text("id\nkwd_1\n")
    assert await command("analyze", "ids.csv") == Exit.USAGE
    assert "write @ids.csv." in capsys.readouterr().err
    assert await command("ideas", box.workspace_id, "ids.csv") == Exit.USAGE
    assert len(box.ledger) == 0


@pytest.mark.parametrize("header", ["keyword_id", "keyword_id,volume", "volume;keywordId", "Keyword ID\tvolume"])
async def test_a_column_with_another_name_is_told_the_wanted_one(
    box: Sandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str], header: str
) -> None:
    """A table whose column of identifiers is called otherwise is refused with both names, and the help has one."""
    (tmp_path / "found.csv").write_text(f"{header}\n")
    assert await command("analyze", "@found.csv") == Exit.USAGE
    said = " ".join(capsys.readouterr().err.split())
    assert "found.csv, line 1: the column must be called 'id', and is missing; there are " in said
    assert "Nothing was sent." in said
    assert len(box.ledger) == 0
    assert "CSV with a column id" in str(analyze.__doc__)


@pytest.mark.parametrize("identifier", ["cnt_nope", "cnt_"])
async def test_a_typo_is_not_answered_with_assumptions(
    box: Sandbox, capsys: pytest.CaptureFixture[str], identifier: str
) -> None:
    """What the service does not have is most likely a typo; the route is the second thing to check."""
    assert await command("contents", "show", identifier) == Exit.FAILED
    said = capsys.readouterr().err
    assert "Check the identifier." in said
    assert "assumed" not in said


async def test_an_empty_list_of_contents_does_not_mean_all(box: Sandbox, tmp_path: Path) -> None:
    """An empty list of contents decides on nothing."""
    await command("generate", box.content_ids[0])
    (tmp_path / "empty").write_text("")
    assert await command("jobs", "reviews", "@empty", "--confirm", "--yes") == Exit.USAGE
    assert await command("jobs", "reviews", "@empty", "--confirm", "--yes", "--allow-empty") == Exit.DONE
    assert box.ledger.count(operation="confirm_generation") == 0


async def test_unreadable_files_are_named_with_the_reason(
    box: Sandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message has no error number and no codec: only the file and the reason."""
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
        (["analyze", "kwd_1", "--batch", ""], "--batch must have"),
        (["contents", "create"], "WORKSPACE-ID is missing. To list what it may be: cmsapi workspaces"),
        (["contents", "create", "wsp_1"], "TITLE is missing"),
        (["contents", "create", "wsp_1", ""], "TITLE must have"),
        (["contents", "create", "wsp_1", "T", "--html"], "--html requires"),
        (["contents", "list", "wsp_1", "--min-score", "900"], "--min-score must be"),
        (["contents", "create", "wsp_1", "\udcff"], "TITLE must be UTF-8"),
        (["analyze"], "KEYWORD_IDS is missing. To list what it may be: cmsapi keywords"),
        (["analyze", "kwd_1", "--max-credits", "1.6"], "--max-credits: must be a whole number of at least 0, got 1.6"),
        (["analyze", "kwd_1", "--max-credits", "-1"], "--max-credits"),
        (["ideas", "a/..", "seed", "--state", "nowhere"], "--state or CMSAPI_STATE is"),
        (["ideas", "a/..", "seed", "--state", "nowhere"], "got 'nowhere'"),
    ],
)
async def test_arguments_are_named_as_they_are_typed(
    box: Sandbox, capsys: pytest.CaptureFixture[str], tokens: list[str], name: str
) -> None:
    """A message uses the name in the help, not the name of a method's parameter."""
    assert await command(*tokens) == Exit.USAGE
    shown = capsys.readouterr().err
    assert name in shown
    assert "_id " not in shown
    assert len(box.ledger) == 0


async def test_texts_cannot_be_formulas(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """CSV begins formulas with an apostrophe and escapes control characters; `--raw-csv` changes nothing."""
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
