"""Completion for a shell."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(shutil.which("bash") is None, reason="NOT TESTED: no bash")
def test_bash_completes_after_the_installation(tmp_path: Path) -> None:
    """After the installation a new shell completes commands and options."""
    environment = {**os.environ, "HOME": str(tmp_path), "SHELL": "/bin/bash"}
    (tmp_path / ".bashrc").touch()
    subprocess.run([sys.executable, "-m", "cmsapi", "--install-completion"], env=environment, check=True)

    words = "\n".join(
        f'COMP_WORDS=(cmsapi {typed}); COMP_CWORD={place}; $complete; echo "${{COMPREPLY[@]}}"'
        for typed, place in (("jo", 1), ("jobs re", 2), ("analyze --ba", 2))
    )
    script = f'source "$HOME/.bashrc"; read -ra word < <(complete -p cmsapi); complete=${{word[-2]}}\n{words}'
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=True)  # noqa: S607
    commands, below, options = done.stdout.splitlines()
    assert commands.split() == ["jobs"]
    assert set(below.split()) == {"resume", "reviews"}
    assert options.split() == ["--batch"]
