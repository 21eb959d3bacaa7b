"""Questions, the live table and Ctrl-C in a terminal, in real time."""

from __future__ import annotations

import re
import shlex
import signal
import stat
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import cmsapi
from cmsapi.cli.terminal.exit_codes import Exit
from cmsapi.sandbox import Fixed, Sandbox
from tests.support.pages import ROOT
from tests.support.terminal import terminal

pytestmark = pytest.mark.slow


@pytest.fixture
async def box() -> AsyncIterator[Sandbox]:
    """A sandbox on a socket, whose jobs take long."""
    async with Sandbox(durations=Fixed(600)) as box:
        yield box


async def test_a_deletion_asks(box: Sandbox) -> None:
    """Only the answer yes deletes."""
    async with terminal(box, "contents", "delete", box.content_ids[0]) as shell:
        await shell.until("[y/N]")
        shell.type("\n")
        assert await shell.end() == Exit.FAILED
    async with terminal(box, "contents", "delete", box.content_ids[0]) as shell:
        await shell.until("[y/N]")
        shell.type("y\n")
        assert await shell.end() == Exit.DONE
    assert sum(entry.operation == "delete_content" for entry in box.ledger) == 1


async def test_ctrl_c_ends_a_question(box: Sandbox) -> None:
    """Ctrl-C at a question ends the command at once, and nothing is done."""
    async with terminal(box, "contents", "delete", box.content_ids[0]) as shell:
        await shell.until("[y/N]")
        shell.type("\x03")
        assert await shell.end() == Exit.INTERRUPTED
        await shell.until("Nothing was done.")
    assert box.ledger.count(operation="delete_content") == 0


async def test_a_review_compares_and_restores(box: Sandbox) -> None:
    """The article is applied, compared with the old text, and removed again on request."""
    content_id = box.content_ids[0]
    async with cmsapi.Client(box.api_key, base_url=box.base_url) as client:
        await client.contents.edit(content_id, lambda _: {"html": "<p>The old text.</p>"})
        await client.contents.generate(content_id)
        box.finish(content_id)
        async with terminal(box, "contents", "review", content_id) as shell:
            await shell.until("[a/d/L]")
            shell.type("a\n")
            await shell.until("[p/K]")
            assert "-The old text." in shell.shown
            assert "+What it is" in shell.shown
            shell.type("p\n")
            assert await shell.end() == Exit.DONE
        assert (await client.contents.get(content_id)).html == "<p>The old text.</p>"


async def test_ctrl_c_in_a_review_says_what_holds_and_how_to_go_back(box: Sandbox, tmp_path: Path) -> None:
    """Before it is applied nothing is decided; after it, a file has the old text, and a command puts it back.

    The terminal is narrower than the command, which can be pasted all the same.
    """
    content_id = box.content_ids[0]
    async with cmsapi.Client(box.api_key, base_url=box.base_url) as client:
        old = await client.contents.edit(
            content_id, lambda _: {"html": "<p>The old text.</p>", "title": "-it's", "meta_description": None}
        )
        await client.contents.generate(content_id)
        box.finish(content_id)
        async with terminal(box, "contents", "review", content_id) as shell:
            await shell.until("[a/d/L]")
            shell.type("\x03")
            assert await shell.end() == Exit.INTERRUPTED
            await shell.until("Nothing was decided.")
        async with terminal(box, "contents", "review", content_id, columns=60) as shell:
            await shell.until("[a/d/L]")
            shell.type("a\n")
            await shell.until("[p/K]")
            shell.type("\x03")
            assert await shell.end() == Exit.INTERRUPTED
            await shell.until("The article is applied")
        assert (await client.contents.get(content_id)).html != old.html

        (offered,) = re.findall(r"^  cmsapi (contents edit .*?)\r?$", shell.shown, re.MULTILINE)
        async with terminal(box, *shlex.split(offered)) as again:
            assert await again.end() == Exit.DONE
        now = await client.contents.get(content_id)
        assert (now.html, now.title, now.meta_description) == (old.html, old.title, old.meta_description)
    (kept,) = tmp_path.glob("cmsapi-before-*.html")
    assert kept.read_text() == old.html
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


