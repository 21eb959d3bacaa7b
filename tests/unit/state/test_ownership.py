"""A file that another user of the machine has laid, or may change."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from cmsapi.errors import StateError
from cmsapi.state.entry import Entry, Lease
from cmsapi.state.sqlite import SqliteState

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="this system has no owners of files")

STRANGER = 54_321


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A directory like /tmp, where every user may write."""
    tmp_path.chmod(0o1777)
    return tmp_path


@pytest.fixture
def permissive() -> Iterator[None]:
    """A mask that takes no right away from new files."""
    before = os.umask(0)
    yield
    os.umask(before)


def give_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a path belong to another user: really, or by being another user, where only root may give files away."""
    if os.geteuid() == 0:
        os.chown(path, STRANGER, -1, follow_symlinks=False)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: STRANGER)


async def used(path: Path) -> None:
    """Write something."""
    state = SqliteState(path)
    try:
        entry = Entry(kind="generation", target="cnt_1", asked_at=1.0)
        await state.begin(Lease("https://api.example.com org_1", "key"), entry)
    finally:
        await state.aclose()


@pytest.mark.parametrize("kind", ["file", "link to a file", "link to nothing"])
async def test_a_trap_is_refused(kind: str, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file or a link that another user made first is left as it is, and so is what the link leads to."""
    path, target = shared / "state.db", shared / "private" / "target"
    target.parent.mkdir(mode=0o700)
    if kind != "link to nothing":
        target.touch()
    if kind == "file":
        path.touch(mode=0o666)
    else:
        path.symlink_to(target)
    give_away(path, monkeypatch)
    with pytest.raises(StateError, match=r"belongs to another user .* nothing was sent or charged"):
        await used(path)
    assert path.is_symlink() or path.read_bytes() == b""
    assert target.exists() is (kind != "link to nothing")
    assert not target.exists() or target.read_bytes() == b""


async def test_users_may_share_a_directory_of_theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where not every user may write, the file of a colleague is fine, and so is a link of one's own."""
    tmp_path.chmod(0o770)
    path = tmp_path / "state.db"
    await used(path)
    link = tmp_path / "link.db"
    link.symlink_to(path)
    give_away(path, monkeypatch)
    await used(link)


@pytest.mark.usefixtures("permissive")
async def test_a_new_file_is_private_whatever_the_mask(shared: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Without a mask the file has mode 0600 all the same, and no warning is due."""
    path = shared / "state.db"
    await used(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert caplog.text == ""


async def test_a_file_that_everybody_may_change_is_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A file that was made with mode 0666 keeps it, and the log says how to mend it."""
    path = tmp_path / "state.db"
    path.touch()
    path.chmod(0o666)
    with caplog.at_level(logging.WARNING, "cmsapi"):
        await used(path)
    assert f"chmod o-w {path}" in caplog.text
