"""The state of the commands."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import stat
from pathlib import Path

import pytest

from cmsapi.cli.running import execute, parse
from cmsapi.cli.terminal.exit_codes import Exit
from cmsapi.sandbox import Sandbox
from tests.support.command import command

pytestmark = pytest.mark.looptime


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory for the state of a user who names none."""
    monkeypatch.delenv("CMSAPI_STATE")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


async def test_only_launches_create_the_file(box: Sandbox, home: Path) -> None:
    """Commands that only read create no file; the first launch creates one that only the user can read."""
    await command("me")
    await command("contents", "list", box.workspace_id)
    assert not home.exists()

    assert await command("analyze", box.keyword_ids[0]) == Exit.DONE
    file = home / "cmsapi" / "jobs.db"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert box.api_key.encode() not in file.read_bytes()


async def test_a_file_keeps_the_launches_of_a_batch(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """The next process launches neither the finished nor the running items of an earlier one."""
    ids = box.keyword_ids[:4]
    assert await command("analyze", *ids[:2], "--batch", "nightly") == Exit.DONE
    running = asyncio.create_task(execute(parse(["analyze", *ids, "--batch", "nightly"])))
    while len(box.ledger.launches()) < 4:  # noqa: ASYNC110  the ledger has no event to wait for
        await asyncio.sleep(0.01)
    running.cancel()
    assert await running == Exit.INTERRUPTED

    capsys.readouterr()
    assert await command("jobs", "list", "--json") == Exit.DONE
    assert [(each["target"], each["batch"]) for each in json.loads(capsys.readouterr().out)] == [
        (id_, "nightly") for id_ in ids[2:]
    ]
    assert await command("analyze", *ids, "--batch", "nightly") == Exit.DONE
    assert len(box.ledger.launches()) == 4


async def test_without_a_state_directory_it_is_in_the_home(
    box: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative XDG_STATE_HOME is ignored, as its specification requires."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert await command("jobs", "list") == Exit.DONE
    assert (tmp_path / ".local/state/cmsapi/jobs.db").exists()


async def test_the_directories_of_the_state_are_private(
    box: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the umask, each directory that is made on the way belongs to the user alone, as XDG requires."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "deep" / "state"))
    before = os.umask(0)
    try:
        assert await command("jobs", "list") == Exit.DONE
    finally:
        os.umask(before)
    made = [tmp_path / name for name in ("deep", "deep/state", "deep/state/cmsapi")]
    assert [stat.S_IMODE(each.stat().st_mode) for each in made] == [0o700] * 3


async def test_the_environment_names_another_state(
    box: Sandbox, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CMSAPI_STATE holds for all commands, and `--state` overrides it."""
    monkeypatch.setenv("CMSAPI_STATE", f"sqlite:///{tmp_path}/one.db")
    assert await command("workspaces") == Exit.DONE
    assert await command("jobs", "list", "--state", f"sqlite:///{tmp_path}/two.db") == Exit.DONE
    assert (tmp_path / "one.db").exists()
    assert (tmp_path / "two.db").exists()
    assert not home.exists()


async def test_nothing_is_launched_without_a_usable_state(
    box: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An unusable directory, file or URL launches nothing, and the message has the reason."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert await command("analyze", box.keyword_ids[0]) == Exit.USAGE
    assert "--state" in capsys.readouterr().err
    assert await command("analyze", box.keyword_ids[0], "--state", "nowhere") == Exit.USAGE
    capsys.readouterr()
    assert await command("analyze", *box.keyword_ids, "--state", f"sqlite:///{tmp_path}/no/such.db") == Exit.FAILED
    shown = capsys.readouterr().err
    assert shown.count("cannot be used") == 1
    assert "Nothing was launched or charged." in shown
    closed = ("redis://127.0.0.1:1", "postgresql://127.0.0.1:1/jobs")
    for batch, state in itertools.product(((), ("--batch", "nightly")), closed):
        assert await command("analyze", box.keyword_ids[0], *batch, "--state", state) == Exit.FAILED
        shown = capsys.readouterr().err
        assert "Nothing was written." in shown
        assert "Nothing was launched or charged." in shown
    assert len(box.ledger.launches()) == 0
    assert await command("analyze", box.keyword_ids[0], "--state", "memory:") == Exit.DONE