@pytest.mark.parametrize("columns", [120, 50])
async def test_ctrl_c_ends_a_live_table(box: Sandbox, columns: int) -> None:
    """The table shows the jobs; Ctrl-C ends with 130 and names the tokens, in a wide and in a narrow terminal.

    The ^C that the terminal itself shows fits beside each row, so that all rows are taken away again.
    """
    async with terminal(box, "analyze", *box.keyword_ids[:3], columns=columns) as shell:
        await shell.until("3 running")
        shell.type("\x03")
        assert await shell.end() == Exit.INTERRUPTED
    rows = [row for row in re.split(r"[\r\n]|\x1b\[\d*[AK]", shell.shown) if "running" in row]
    assert max(len(re.sub(r"\x1b\[[\d;?]*\w", "", row)) for row in rows) <= columns - 2
    shown = re.sub(r"\s", "", shell.shown)
    assert shown.count("cmsjob1.") == 3
    assert len(box.ledger.launches()) == 3


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
async def test_signals_of_service_managers_end_like_ctrl_c(
    box: Sandbox, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `timeout` and systemd send, and a closed terminal, leaves the tokens in a file and the command to go on."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    async with terminal(box, "analyze", *box.keyword_ids[:5]) as shell:
        await shell.until("5 running")
        began = time.monotonic()
        shell.process.send_signal(getattr(signal, name))
        shell.process.send_signal(getattr(signal, name))
        assert await shell.end() == Exit.INTERRUPTED
        assert time.monotonic() - began < 10
    (kept,) = tmp_path.glob("cmsapi-jobs-*.txt")
    assert len(kept.read_text().split()) == 5
    assert f"cmsapi jobs watch @{kept.name}" in shell.shown


async def test_totals_fit_into_eighty_columns(box: Sandbox) -> None:
    """The time that is left, the end, credits and requests have a line of their own, whole in a common terminal."""
    async with terminal(box, "analyze", *box.keyword_ids[:3], columns=80) as shell:
        await shell.until("3 running")
        await shell.until(" of about ")
        assert re.search(r"left, ends about \d\d:\d\d:\d\d, 3 credits, \d+ of about \d+ requests", shell.shown)


async def test_a_list_names_the_columns_without_room(box: Sandbox) -> None:
    """A common terminal gets a table without the last columns, and a line names them."""
    async with terminal(box, "contents", "list", box.workspace_id, columns=80) as shell:
        assert await shell.end() == Exit.DONE
        await shell.until("No room for: status, updated.")
        shown = re.sub(r"\x1b\[[\d;?]*\w", "", shell.shown)
        assert re.search(r"id +title +type +score +words\s", shown)


async def test_a_list_fits_into_its_terminal(box: Sandbox) -> None:
    """A wide terminal gets a table, a narrow one a block per item; identifiers are whole in both."""
    for columns in (130, 50):
        async with terminal(box, "contents", "list", box.workspace_id, columns=columns) as shell:
            assert await shell.end() == Exit.DONE
            await shell.until(box.content_ids[0])
            lines = [re.sub(r"\x1b\[[\d;?]*\w", "", line) for line in shell.shown.splitlines()]
        assert max(map(len, lines)) <= columns
        assert sum(any(id_ in line for line in lines) for id_ in box.content_ids) == len(box.content_ids)


@pytest.mark.parametrize("columns", [80, 140])
async def test_a_long_name_does_not_push_a_batch_out_of_its_table(columns: int, tmp_path: Path) -> None:
    """The name of a batch is cut as in `cmsapi top`, so that each batch is a row with its counts."""
    state = f"sqlite:///{tmp_path}/state.db"
    name = "a-batch-of-a-customer-with-7f3c9e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6"
    async with Sandbox(durations=Fixed(0.2)) as box:
        client = cmsapi.Client(box.api_key, base_url=box.base_url, state=state)
        async with client, client.jobs.batch(name) as batch:
            assert [each.ok async for each in batch.map(client.keywords.analyze, box.keyword_ids[:1])] == [True]
        async with terminal(box, "jobs", "batches", "--state", state, columns=columns) as shell:
            assert await shell.end() == Exit.DONE
            shown = re.sub(r"\x1b\[[\d;?]*\w", "", shell.shown)
    assert re.search(r"^ a-batch-of-a-custom\S*… +done +1 +1 +0 +0 +1 ", shown, re.MULTILINE)
    assert ("last worked on  " in shown) is (columns == 140)


async def test_the_doctor_reports_equal_clocks(box: Sandbox) -> None:
    """A difference below the precision of the service's clock counts as none."""
    async with terminal(box, "doctor") as shell:
        await shell.until("clock        same as this machine's")
