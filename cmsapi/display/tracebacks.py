"""Show an error in a notebook with the lines of the user, and without the frames of the SDK."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

_SDK = __name__.partition(".")[0]
# What the SDK calls, and what calls the code of users from it.
_LIBRARIES = sys.stdlib_module_names | {"aiohttp", "anyio", "attr", "attrs", "cattrs"}
_NOTE = "    [... the frames inside {} are hidden, %tb shows them ...]\n"


def render(error: BaseException) -> list[str]:
    """Return the lines that IPython shows for an error.

    While IPython handles the error, they have no frames of the SDK; afterwards, for `%tb`, they have all of them.
    """
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython()
    formatter = shell.InteractiveTB
    # `%tb` is a cell of its own, in which IPython handles no error.
    if sys.exception() is not error or _without_sdk(error.__traceback__) is None:
        return _lines(formatter, error)
    with _user_frames_only(error):
        # IPython leaves out a first frame, which is its own; now there is none.
        *lines, message = _lines(formatter, error, tb_offset=0)
    # The mode Minimal shows no frames at all.
    return [*lines, _NOTE.format(_SDK), message] if lines else [message]


def _lines(formatter: Any, error: BaseException, **options: int) -> list[str]:
    return [str(line) for line in formatter.structured_traceback(type(error), error, error.__traceback__, **options)]


@contextmanager
def _user_frames_only(error: BaseException) -> Iterator[None]:
    """Reduce the tracebacks of an error and its reasons to frames of the user, for a moment."""
    before: list[tuple[BaseException, TracebackType | None, BaseException | None, BaseException | None, bool]] = []
    reason: BaseException | None = error
    while reason is not None and reason not in (each for each, *_ in before):
        each, trace = reason, reason.__traceback__
        before.append((each, trace, each.__cause__, each.__context__, each.__suppress_context__))
        reason = each.__cause__ or (None if each.__suppress_context__ else each.__context__)
        each.__traceback__ = _without_sdk(trace)
        if reason is not None and _without_sdk(reason.__traceback__) is None:
            # All of its frames are inside the SDK, and the message of the error says what it was.
            each.__cause__ = each.__context__ = reason = None
    try:
        yield
    finally:
        for each, trace, cause, context, suppressed in before:
            each.__traceback__, each.__cause__, each.__context__ = trace, cause, context
            each.__suppress_context__ = suppressed


def _without_sdk(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of IPython before the cell, and of the SDK and its libraries after it."""
    kept: TracebackType | None = None
    for entry in reversed([entry for entry in _entries(trace) if _is_of_user(entry.tb_frame)]):
        kept = TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return kept


def _is_of_user(frame: FrameType) -> bool:
    package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return package not in (_SDK, "IPython", "ipykernel") and package not in _LIBRARIES


def _entries(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next
