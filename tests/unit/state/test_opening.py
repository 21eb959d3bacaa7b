"""URLs of states, owners and documents."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import attrs
import pytest

from cmsapi.errors import ConfigError
from cmsapi.state.memory import MemoryState
from cmsapi.state.opening import open_state
from cmsapi.state.process import Owner
from cmsapi.state.sqlite import SqliteState
from cmsapi.state.store import State
from cmsapi.state.text import read_row


def test_each_url_names_its_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three slashes lead to a file of the working directory, four to an absolute one."""
    monkeypatch.chdir(tmp_path)
    assert isinstance(open_state("memory:"), MemoryState)
    for url, path in (
        ("sqlite:///jobs.db", tmp_path / "jobs.db"),
        ("sqlite:////var/lib/jobs.db", Path("/var/lib/jobs.db")),
        ("sqlite:///with%20space.db", tmp_path / "with space.db"),
    ):
        state = open_state(url)
        assert isinstance(state, SqliteState)
        assert state.path == path


@pytest.mark.parametrize(
    "url",
    [
        "",
        "memory",
        "sqlite://jobs.db",
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite:///a/",
        "sqlite:///a?mode=ro",
        None,
        "postgres://:hunter2@host/db",
        "sqlite:jobs.db",
        "http://[x",
    ],
)
def test_what_names_no_state(url: object) -> None:
    """Anything else is refused with the forms that exist, and not repeated."""
    with pytest.raises(ConfigError, match="state is 'memory:'") as caught:
        open_state(url)  # type: ignore[arg-type]
    assert "hunter2" not in str(caught.value)


def test_without_the_redis_client() -> None:
    """Where it is not installed the error says how to install it."""
    script = (
        "import sys; sys.modules['redis'] = None\n"
        "from cmsapi.state.opening import open_state\n"
        "try: open_state('redis://localhost')\n"
        "except ValueError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert "pip install 'cmsapi[redis]'" in done.stdout


def test_a_process_knows_itself() -> None:
    """An owner travels as text; this process is not dead, and no other host's is known to be."""
    here = Owner.here()
    assert read_row(Owner, here.spell()) == here
    assert (here.pid, here.dead) == (os.getpid(), False)
    assert not attrs.evolve(here, host="another", pid=1).dead


def test_the_dead_are_known() -> None:
    """A process that has ended is dead, asked for its end or not, and so is one whose number was given out again."""
    here = Owner.here()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    stat = Path(f"/proc/{child.pid}/stat").read_text()
    owner = attrs.evolve(here, pid=child.pid, started=int(stat.rpartition(")")[2].split()[19]))
    assert not owner.dead
    assert attrs.evolve(owner, started=(owner.started or 0) - 1).dead
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert owner.dead
    child.communicate()
    assert owner.dead


@pytest.mark.enable_socket
async def test_small_documents(state: State, other: State) -> None:
    """The first writer wins; a writer that has read what stands may replace it; equal values are equal in any order."""
    assert await state.get_document("scope", "salt") is None
    won = await asyncio.gather(
        *(each.compare_and_set("scope", "salt", None, f"salt {n}") for n, each in enumerate((state, other) * 5))
    )
    assert len(set(won)) == 1
    assert await other.get_document("scope", "salt") == won[0]
    first = {"cells": [1, 0.5], "seen": 3}
    assert await state.compare_and_set("scope", "durations", None, first) == first
    second = {"seen": 4, "cells": [2, 0.25]}
    assert await other.compare_and_set("scope", "durations", {"seen": 3, "cells": [1, 0.5]}, second) == second
    assert await state.compare_and_set("scope", "durations", first, {"lost": True}) == second
    assert await state.compare_and_set("scope", "durations", second, second) == second
    assert await state.compare_and_set("another", "durations", None, first) == first
    assert await state.compare_and_set("scope", "durations", second, None) is None
    assert await other.get_document("scope", "durations") is None
