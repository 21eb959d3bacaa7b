"""Run one command line, and turn whatever happens into an exit code.

A command line is read before the event loop starts: identifiers may come from standard input, and Ctrl-C at that moment
is an ordinary one.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from cyclopts import CycloptsError

import cmsapi
from cmsapi.cli.commands import app
from cmsapi.cli.exits import Exit, code_of, told
from cmsapi.cli.output import say


def run(tokens: Sequence[str]) -> int:
    """Run a command line to its end.

    Returns:
        The exit code.
    """
    try:
        code = asyncio.run(execute(read(tokens)))
        # Here, where it can be handled, that nobody reads any more.
        sys.stdout.flush()
    except CycloptsError:
        # It has said what is wrong.
        return Exit.USAGE
    except cmsapi.CMSError as error:
        return refuse(error)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has had enough, and Python must not complain about that at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.DONE
    else:
        return code


def read(tokens: Sequence[str]) -> Callable[[], Any]:
    """Find the command of a command line and bind its arguments.

    Raises:
        CycloptsError: There is no such command or option; it was printed.
        ArgumentError: An argument cannot be read.
    """
    command, bound, _ = app.parse_args(tokens, exit_on_error=False)
    return lambda: command(*bound.args, **bound.kwargs)


async def execute(command: Callable[[], Any]) -> int:
    """Run a command; return its exit code."""
    try:
        code = command()
        if inspect.isawaitable(code):
            code = await code
    except cmsapi.CMSError as error:
        return refuse(error)
    return code if isinstance(code, int) else Exit.DONE


def refuse(error: cmsapi.CMSError) -> int:
    """Say why a command ended, on standard error; return its exit code."""
    say(told(error), style="red")
    return code_of(error)
