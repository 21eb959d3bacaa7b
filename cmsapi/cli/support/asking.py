"""Ask the person at the terminal.

A thread waits for the line, so that Ctrl-C ends the command meanwhile; the loops of Windows cannot wait for a terminal.
The thread reads from the descriptor and is left behind: it holds no lock that the interpreter needs at its end.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from typing import Annotated, TypeAlias

from cyclopts import Parameter

from cmsapi.cli.support.output import print_message
from cmsapi.cli.support.progress import stderr_console
from cmsapi.errors import ArgumentError

_LONGEST = 4096

Yes: TypeAlias = Annotated[bool, Parameter(name=["--yes", "-y"], negative="", show_default=False, help="Do not ask.")]


async def ask(question: str, answers: str) -> str:
    """Ask until one of the answers is given.

    Args:
        question: The question.
        answers: Letters that may be answered; the last one stands for an empty line and for the end of the input.

    Returns:
        The letter.
    """
    while True:
        choice = f"[{'/'.join(answers[:-1])}/{answers[-1].upper()}]"
        stderr_console().print(question, choice, end=" ", markup=False, highlight=False, soft_wrap=False)
        said = (await _line()).lower()[:1] or answers[-1]
        if said in answers:
            return said


async def confirmed(question: str, yes: bool) -> bool:
    """Ask before something that cannot be undone, or costs.

    Args:
        question: What is about to be done.
        yes: Whether `--yes` was given.

    Raises:
        ArgumentError: Standard input is no terminal, so that no question can be asked.
    """
    if yes:
        return True
    if not sys.stdin.isatty():
        raise ArgumentError(
            f"{question} Standard input is no terminal, so that this cannot be asked: add --yes. Nothing was done.",
            parameter="yes",
        )
    try:
        if await ask(question, "yn") == "y":
            return True
    except asyncio.CancelledError:
        print_message("\nNothing was done.")
        raise
    print_message("Nothing was done.")
    return False


async def _line() -> str:
    loop = asyncio.get_running_loop()
    line: asyncio.Future[str] = loop.create_future()
    threading.Thread(target=_read, args=(sys.stdin.fileno(), loop, line), daemon=True).start()
    return (await line).strip()


def _read(descriptor: int, loop: asyncio.AbstractEventLoop, line: asyncio.Future[str]) -> None:
    try:
        # A terminal gives one line at a time.
        said = os.read(descriptor, _LONGEST).decode(errors="replace")
    except OSError:
        # The terminal is gone.
        said = ""
    # The loop is closed when the command has ended meanwhile.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(_note, line, said)


def _note(line: asyncio.Future[str], said: str) -> None:
    if not line.done():
        line.set_result(said)
