"""Texts of contents that are meant to harm the terminal, the shell or the machine of whoever runs a command."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import cmsapi
from cmsapi.cli.support.reviews import print_difference
from cmsapi.cli.support.text_backup import TextBackup
from tests.support.command import offers
from tests.support.raw import RawServer, http


def content(html: str) -> cmsapi.Content:
    """Make a version of a content."""
    return cmsapi.from_dict(cmsapi.Content, {"id": "cnt_1", "title": "Shoes", "html": html})


@pytest.mark.parametrize("piece", ["<!--", "<p", "<p <", "<", "<!-- -->", "</li", "&lt;", "<p>a</p><p>b</p>"])
def test_articles_that_do_not_end_are_compared_at_once(piece: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Half a megabyte of tags, comments or paragraphs takes no time that grows with its square."""
    began = time.thread_time()
    print_difference(content("<p>Old</p>"), content(f"<p>New</p>{piece * (500_000 // len(piece))}"))
    # Squared, the shortest would take a minute.
    assert time.thread_time() - began < 15
    shown = capsys.readouterr().out
    assert "-Old" in shown
    assert "+New" in shown


def test_comments_are_no_text(capsys: pytest.CaptureFixture[str]) -> None:
    """What a comment holds is not shown, and what follows it is."""
    print_difference(
        content("<p>a <!-- b <p> --> c</p>"), content("<p>a <!-- b <!-- d --> e</p><p>f <!-- g</p><p>h</p>")
    )
    assert [line for line in capsys.readouterr().out.splitlines() if line[0] in "+-"][2:] == ["-a c", "+a e", "+f"]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="NOT TESTED: no bash")
@pytest.mark.enable_socket
async def test_completion_runs_nothing(tmp_path: Path) -> None:
    """An identifier that is a command for the shell is offered as a word, and is not run."""
    trap = tmp_path / "trap"
    names = [f"ws_$(touch {trap})", f"ws_`touch {trap}`", f"ws_1;touch {trap}", f"ws_'$(touch {trap})'"]
    workspace = (
        '{{"id": "{}", "name": "N", "createdAt": "2026-01-01T00:00:00Z", "languageCode": "en", "countryCode": "US"}}'
    )
    body = f'{{"data": [{", ".join(workspace.format(name) for name in names)}]}}'
    async with RawServer(*[http(body.encode())] * 3) as server:
        found = await asyncio.to_thread(
            offers,
            tmp_path,
            [("cmsapi", "contents", "list", "ws_")],
            CMSAPI_API_KEY="sk_1",
            CMSAPI_BASE_URL=server.url,
            CMSAPI_STATE="memory:",
        )
    assert any("touch" in word for word in found[0])
    assert not trap.exists()


@pytest.fixture
def permissive() -> Iterator[None]:
    """A mask that takes no right away from new files."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("permissive")
@pytest.mark.parametrize("identifier", ["cnt_1", "../../etc/cnt_1", "..", "/etc/passwd", "cnt\x00_1"])
async def test_the_old_text_is_private(identifier: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is kept in the working directory, whatever the identifier, and only its owner reads it."""
    monkeypatch.chdir(tmp_path)
    old = cmsapi.from_dict(cmsapi.Content, {"id": identifier, "title": "Shoes", "html": "<p>Old</p>"})
    backup = await TextBackup.create(old)
    assert backup.path is not None
    assert [each.name for each in tmp_path.iterdir()] == [str(backup.path)]
    assert stat.S_IMODE(backup.path.stat().st_mode) == 0o600
