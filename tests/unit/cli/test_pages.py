"""The `pages` commands, and `keywords add`."""

from __future__ import annotations

import io
import json

import pytest

from cmsapi.cli.terminal.exit_codes import Exit
from cmsapi.sandbox import Fault, Sandbox
from tests.support.command import command

pytestmark = pytest.mark.looptime


async def test_pages_are_imported_shown_and_deleted(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """A page is imported by its address, gets keywords, is crawled, and is deleted on request."""
    address = "https://northwind.example/new"
    assert await command("pages", "import", box.workspace_id, address, "--json") == Exit.DONE
    (page,) = json.loads(capsys.readouterr().out)
    assert await command("pages", "show", page["id"]) == Exit.DONE
    assert address in capsys.readouterr().out
    assert await command("keywords", "add", page["id"], "wet shoes", "dry shoes", "--csv") == Exit.DONE
    assert "wet shoes" in capsys.readouterr().out
    assert await command("keywords", box.workspace_id, "--page", page["id"], "--json") == Exit.DONE
    assert {each["keyword"] for each in json.loads(capsys.readouterr().out)} == {"wet shoes", "dry shoes"}
    assert await command("pages", "crawl", page["id"]) == Exit.DONE
    assert page["id"] in capsys.readouterr().err
    assert await command("pages", "delete", page["id"]) == Exit.USAGE
    assert await command("pages", "delete", page["id"], "--yes") == Exit.DONE
    assert await command("pages", "show", page["id"]) == Exit.FAILED


async def test_pages_are_listed(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """Only as many as asked for, and a hint at the others."""
    assert await command("pages", "list", box.workspace_id, "--limit", "2", "--json") == Exit.DONE
    shown = capsys.readouterr()
    assert len(json.loads(shown.out)) == 2
    assert "--limit" in shown.err


async def test_addresses_come_from_a_table(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The column is `url`; one that the service refuses does not keep the others back."""
    monkeypatch.setattr("sys.stdin", io.StringIO("url,note\nhttps://northwind.example/a,1\nno address,2\n"))
    assert await command("pages", "import", box.workspace_id, "-", "--csv") == Exit.PARTLY
    shown = capsys.readouterr()
    assert "https://northwind.example/a" in shown.out
    assert "no address: 422" in shown.err
    assert box.ledger.count(operation="import_page") == 2


async def test_a_refused_key_ends_at_the_first_item(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each further request would be refused for the same reason."""
    monkeypatch.setenv("CMSAPI_API_KEY", box.revoked_key)
    assert await command("pages", "crawl", "pag_1", "pag_2") == Exit.FAILED
    assert len(box.ledger) == 1


async def test_an_import_in_doubt_is_told(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """An import whose answer is lost ends with 5 and is not repeated."""
    box.add_fault(Fault(match="POST /v1/workspaces/*/pages", drop=True, when="after"))
    assert await command("pages", "import", box.workspace_id, "https://northwind.example/b") == Exit.UNKNOWN
    assert box.ledger.count(operation="import_page") == 1


async def test_a_missing_page_says_where_pages_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """The message names the command that lists what is missing."""
    assert await command("pages", "crawl") == Exit.USAGE
    assert "cmsapi pages list WORKSPACE_ID" in capsys.readouterr().err
