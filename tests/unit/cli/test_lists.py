"""The promises of commands that read, and of their output."""

from __future__ import annotations

import csv
import io
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cmsapi.cli.connect import Options
from cmsapi.cli.output import Writer, columns, fold
from cmsapi.sandbox import Sandbox
from tests.unit.cli.conftest import QUICK, Run


async def test_lists_can_be_piped(run: Run, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list in a pipe has one row per line, identifier first, which the next command reads."""
    pages = await run("pages", sandbox.workspace_id)
    assert {row[0] for row in pages.rows} == set(sandbox.page_ids)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(pages.out.encode())))
    keywords = await run("keywords", "@-")
    assert {row[0] for row in keywords.rows} == {*sandbox.keyword_ids, *sandbox.analyzed_keyword_ids}
    new = await run("keywords", *sandbox.page_ids, "--new")
    assert {row[0] for row in new.rows} == set(sandbox.keyword_ids)


@pytest.mark.parametrize(
    ("command", "inside"),
    [
        ("workspaces", None),
        ("users", None),
        ("members", "workspace"),
        ("statuses", "workspace"),
        ("folders", "workspace"),
        ("prompts", "keyword"),
        ("brand-voices", "workspace"),
        ("documents", "workspace"),
    ],
)
async def test_each_list(run: Run, sandbox: Sandbox, command: str, inside: str | None) -> None:
    """Each list has rows, and the same documents with ``--json``."""
    ids = {"workspace": sandbox.workspace_id, "keyword": sandbox.analyzed_keyword_ids[0]}
    arguments = [command, ids[inside]] if inside else [command]
    shown, documents = await run(*arguments), (await run(*arguments, "--json")).documents
    assert documents
    assert [row[0] for row in shown.rows] == [each["id"] for each in documents]


async def test_limit_bounds_rows_and_requests(run: Run, sandbox: Sandbox) -> None:
    """``--limit`` ends a list early."""
    assert len((await run("pages", sandbox.workspace_id, "--limit", "2")).rows) == 2
    assert sandbox.ledger.count("list_pages") == 1


@pytest.mark.parametrize("sandbox", [Sandbox(keywords=["=cmd()", "a\x1b[31mred\nx\ty"], **QUICK)])
async def test_texts_of_the_service_do_no_harm(run: Run, sandbox: Sandbox) -> None:
    """A keyword's text cannot control the terminal, break a row, or become a formula in a spreadsheet."""
    page = sandbox.page_ids[-1]
    shown = await run("keywords", page)
    assert "\x1b" not in shown.out
    assert {len(row) for row in shown.rows} == {5}
    table = list(csv.DictReader(io.StringIO((await run("keywords", page, "--csv")).out)))
    assert {row["keyword"] for row in table} == {"'=cmd()", "a\x1b[31mred\nx\ty"}


def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Make standard output a terminal of 80 columns."""
    screen = io.StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    return screen


async def test_a_table_keeps_identifiers_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a terminal of 80 columns no line is wider, only texts are cut, and columns that do not fit are named."""
    screen = terminal(monkeypatch)
    async with Writer(Options(), columns("id title words updated published")) as writer:
        when = datetime(2026, 11, 28, tzinfo=UTC)
        row = {"id": "i" * 30, "title": "[red]" + "long " * 30, "words": 1234, "updated": when, "published": when}
        writer.write(row)
    assert max(map(len, screen.getvalue().splitlines())) <= 80
    for whole in ("i" * 30, "[red]long long", "1,234", "2026-11-28 00:00"):
        assert screen.getvalue().count(whole) == 1
    assert "published" in capsys.readouterr().err


def test_long_lines_break_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal no word is broken, and a command stays on one line that can be copied."""
    screen = terminal(monkeypatch)
    fine, copied = "word " * 30 + "i" * 30, "  cmsapi " + "x " * 50
    assert fold(fine, screen).split() == fine.split()
    assert max(map(len, fold(fine, screen).splitlines())) <= 80
    assert fold(copied, screen) == copied


async def test_equal_errors_are_written_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal the second item's error refers to the first; in a pipe it is repeated."""
    piped = await run("analyze", "nosuch1", "nosuch2")
    assert piped.out.count("404") == 2
    screen = terminal(monkeypatch)
    await run("analyze", "nosuch1", "nosuch2")
    assert (screen.getvalue().count("404"), screen.getvalue().count("see above")) == (1, 1)


async def test_contents_from_creation_to_deletion(run: Run, sandbox: Sandbox, tmp_path: Path) -> None:
    """A content is created with a body from a file, changed, cleared, published, shown and deleted."""
    (tmp_path / "body.html").write_text("<p>Größe</p>")
    created = await run("contents", "create", sandbox.workspace_id, "Shoes", "--html", "body.html", "--json")
    content = created.documents[0]["id"]
    assert (await run("contents", "show", content, "--html")).out == "<p>Größe</p>\n"
    folder = sandbox.folder_ids[0]
    await run("contents", "update", content, "--title", "Boots", "--folder-id", folder, "--due-date", "2027-01-31")
    await run("contents", "update", content, "--html", "")
    await run("contents", "publish", content)
    [shown] = (await run("contents", "show", content, "--json")).documents
    assert (shown["title"], shown["folder"]["id"], shown["type"]) == ("Boots", folder, "PUBLISHED")
    assert (shown["dueDate"][:10], shown["html"] or "") == ("2027-01-31", "")
    assert content in {row[0] for row in (await run("contents", "list", sandbox.workspace_id)).rows}
    await run("contents", "delete", content, "--yes")
    assert content not in (await run("contents", "list", sandbox.workspace_id)).out


async def test_account(run: Run, sandbox: Sandbox) -> None:
    """The user, remaining credits and spent credits are shown; the key never is."""
    await run("analyze", sandbox.keyword_ids[0])
    outputs = [await run("me"), await run("credits"), await run("doctor"), await run("me", "--json")]
    spent = await run("credits", "analysis", "--csv")
    assert dict(outputs[1].rows)["analysis"] == str(sandbox.credits["analysis"])
    assert len(spent.out.splitlines()) == 2
    assert not any(sandbox.api_key in each.out + each.err for each in outputs)
