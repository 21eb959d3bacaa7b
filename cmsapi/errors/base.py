"""The base of all errors, and the errors of wrong use: of settings, arguments and closed clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cmsapi.display import markup, tracebacks


class CMSError(Exception):
    """Be the base class of all errors of the SDK.

    Attributes:
        in_doubt: Whether a request that changes something may have taken effect, although no clear answer says so.
    """

    in_doubt: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args, self._picklable())

    def __copy__(self) -> CMSError:
        return _rebuild(type(self), self.args, self.__dict__)

    def _picklable(self) -> dict[str, Any]:
        return self.__dict__

    def fresh(self) -> CMSError:
        """Return a copy without traceback, so that each waiter raises its own error."""
        twin = self.__copy__()
        twin.__cause__ = self.__cause__
        return twin

    def _render_traceback_(self) -> list[str]:
        """Return what IPython shows below a cell that raises it."""
        return tracebacks.render(self)

    def _repr_html_(self) -> str:
        return markup.paragraphs(type(self).__name__, [*str(self).splitlines(), *getattr(self, "__notes__", ())])


def _rebuild(cls: type[CMSError], args: tuple[Any, ...], state: Mapping[str, Any]) -> CMSError:
    error = cls.__new__(cls, *args)
    error.args = args
    for name, value in state.items():
        # Notes are a list that `add_note` grows in place: copies must not grow together.
        error.__dict__[name] = list(value) if name == "__notes__" else value
    return error


class ConfigError(CMSError, ValueError):
    """Refuse a key, URL or option at construction; nothing was sent."""


class ArgumentError(CMSError, ValueError):
    """Refuse an argument of one call; nothing was sent and nothing was charged.

    Args:
        message: What is wrong and what would be right.
        parameter: Name of the offending parameter.
    """

    def __init__(self, message: str, *, parameter: str) -> None:
        super().__init__(message)
        self.parameter = parameter


class ClientClosedError(CMSError, RuntimeError):
    """Refuse to use a client that is closed or belongs to another event loop."""
