"""The owners of leases: which processes they are, and whether those are dead."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import attrs
import pytest

from cmsapi.state.process import Owner
from cmsapi.state.text import read_row


def test_a_process_knows_itself() -> None:
    """An owner travels as text; this process is not dead, and no other host's is known to be."""
    here = Owner.here()
    assert read_row(Owner, here.to_text()) == here
    assert (here.pid, here.dead) == (os.getpid(), False)
    assert not attrs.evolve(here, host="another", pid=1).dead


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system does not tell when a process started")
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
