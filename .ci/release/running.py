"""Programs that a release runs, and the list of steps that it prints."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from release.errors import ReleaseError

# Lines of a program that failed which are worth reading.
_TAIL = 60


def run(command: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None) -> str:
    """Run a program and return what it printed as its result.

    Args:
        command: The program and its arguments.
        cwd: Where it runs.
        env: Variables that it gets in addition.

    Raises:
        ReleaseError: It failed. The error has the end of what it printed.
    """
    ended = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, "NO_COLOR": "1", **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode:
        printed = "\n".join([*ended.stdout.splitlines()[-_TAIL:], *ended.stderr.splitlines()[-_TAIL:]])
        raise ReleaseError(f"`{' '.join(command)}` failed with exit code {ended.returncode}:\n{printed}")
    return ended.stdout


class Steps:
    """Print each step with a number when it begins, and how long it took when it ends."""

    def __init__(self) -> None:
        self._number = 0

    @contextlib.contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Print the title of a step, and after it the seconds that it took."""
        self._number += 1
        print(f"{self._number:2}. {title}", flush=True)
        began = time.monotonic()
        yield
        self.say(f"done in {time.monotonic() - began:.0f} s")

    def say(self, text: str) -> None:
        """Print lines that belong to the step."""
        for line in text.splitlines():
            print(f"    {line}", flush=True)
