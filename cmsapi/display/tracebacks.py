"""Show an error in a notebook with the lines of the user, and without the frames of the SDK."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
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
    shown = _without_sdk(error.__traceback__) if sys.exception() is error else None
    if shown is None:
        return _lines(formatter, error)
    before = error.__cause__, error.__context__, error.__suppress_context__
    if not any(map(_is_of_user, _frames(_reason(error)))):
        # The message says what the reason was, and all of its frames are inside the SDK.
        error.__cause__ = error.__context__ = None
    try:
        *lines, message = _lines(formatter, error, shown)
    finally:
        error.__cause__, error.__context__, error.__suppress_context__ = before
    return [*lines, _NOTE.format(_SDK), message]


def _lines(formatter: Any, error: BaseException, trace: TracebackType | None = None) -> list[str]:
    # IPython leaves out a first frame, which is its own; a given traceback has none of them.
    offset = None if trace is None else 0
    lines = formatter.structured_traceback(type(error), error, trace or error.__traceback__, tb_offset=offset)
    return [str(line) for line in lines]


def _reason(error: BaseException) -> TracebackType | None:
    reason = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return None if reason is None else reason.__traceback__


def _without_sdk(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of IPython before the cell, and of the SDK and its libraries after it."""
    kept: TracebackType | None = None
    for entry in reversed([entry for entry in _entries(trace) if _is_of_user(entry.tb_frame)]):
        kept = TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return kept


def _is_of_user(frame: FrameType) -> bool:
    package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return package not in (_SDK, "IPython", "ipykernel") and package not in _LIBRARIES


def _frames(trace: TracebackType | None) -> Iterable[FrameType]:
    return (entry.tb_frame for entry in _entries(trace))


def _entries(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next
