"""What is wrong with a document that could not be read.

Reading does not keep track of where it is: it only stops. This slow walk goes through the same document again, names
the JSON path of the first wrong value and shows the beginning of that value.
"""

from __future__ import annotations

import reprlib
import typing
from datetime import datetime
from typing import Any

from cmsapi.api.wire.shape import SCALARS, Field, is_model, is_open_enum, shape
from cmsapi.errors import DecodeError

_LONGEST = 80
_shortened = reprlib.Repr()
_shortened.maxstring = _shortened.maxother = _LONGEST


def read_time(text: str) -> datetime:
    """Return the datetime that an ISO 8601 text spells, naive where it has no offset.

    Raises:
        ValueError: It does not spell one.
    """
    time = datetime.fromisoformat(text)
    # `fromisoformat` takes any character between date and time.
    if "T" not in text and len(text) > len("2024-01-31"):
        raise ValueError("no T between date and time")
    return time


def mismatch(type_: Any, document: object, path: str) -> DecodeError:
    """Return the error that names the first value of the document that does not fit the type."""
    return _first(type_, document, path) or _error(f"a document that fits {type_!r}", document, path)


def excerpt(value: object) -> str:
    """Return the beginning of a value, at most 80 characters of ASCII."""
    try:
        text = _shortened.repr(value)
    except ValueError:  # an integer of more digits than Python writes
        text = type(value).__name__
    text = text.encode("ascii", "backslashreplace").decode()
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _first(type_: Any, value: object, path: str) -> DecodeError | None:
    if typing.get_origin(type_) is list:
        (item,) = typing.get_args(type_)
        return _first_of_list(item, value, path)
    if is_model(type_):
        return _first_of_model(type_, value, path)
    if type_ is datetime:
        return _wrong_time(value, path)
    if is_open_enum(type_):
        type_ = str
    if type_ is Any or type(value) is type_ or (type_ is float and type(value) is int):
        return None
    return _error(SCALARS[type_], value, path)


def _first_of_list(item: Any, value: object, path: str) -> DecodeError | None:
    if type(value) is not list:
        return _error("a list", value, path)
    found = (_first(item, each, f"{path}[{place}]") for place, each in enumerate(value))
    return next((error for error in found if error), None)


def _first_of_model(model: Any, value: object, path: str) -> DecodeError | None:
    if type(value) is not dict:
        return _error(f"an object ({model.__name__})", value, path)
    found = (_first_of_field(field, value, f"{path}.{field.wire}") for field in shape(model))
    return next((error for error in found if error), None)


def _first_of_field(field: Field, document: dict[str, Any], path: str) -> DecodeError | None:
    if document.get(field.wire) is None:
        found = "null" if field.wire in document else "nothing"
        return _wrong("an identifier", found, path) if field.required else None
    if not (field.promised or field.required):
        # Nobody shows its type, so no value is wrong.
        return None
    return _first(list[field.type] if field.many else field.type, document[field.wire], path)  # type: ignore[name-defined]  # made at run time


def _wrong_time(value: object, path: str) -> DecodeError | None:
    if type(value) is str:
        try:
            read_time(value)
        except ValueError:
            pass
        else:
            return None
    return _error("a time in ISO 8601", value, path)


def _error(expected: str, value: object, path: str) -> DecodeError:
    return _wrong(expected, "null" if value is None else excerpt(value), path)


def _wrong(expected: str, found: str, path: str) -> DecodeError:
    return DecodeError(f"Expected {expected}", path=path, excerpt=found)
