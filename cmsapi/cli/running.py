"""Run one command line, and turn whatever happens into an exit code.

A command line is read before the event loop starts: identifiers may come from standard input, and Ctrl-C at that moment
is an ordinary one.
"""

from __future__ import annotations

import asyncio
import errno
import functools
import inspect
import io
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cyclopts import CycloptsError, MissingArgumentError

import cmsapi
from cmsapi.cli.app import app
from cmsapi.cli.support.exit_codes import Exit, error_text, exit_code
from cmsapi.cli.support.output import print_message
from cmsapi.cli.support.progress import PipeConsole
from cmsapi.config import ALLOW_HTTP_VARIABLE

# Full disks and quotas, files that are too large, devices and readers that are gone.
_UNWRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF, errno.EPIPE}

ALLOW_HTTP = "--allow-http"

# Arguments of the SDK for which the options have other names.
_OPTION_NAMES = {
    "name": "--batch",
    "content_score_min": "--min-score",
    "content_score_max": "--max-score",
    "custom_instructions": "--settings custom_instructions",
}


def run(tokens: Sequence[str]) -> int:
    """Run a command line to its end.

    Returns:
        The exit code.
    """
    _prepare_streams()
    try:
        code = asyncio.run(execute(read(tokens)))
        # Here, where it can be handled, that the output cannot be written.
        sys.stdout.flush()
    except CycloptsError:
        # It has said what is wrong.
        return Exit.USAGE
    except cmsapi.CMSError as error:
        return report_error(error)
    except KeyboardInterrupt:
        print_message("Interrupted.")
        return Exit.INTERRUPTED
    except OSError as error:
        if error.errno not in _UNWRITABLE or error.filename is not None:
            raise
        # Python must not try it once more at its end, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            # The reader of the output has had enough.
            return Exit.DONE
        print_message(
            f"The output cannot be written: {error.strerror}. What the command has done is done; what it launched and "
            "is not over is shown by: cmsapi jobs list",
            style="red",
        )
        return Exit.FAILED
    else:
        return code


def read(tokens: Sequence[str]) -> Callable[[], Any]:
    """Find the command of a command line and bind its arguments.

    Raises:
        CycloptsError: There is no such command or option; it was printed.
        ArgumentError: An argument cannot be read.
    """
    tokens = list(tokens)
    if ALLOW_HTTP in tokens[: tokens.index("--") if "--" in tokens else None]:
        # For every command, before or after its name: it says how to travel, like the variables that say where to.
        tokens.remove(ALLOW_HTTP)
        os.environ[ALLOW_HTTP_VARIABLE] = "1"
    try:
        command, bound, _ = app.parse_args(tokens, console=PipeConsole(), exit_on_error=False, print_error=False)
    except CycloptsError as error:
        print_message(_usage_text(error), style="red")
        raise
    return functools.partial(command, *bound.args, **bound.kwargs)


async def execute(command: Callable[[], Any]) -> int:
    """Run a command; return its exit code."""
    try:
        code = command()
        if inspect.isawaitable(code):
            code = await code
    except cmsapi.CMSError as error:
        return report_error(error, command)
    return code if isinstance(code, int) else Exit.DONE


def report_error(error: cmsapi.CMSError, command: Callable[[], Any] | None = None) -> int:
    """Say why a command ended, on standard error; return its exit code.

    Args:
        error: Why.
        command: The command, whose options the message names as they are typed.
    """
    text = error_text(error)
    if isinstance(error, cmsapi.ArgumentError) and isinstance(command, functools.partial):
        text = re.sub(rf"^{re.escape(error.parameter)}\b", _option_name(error.parameter, command.func), text)
    print_message(text, style="red")
    return exit_code(error)


def _option_name(name: str, command: Callable[..., Any]) -> str:
    """Return an argument of the SDK as it is typed at a command."""
    if name in _OPTION_NAMES:
        return _OPTION_NAMES[name]
    parameter = inspect.signature(command).parameters.get(name)
    if parameter is None:
        return name
    if parameter.kind is parameter.POSITIONAL_ONLY:
        return name.upper()
    hyphened = name.replace("_", "-")
    return f"--{hyphened}" if parameter.kind is parameter.KEYWORD_ONLY else hyphened.upper()


def _usage_text(error: CycloptsError) -> str:
    """Say what is wrong with a command line."""
    argument, words = error.argument, " ".join(["cmsapi", *(error.command_chain or ())])
    text = str(error)
    if type(error) is MissingArgumentError and argument is not None and argument.field_info.is_positional:
        # By the name that the help has; it can be given as an option, too.
        text = f"{argument.name.lstrip('-').upper()} is missing."
    return f"{text}\nSee: {words} --help"


def _prepare_streams() -> None:
    """Give each closed stream a place, and see to it that no character ends a command."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  as long as the process
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
