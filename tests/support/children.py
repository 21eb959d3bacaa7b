"""Python programs in processes of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
_CHECK = f"import cmsapi; assert cmsapi.__file__.startswith({str(ROOT / 'cmsapi')!r}), cmsapi.__file__\n"


def command(program: str, *arguments: str) -> list[str]:
    """Return the command that runs a program after checking that it imports the tested cmsapi."""
    return [sys.executable, "-c", _CHECK + program, *arguments]


def run(program: str, *arguments: str, seconds: float = 30.0) -> str:
    """Run a program to its end and return what it printed.

    Args:
        program: Python source.
        arguments: The program's ``sys.argv[1:]``.
        seconds: When to kill it.

    Raises:
        AssertionError: The program failed; the message contains all its output.
    """
    done = subprocess.run(command(program, *arguments), capture_output=True, text=True, timeout=seconds, check=False)
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout
