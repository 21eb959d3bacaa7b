"""Write what a state keeps as text, and read it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from cmsapi.api.wire.jsontext import dumps, loads
from cmsapi.errors import DecodeError, StateError

T = TypeVar("T")


def write_text(value: Any) -> str:
    """Write a JSON value so that equal values have equal texts, whatever the order of their members."""

    def sort(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: sort(value[name]) for name in sorted(value)}
        if isinstance(value, list | tuple):
            return [sort(each) for each in value]
        return value

    return dumps(sort(value)).decode()


def read_text(text: str) -> Any:
    """Read a JSON value.

    Raises:
        StateError: The text is not JSON.
    """
    try:
        return loads(text.encode())
    except DecodeError as error:
        raise StateError(
            f"A document of the state cannot be read: {error}. Use another state, or repair this one."
        ) from error


def read_row(type_: type[T], text: str) -> T:
    """Read an attrs class whose validators check what each field is.

    Raises:
        StateError: The text does not describe one.
    """
    try:
        return type_(**read_text(text))
    except (TypeError, ValueError, AttributeError):
        raise StateError(
            f"A row of the state ({type_.__name__}) cannot be read; something other than this SDK wrote there. "
            "Nothing was sent or charged; use another state, or repair this one."
        ) from None
