"""Find the line of the user's program that a warning is about, also when another thread works for it."""

from __future__ import annotations

import contextlib
import contextvars
import inspect
import warnings
from collections.abc import Iterator
from typing import Any, TypeAlias

#: A file, a line, and the globals of its module.
Line: TypeAlias = tuple[str, int, dict[str, Any]]

_PASSED_ON: contextvars.ContextVar[Line | None] = contextvars.ContextVar("cmsapi_user_line", default=None)


@contextlib.contextmanager
def passed_on() -> Iterator[None]:
    """Let what another thread does in this context warn at the line of this thread's caller."""
    token = _PASSED_ON.set(_line_of_stack())
    try:
        yield
    finally:
        _PASSED_ON.reset(token)


def user_line() -> Line | None:
    """Return the line of the user's program that has called this package; None where Python itself has."""
    return _PASSED_ON.get() or _line_of_stack()


def warn(message: str, category: type[Warning], line: Line | None) -> None:
    """Warn at a line of the user's program."""
    if line is None:
        warnings.warn(message, category, stacklevel=2)
        return
    file, number, names = line
    registry = names.setdefault("__warningregistry__", {})
    # Without a name of the module, Python would drop the warning.
    warnings.warn_explicit(message, category, file, number, names.get("__name__", file), registry)


def _line_of_stack() -> Line | None:
    """Return the first line up the stack that is neither of this package nor of what runs it."""
    frame = inspect.currentframe()
    while frame is not None:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package not in ("cmsapi", "asyncio", "contextlib"):
            return frame.f_code.co_filename, frame.f_lineno, frame.f_globals
        frame = frame.f_back
    return None
