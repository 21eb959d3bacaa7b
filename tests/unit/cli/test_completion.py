"""Completion for a shell."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

import cmsapi
from cmsapi.sandbox import Fixed, Sandbox
from tests.support.command import completions, offers

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("bash") is None, reason="NOT TESTED: no bash"),
]


def test_bash_completes_after_the_installation(tmp_path: Path) -> None:
    """After the installation a new shell completes commands and options."""
    lines = [("cmsapi", "jo"), ("cmsapi", "jobs", "re"), ("cmsapi", "analyze", "--ba")]
    commands, below, options = completions(tmp_path, lines)
    assert commands == ["jobs"]
    assert set(below) == {"resume", "reviews"}
    assert options == ["--batch"]


def test_bash_completes_files(tmp_path: Path) -> None:
    """Files with identifiers begin with an @, which bash gives as a word of its own; a body is a file without it."""
    (tmp_path / "ids.csv").touch()
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "more.txt").touch()
    found = completions(
        tmp_path,
        [
            ("cmsapi", "analyze", "@", "id"),
            ("cmsapi", "analyze", "kw_1", "@", "lists/"),
            ("cmsapi", "contents", "edit", "cnt_1", "--html", "li"),
        ],
    )
    assert found == [["@ids.csv"], ["@lists/more.txt"], ["lists/"]]


async def test_bash_completes_identifiers(tmp_path: Path) -> None:
    """Workspaces, contents and pages come from the service, tokens and batches from the state; nothing is charged."""
    async with Sandbox(durations=Fixed(600)) as box:
        state = f"sqlite:///{tmp_path}/jobs.db"
        async with (
            cmsapi.Client(box.api_key, base_url=box.base_url, state=state) as client,
            client.jobs.batch("nightly") as batch,
        ):
            outcomes = batch.map(client.keywords.analyze, box.keyword_ids[:1])
            waiting = asyncio.ensure_future(anext(outcomes))
            async with asyncio.timeout(20):
                while not outcomes.progress.running:  # noqa: ASYNC110  to look at the progress is enough
                    await asyncio.sleep(0.02)
            waiting.cancel()
            await asyncio.wait([waiting])
        found = await asyncio.to_thread(
            offers,
            tmp_path,
            [
                ("cmsapi", "contents", "list", "ws"),
                ("cmsapi", "generate", box.content_ids[0], "cnt_"),
                ("cmsapi", "pages", "crawl", ""),
                ("cmsapi", "jobs", "watch", "cms"),
                ("cmsapi", "analyze", "kw_1", "--batch", "ni"),
            ],
            CMSAPI_API_KEY=box.api_key,
            CMSAPI_BASE_URL=box.base_url,
            CMSAPI_STATE=state,
        )
        workspaces, contents, pages, tokens, batches = found
        assert workspaces == [box.workspace_id]
        assert set(contents) == set(box.content_ids[1:])
        assert pages
        assert [token.split(".")[0] for token in tokens] == ["cmsjob1"]
        assert batches == ["nightly"]
        assert len(box.ledger.launches()) == 1


def test_without_a_key_nothing_is_offered(tmp_path: Path) -> None:
    """An error has no place in completion."""
    (found,) = completions(tmp_path, [("cmsapi", "contents", "list", "ws")], CMSAPI_API_KEY="")
    assert found == []
