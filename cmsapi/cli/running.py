"""Run one command line and return its exit code.

The command line is parsed before the event loop starts: items may come from standard input, and until then Ctrl-C is an
ordinary `KeyboardInterrupt`.
"""

from __future__ import annotations

import asyncio
import difflib
import functools
import inspect
import logging
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

from cyclopts import CycloptsError, MissingArgumentError

import cmsapi
from cmsapi.cli.app import app
from cmsapi.cli.terminal.exit_codes import Exit, error_text, exit_code
from cmsapi.cli.terminal.interrupting import ended_by_signals
from cmsapi.cli.terminal.output import print_message
from cmsapi.cli.terminal.progress import PipeConsole
from cmsapi.cli.terminal.streams import cannot_be_written, discard, flush_messages, is_closed_pipe, prepare_streams
from cmsapi.config import ALLOW_HTTP_VARIABLE
from cmsapi.observability.log import log_to_stderr

# The suggestion of cyclopts for an unknown option, and how much alike two names must be for it.
_SUGGESTION = re.compile(r"(?P<text>Unknown option: (?P<typed>\S+)\.) Did you mean (?P<suggested>\S+)\?")
_ALIKE = 0.6

ALLOW_HTTP = "--allow-http"
# Options that show the log, with the levels that they add.
VERBOSITY = {"-v": 1, "--verbose": 1, "-vv": 2}

# The commands that show what an argument must name.
_LISTED_BY = {
    "WORKSPACE_ID": "cmsapi workspaces",
    "PAGE_ID": "cmsapi pages list WORKSPACE_ID",
    "PAGE_IDS": "cmsapi pages list WORKSPACE_ID",
    "CONTENT_ID": "cmsapi contents list WORKSPACE_ID",
    "CONTENT_IDS": "cmsapi contents list WORKSPACE_ID",
    "KEYWORD_ID": "cmsapi keywords WORKSPACE_ID",
    "KEYWORD_IDS": "cmsapi keywords WORKSPACE_ID",
    "TOKENS": "cmsapi jobs list --json",
}

# Options whose names differ from the arguments of the SDK.
_OPTION_NAMES = {
    "name": "--batch",
    "content_score_min": "--min-score",
    "content_score_max": "--max-score",
    "custom_instructions": "--settings custom_instructions",
}


def run(tokens: Sequence[str]) -> int:
    """Run a command line.

    Returns:
        The exit code.
    """
    prepare_streams()
    try:
        code = asyncio.run(execute(parse(tokens)))
        # Errors of writing are handled here; at exit Python would only complain.
        sys.stdout.flush()
    except CycloptsError:
        # `parse` has printed the error.
        return Exit.USAGE
    except cmsapi.CMSError as error:
        return report_error(error)
    except (KeyboardInterrupt, asyncio.CancelledError):
        print_message("Interrupted.")
        return Exit.INTERRUPTED
    except OSError as error:
        if not cannot_be_written(error):
            raise
        discard(sys.stdout)
        if is_closed_pipe(error):
            return Exit.DONE
        print_message(
            f"The output cannot be written: {error.strerror}. The command took effect, and launched jobs keep running. "
            "To list them: cmsapi jobs list",
            style="red",
        )
        return Exit.FAILED
    else:
        return code
    finally:
        flush_messages()


def parse(tokens: Sequence[str]) -> Callable[[], Any]:
    """Find the command of a command line and bind its arguments.

    Raises:
        CycloptsError: The command or an option does not exist; the error is already printed.
        ArgumentError: An argument cannot be read.
    """
    # These options belong to every command, before or after its name, like the variables that they stand for.
    end = tokens.index("--") if "--" in tokens else len(tokens)
    common = [token for token in tokens[:end] if token == ALLOW_HTTP or token in VERBOSITY]
    tokens = [token for token in tokens[:end] if token not in common] + list(tokens[end:])
    if ALLOW_HTTP in common:
        os.environ[ALLOW_HTTP_VARIABLE] = "1"
    if verbosity := sum(VERBOSITY.get(token, 0) for token in common):
        log_to_stderr(logging.DEBUG if verbosity > 1 else logging.INFO)
    try:
        command, bound, _ = app.parse_args(tokens, console=PipeConsole(), exit_on_error=False, print_error=False)
    except CycloptsError as error:
        print_message(_usage_text(error), style="red")
        raise
    return functools.partial(command, *bound.args, **bound.kwargs)


async def execute(command: Callable[[], Any]) -> int:
    """Run a command; return its exit code."""
    try:
        with ended_by_signals():
            code = command()
            if inspect.isawaitable(code):
                code = await code
    except cmsapi.CMSError as error:
        return report_error(error, command)
    return code if isinstance(code, int) else Exit.DONE


def report_error(error: cmsapi.CMSError, command: Callable[[], Any] | None = None) -> int:
    """Print the error that ended a command to standard error; return its exit code.

    Args:
        error: The error.
        command: The command; the message names its arguments as they are typed.
    """
    text = error_text(error)
    if isinstance(error, cmsapi.ArgumentError) and isinstance(command, functools.partial):
        text = text.replace(f"`{error.parameter}`", _option_name(error.parameter, command.func), 1)
    print_message(text, style="red")
    return exit_code(error)


def _option_name(name: str, command: Callable[..., Any]) -> str:
    """Return the name that an argument of the SDK has on the command line."""
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
    """Return a message for an invalid command line."""
    argument, words = error.argument, " ".join(["cmsapi", *(error.command_chain or ())])
    text = str(error)
    if type(error) is MissingArgumentError and argument is not None and argument.field_info.is_positional:
        # cyclopts would use the name of the option; the help shows the positional name.
        name = argument.name.lstrip("-").upper()
        source = _LISTED_BY.get(name.replace("-", "_"))
        text = f"{name} is missing." + (f" To list what it may be: {source}" if source else "")
    if found := _SUGGESTION.fullmatch(text):
        typed, suggested = (found[name].strip("-") for name in ("typed", "suggested"))
        # cyclopts counts the hyphens, which all options have in common.
        if difflib.SequenceMatcher(None, typed, suggested).ratio() < _ALIKE:
            text = found["text"]
    return f"{text}\nSee: {words} --help"
