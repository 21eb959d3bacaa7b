"""Commands that change contents."""

from __future__ import annotations

import io
import json
import os
import pty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cmsapi.cli.terminal.exit_codes import Exit
from cmsapi.sandbox import Sandbox
from tests.support.command import command

pytestmark = pytest.mark.looptime


@contextmanager
def keyboard(monkeypatch: pytest.MonkeyPatch, keys: str) -> Iterator[None]:
    """Make standard input a terminal with these keys pressed."""
    ours, its = pty.openpty()
    with os.fdopen(its) as terminal, os.fdopen(ours, "w") as fingers:
        monkeypatch.setattr("sys.stdin", terminal)
        fingers.write(keys)
        fingers.flush()
        yield


async def test_a_draft_is_created_edited_and_deleted(
    box: Sandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Create from a file, edit, show the body, delete without a question."""
    body = tmp_path / "body.html"
    body.write_text("<p>One two three</p>")

    assert await command("contents", "create", box.workspace_id, "New", "--html", str(body), "--json") == Exit.DONE
    content_id = json.loads(capsys.readouterr().out)["id"]
    assert await command("contents", "edit", content_id, "--title", "Newer", "--meta-description", "") == Exit.DONE
    assert "Newer" in capsys.readouterr().out
    await command("contents", "show", content_id, "--html")
    assert "One two three" in capsys.readouterr().out
    assert await command("contents", "delete", content_id, "--yes") == Exit.DONE
    assert await command("contents", "show", content_id) == Exit.FAILED


async def test_a_due_date_is_given_as_text_and_cleared(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """A date or a time with an offset is taken, an empty text clears it, and anything else is refused unsent."""
    assert (
        await command("contents", "create", box.workspace_id, "New", "--due-date", "2026-05-01", "--json") == Exit.DONE
    )
    content = json.loads(capsys.readouterr().out)
    assert content["dueDate"] == "2026-05-01T00:00:00.000Z"
    edit = ("contents", "edit", content["id"], "--json", "--due-date")
    assert await command(*edit, "2026-05-01T14:00+02:00") == Exit.DONE
    assert json.loads(capsys.readouterr().out)["dueDate"] == "2026-05-01T12:00:00.000Z"
    assert await command(*edit, "") == Exit.DONE
    assert json.loads(capsys.readouterr().out)["dueDate"] is None
    before = len(box.ledger)
    for bad in ("tomorrow", "2026-05-01T14:00"):
        assert await command(*edit, bad) == Exit.USAGE
        assert "--due-date must be a duration" in capsys.readouterr().err
    assert len(box.ledger) == before


async def test_contents_are_listed_by_assignee(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """The option has the name that it has in the other commands."""
    assert (
        await command("contents", "list", box.workspace_id, "--assigned-to-id", box.user_ids[1], "--json") == Exit.DONE
    )
    assert {each["assignedTo"]["id"] for each in json.loads(capsys.readouterr().out)} == {box.user_ids[1]}


async def test_nothing_is_deleted_without_a_terminal(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a terminal and without `--yes` the content stays."""
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))

    assert await command("contents", "delete", box.content_ids[0]) == Exit.USAGE

    assert "--yes" in capsys.readouterr().err
    assert await command("contents", "show", box.content_ids[0]) == Exit.DONE


async def test_an_article_is_confirmed_or_discarded(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """`--confirm` applies, `--discard` discards; without either it waits for `contents review`."""
    first, second, third = box.content_ids[:3]
    assert await command("generate", first, "-s", "fact_checking_enabled=true", "--confirm") == Exit.DONE
    assert "Applied" in capsys.readouterr().err
    assert await command("generate", second, "--discard", "--yes") == Exit.DONE
    assert "Discarded" in capsys.readouterr().err
    assert await command("generate", third) == Exit.DONE
    assert f"cmsapi contents review {third}" in capsys.readouterr().err

    assert await command("contents", "review", third, "--confirm") == Exit.DONE
    assert await command("contents", "review", third, "--confirm") == Exit.USAGE
    assert len(box.ledger.launches()) == 3


async def test_discarding_unread_asks(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`generate --discard` pays and discards, so it asks, and launches nothing if it cannot ask."""
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert await command("generate", box.content_ids[0], "--discard") == Exit.USAGE
    assert "--yes" in capsys.readouterr().err
    with keyboard(monkeypatch, "n\n"):
        assert await command("generate", box.content_ids[0], "--discard") == Exit.FAILED
    assert "Pay for 1 article and discard them unread?" in capsys.readouterr().err
    assert len(box.ledger.launches()) == 0
    with keyboard(monkeypatch, "y\n"):
        assert await command("generate", box.content_ids[0], "--discard") == Exit.DONE
    assert box.ledger.count(operation="cancel_generation") == 1


async def test_without_a_backup_nothing_is_applied(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If the old text cannot be saved, the article is not applied."""
    Path("body.html").write_text("<p>The old text.</p>")
    await command("contents", "edit", box.content_ids[0], "--html", "body.html")
    await command("generate", box.content_ids[0])
    directory = Path("gone").absolute()
    directory.mkdir()
    monkeypatch.chdir(directory)
    directory.rmdir()
    with keyboard(monkeypatch, "a\n"):
        assert await command("contents", "review", box.content_ids[0]) == Exit.USAGE
    assert "Nothing was applied" in capsys.readouterr().err
    assert box.ledger.count(operation="confirm_generation") == 0


async def test_articles_are_reviewed_one_by_one(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`generate --review` waits for the articles, compares them with the old text, and follows the answers."""
    # Apply and keep, apply and put back, discard.
    with keyboard(monkeypatch, "a\nk\na\np\nd\n"):
        assert await command("generate", *box.content_ids[:3], "--review") == Exit.DONE
    shown = capsys.readouterr()
    assert shown.out.count("+++ new") == 2
    assert [word for word in ("Kept.", "The old text is back", "Discarded.") if word not in shown.err] == []
    assert box.ledger.count(operation="confirm_generation") == 2


async def test_an_article_in_review_is_not_paid_again(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """While an article is in review, no other is launched for its content."""
    await command("generate", box.content_ids[0])
    assert await command("generate", box.content_ids[0]) == Exit.USAGE
    assert "contents review" in capsys.readouterr().err
    assert len(box.ledger.launches()) == 1


async def test_settings_may_come_from_a_file(box: Sandbox, tmp_path: Path) -> None:
    """`@FILE` holds a JSON object of settings; invalid settings are refused."""
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps({"custom_instructions": "Short.", "fact_checking_enabled": False}))
    bad.write_text("[1]")
    assert await command("generate", box.content_ids[0], "-s", f"@{good}", "--discard", "--yes") == Exit.DONE
    assert await command("generate", box.content_ids[0], "-s", f"@{bad}") == Exit.USAGE
    assert await command("generate", box.content_ids[0], "-s", "fact_checking_enabled=perhaps") == Exit.USAGE


async def test_only_settings_of_the_service_are_settings(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """What a model keeps for itself is neither offered nor taken: it would be paid for, and have no effect."""
    for name in ("absent_keys", "time_texts", "extra", "tone"):
        assert await command("generate", box.content_ids[0], "-s", f"{name}=x") == Exit.USAGE
        _, _, offered = capsys.readouterr().err.partition("Settings are ")
        assert offered.startswith("brand_voice_id, ")
    assert not box.ledger.launches()
