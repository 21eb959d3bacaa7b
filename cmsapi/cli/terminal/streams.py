"""Prepare the standard streams, and tell why one cannot be written."""

from __future__ import annotations

import errno
import io
import os
import sys
from pathlib import Path
from typing import TextIO

# Full disks and quotas, files that are too large, removed devices and closed pipes.
_UNWRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF, errno.EPIPE}


def prepare_streams() -> None:
    """Open closed standard streams, and set encodings so that no character can end a command."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  open until the process exits
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
            if sys.platform == "win32" and not stream.isatty() and "PYTHONIOENCODING" not in os.environ:
                # Otherwise a file gets the code page of the machine, which other commands cannot read, and `\r\r\n`
                # after each row of CSV.
                stream.reconfigure(encoding="utf-8", newline="\n")


def cannot_be_written(error: OSError) -> bool:
    """Return whether an error is one of writing to a standard stream."""
    return error.filename is None and (error.errno in _UNWRITABLE or is_closed_pipe(error))


def is_closed_pipe(error: OSError) -> bool:
    """Return whether the reader of a pipe has closed it, as `head` does."""
    return isinstance(error, BrokenPipeError) or (sys.platform == "win32" and error.errno == errno.EINVAL)


def discard(stream: TextIO) -> None:
    """Drop what a stream that cannot be written still holds: at exit Python would write it again, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def flush_messages() -> None:
    """Write the messages that standard error holds; without it the exit code stays the same."""
    try:
        sys.stderr.flush()
    except OSError:
        discard(sys.stderr)
