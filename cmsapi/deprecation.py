"""Warn of names, methods and parameters that a later version removes, at the line that uses them.

A message has one form, so that type checkers show it and a release can find what is overdue::

    `Jobs.restore` is deprecated since 0.2.0 and will be removed in 0.4.0: use `Jobs.attach`.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

T = TypeVar("T", bound=Callable[..., Any])

_FORM = re.compile(
    r"`(?P<name>[^`]+)` is deprecated since (?P<since>\d+\.\d+\.\d+) "
    r"and will be removed in (?P<removal>\d+\.\d+\.\d+): (?P<instead>(?:(?!\. ).)+)\."
)


class Deprecation(NamedTuple):
    """Say what goes away, and when.

    Args:
        name: The name, for example `Jobs.restore`; of a parameter, with its method: `Job.wait(patience)`.
        since: The version that warned first.
        removal: The first version without it.
        instead: What to use.
        module: Where it is.
    """

    name: str
    since: str
    removal: str
    instead: str
    module: str


#: What the imported modules deprecate.
DEPRECATIONS: list[Deprecation] = []

#: Names that a package still gives, by package and name: where the value is (`module:name`), and the message. The
#: stub of the package declares each again, with `@deprecated`, for type checkers.
NAMES: dict[str, dict[str, tuple[str, str]]] = {}


def read_message(message: str, module: str) -> Deprecation:
    """Read a message about something in a module.

    Raises:
        ValueError: It has another form.
    """
    found = _FORM.fullmatch(message)
    if found is None:
        raise ValueError(f"A deprecation reads '`name` is deprecated since 0.2.0 and will be …', got {message!r}.")
    return Deprecation(**found.groupdict(), module=module)


def deprecated_value(package: str, name: str) -> Any:
    """Return the value of a deprecated name of a package, and warn.

    Raises:
        KeyError: There is no such name.
    """
    place, message = NAMES[package][name]
    module, _, value = place.partition(":")
    # This frame and that of the package's `__getattr__`; Python leaves those of its imports out.
    warnings.warn(message, DeprecationWarning, stacklevel=3)
    return getattr(importlib.import_module(module), value)


if TYPE_CHECKING:
    # Type checkers know it without the package.
    from typing_extensions import deprecated as deprecated
else:

    def deprecated(message: str) -> Callable[[T], T]:
        """Return a decorator of a function or method that warns when it is called.

        Args:
            message: The message, in the form of this module.
        """

        def decorate(function: T) -> T:
            DEPRECATIONS.append(read_message(message, str(function.__module__)))

            @functools.wraps(function)
            def warning(*arguments: Any, **named: Any) -> Any:
                _warn(message)
                return function(*arguments, **named)

            warning.__deprecated__ = message
            return _alike(warning, function)

        return decorate


def deprecated_parameter(name: str, message: str, *, becomes: str | None = None) -> Callable[[T], T]:
    """Return a decorator of a function, method or class that warns when a parameter is given.

    The parameter stays in the signature, with a default. Its default does not warn, because the blocking classes hand
    every parameter on. For type checkers, an overload has the parameter and `@deprecated`.

    Args:
        name: The parameter.
        message: The message, in the form of this module.
        becomes: The parameter that takes the value; it has a default, too.

    Raises:
        TypeError: The function has no such parameter with a default; or, from a call, both parameters are given.
    """

    def decorate(thing: T) -> T:
        DEPRECATIONS.append(read_message(message, str(thing.__module__)))
        if isinstance(thing, type):
            constructor: Any = thing.__init__  # type: ignore[misc]  # that of this class, not of a subclass
            type.__setattr__(thing, "__init__", wrap(constructor))
            return thing  # pyright: ignore[reportReturnType]  # it is the same class
        return wrap(thing)

    def wrap(function: T) -> T:
        signature = inspect.signature(function)
        defaults = {each: _default(signature, each) for each in (name, becomes) if each is not None}

        @functools.wraps(function)
        def warning(*arguments: Any, **named: Any) -> Any:
            bound = signature.bind(*arguments, **named)
            given = {each for each in defaults if bound.arguments.get(each, defaults[each]) is not defaults[each]}
            if name in given:
                _warn(message)
                if becomes in given:
                    raise TypeError(f"`{name}` and `{becomes}` are one parameter; give only `{becomes}`.")
                if becomes is not None:
                    bound.arguments[becomes] = bound.arguments.pop(name)
            return function(*bound.args, **bound.kwargs)

        return _alike(warning, function)

    return decorate


def _default(signature: inspect.Signature, name: str) -> Any:
    if name not in signature.parameters or signature.parameters[name].default is inspect.Parameter.empty:
        raise TypeError(f"There is no parameter {name!r} with a default in {signature}.")
    return signature.parameters[name].default


def _warn(message: str) -> None:
    """Warn at the line that called the caller, unless the SDK itself called it: a blocking class has warned before."""
    frame: Any = inspect.currentframe()
    module = frame.f_back.f_back.f_globals.get("__name__", "")
    if module.partition(".")[0] != __name__.partition(".")[0]:
        warnings.warn(message, DeprecationWarning, stacklevel=3)


def _alike(wrapper: Any, function: T) -> T:
    """Mark a wrapper of a coroutine function as one; Python 3.11 has no mark."""
    mark = getattr(inspect, "markcoroutinefunction", None)
    if mark is not None and inspect.iscoroutinefunction(function):
        mark(wrapper)
    return wrapper  # type: ignore[no-any-return]  # it has the signature of the function
