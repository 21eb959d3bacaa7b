"""Exit codes of the commands, and the text that an error has in a shell."""

from __future__ import annotations

import enum
from collections.abc import Iterable

import cmsapi
from cmsapi.cli.terminal.advice import for_shell
from cmsapi.display.markup import plain


class Exit(enum.IntEnum):
    """List the exit codes of all commands."""

    DONE = 0
    #: The service refused, a job has no result, the doctor found a problem, or the answer to a question was no.
    FAILED = 1
    #: The command line is wrong, or the key or the address is missing; nothing was sent.
    USAGE = 2
    #: Some of several items have no result.
    PARTLY = 3
    #: Launching stopped because `--max-credits` was reached or no credits are left.
    CREDITS = 4
    #: A request was sent and its outcome is unknown. Check before you repeat it: it may have been charged.
    UNKNOWN = 5
    #: Ctrl-C, SIGTERM or SIGHUP; launched jobs keep running.
    INTERRUPTED = 130


def exit_code(error: BaseException) -> Exit:
    """Return the code for an error that ended a command or an item."""
    match error:
        case cmsapi.ConfigError() | cmsapi.ArgumentError():
            return Exit.USAGE
        case cmsapi.OutOfCreditsError():
            return Exit.CREDITS
        case cmsapi.CMSError() if error.in_doubt:
            return Exit.UNKNOWN
        case _:
            return Exit.FAILED


def combined_exit_code(errors: Iterable[BaseException | None]) -> Exit:
    """Return the code for several items: the one that needs the most attention.

    Args:
        errors: The error of each item, or None.
    """
    codes = [Exit.DONE if error is None else exit_code(error) for error in errors]
    for worst in (Exit.UNKNOWN, Exit.CREDITS):
        if worst in codes:
            return worst
    if set(codes) == {Exit.USAGE}:
        return Exit.USAGE
    good = codes.count(Exit.DONE)
    return Exit.DONE if good == len(codes) else Exit.PARTLY if good else Exit.FAILED


def error_text(error: BaseException) -> str:
    """Return the message and the notes of an error, worded for a shell."""
    lines = for_shell("\n".join([str(error), *getattr(error, "__notes__", ())])).split("\n")
    return "\n".join(map(plain, lines))
