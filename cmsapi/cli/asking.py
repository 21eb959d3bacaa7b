"""Ask the person at the terminal.

Waiting for the line is left to the event loop: a blocking read would keep Ctrl-C from ending the command.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated, TypeAlias

from cyclopts import Parameter

from cmsapi.display import progress_console
from cmsapi.errors import ArgumentError

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
        progress_console().print(question, choice, end=" ", markup=False, highlight=False, soft_wrap=False)
        said = (await _line()).lower()[:1] or answers[-1]
        if said in answers:
            return said


async def ensure(question: str, yes: bool) -> bool:
    """Ask before something that cannot be undone, or costs.

    Args:
        question: What is about to be done.
        yes: Whether `--yes` was given.

    Raises:
        ArgumentError: Nobody is there to be asked.
    """
    if yes:
        return True
    if not sys.stdin.isatty():
        raise ArgumentError(f"{question} Nobody can be asked here: add --yes. Nothing was done.", parameter="yes")
    if await ask(question, "yn") == "y":
        return True
    print("Nothing was done.", file=sys.stderr)
    return False


async def _line() -> str:
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(sys.stdin, _note, ready)
    try:
        await ready
    finally:
        loop.remove_reader(sys.stdin)
    return sys.stdin.readline().strip()


def _note(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
