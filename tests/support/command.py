"""Run a command line in this process."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from cyclopts import CycloptsError

import cmsapi
from cmsapi.cli.running import execute, parse, report_error
from cmsapi.cli.terminal.exit_codes import Exit


async def command(*tokens: str) -> int:
    """Run a command line on the running loop; return its exit code."""
    try:
        # Beside the loop, as in life, where it comes before the loop.
        parsed = await asyncio.to_thread(parse, tokens)
    except CycloptsError:
        return Exit.USAGE
    except cmsapi.CMSError as error:
        return report_error(error)
    # A task of its own, because a command may be interrupted.
    return await asyncio.create_task(execute(parsed))


def completions(home: Path, lines: Sequence[tuple[str, ...]], **variables: str) -> list[list[str]]:
    """Install the completion in a home directory, and complete the last word of each line in a new shell."""
    # The command as a program, which the script calls for identifiers and files.
    program = home / "bin" / "cmsapi"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m cmsapi "$@"\n')
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "HOME": str(home), "SHELL": "/bin/bash", "PATH": path, **variables}
    (home / ".bashrc").touch()
    subprocess.run([sys.executable, "-m", "cmsapi", "--install-completion"], env=environment, check=True)

    words = "\n".join(
        f"COMP_WORDS=({' '.join(repr(word) for word in line)}); COMP_CWORD={len(line) - 1}; $complete; "
        'echo "${COMPREPLY[@]}"'
        for line in lines
    )
    script = f'source "$HOME/.bashrc"; read -ra word < <(complete -p cmsapi); complete=${{word[-2]}}\n{words}'
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=True)  # noqa: S607
    return [line.split() for line in done.stdout.splitlines()]


def offers(home: Path, lines: Sequence[tuple[str, ...]], **variables: str) -> list[list[str]]:
    """Complete what the service or the state offers, and those lines again that got nothing.

    The command offers nothing when the service has not answered after seconds. On a busy machine that may be so once,
    or twice.
    """
    found = completions(home, lines, **variables)
    for _ in range(2):
        if missed := [number for number, words in enumerate(found) if not words]:
            again = completions(home, [lines[number] for number in missed], **variables)
            for number, words in zip(missed, again, strict=True):
                found[number] = words
    return found
