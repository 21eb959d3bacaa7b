"""Ask questions on the terminal.

A thread reads the answer, so that Ctrl-C can end the command meanwhile; the event loops of Windows cannot wait for a
terminal. The thread reads from the descriptor and is never joined: it holds no lock that the interpreter needs to exit.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from typing import Annotated, TypeAlias

from cyclopts import Parameter

from cmsapi.cli.terminal.output import print_message
from cmsapi.cli.terminal.progress import stderr_console
from cmsapi.errors import ArgumentError

_MAX_ANSWER = 4096

Yes: TypeAlias = Annotated[bool, Parameter(name=["--yes", "-y"], negative="", show_default=False, help="Do not ask.")]


async def ask(question: str, answers: str) -> str:
    """Ask a question until the answer is one of the given letters.

    Args:
        question: The question.
        answers: Letters that are valid answers; an empty line and the end of the input mean the last one.

    Returns:
        The letter.
    """
    while True:
        choice = f"[{'/'.join(answers[:-1])}/{answers[-1].upper()}]"
        stderr_console().print(question, choice, end=" ", markup=False, highlight=False, soft_wrap=False)
        answer = (await _read_line()).lower()[:1] or answers[-1]
        if answer in answers:
            return answer


async def confirmed(question: str, yes: bool) -> bool:
    """Ask for confirmation before what costs credits or cannot be undone.

    Args:
        question: Names what is about to be done.
        yes: Whether `--yes` was given.

    Raises:
        ArgumentError: Standard input is not a terminal, so the command cannot ask.
    """
    if yes:
        return True
    if not sys.stdin.isatty():
        raise ArgumentError(
            f"{question} Standard input is not a terminal, so the command cannot ask: add --yes. Nothing was done.",
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


async def _read_line() -> str:
    loop = asyncio.get_running_loop()
    line: asyncio.Future[str] = loop.create_future()
    threading.Thread(target=_read_from_thread, args=(sys.stdin.fileno(), loop, line), daemon=True).start()
    return (await line).strip()


def _read_from_thread(descriptor: int, loop: asyncio.AbstractEventLoop, line: asyncio.Future[str]) -> None:
    try:
        # A terminal returns one line per read.
        answer = os.read(descriptor, _MAX_ANSWER).decode(errors="replace")
    except OSError:
        # The terminal has been closed.
        answer = ""
    # The loop is closed if the command has ended meanwhile.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(_set_result, line, answer)


def _set_result(line: asyncio.Future[str], answer: str) -> None:
    if not line.done():
        line.set_result(answer)
