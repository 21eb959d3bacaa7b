"""Documents to models, field by field.

`cattrs.gen` would call a hook for each field and raise at the first that does not fit. A model has to take what its
class does not announce, and count it, so that one hook for each class reads the whole document. What that takes for a
page of a hundred contents is in `docs/benchmarks.md`.
"""

from __future__ import annotations

import functools
import typing
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from cmsapi.api.model import NONE_ABSENT, NOTHING_ELSE, Extra
from cmsapi.api.wire.drift import Drift, DriftKind
from cmsapi.api.wire.mismatch import mismatch, prefix_path
from cmsapi.api.wire.shape import SCALARS, Field, is_model, is_open_enum, shape
from cmsapi.api.wire.times import read_time
from cmsapi.display.values import copied
from cmsapi.errors import DecodeError

# What cattrs calls to structure: a hook takes the value and its type.
Hook = Callable[[Any, Any], Any]
# What reads the values of one field.
Reader = Callable[[Field, Any], Any]

# Bits of the largest number that is an identifier: that of a UUID.
_LARGEST_NUMBER = 128


def list_reader(type_: Any, converter: Any) -> Hook:
    """Make the hook that reads lists; the path of an error says which item is wrong."""
    (item,) = typing.get_args(type_)
    hook = converter.get_structure_hook(item)

    def read_list(values: Any, _: Any) -> list[Any]:
        if type(values) is not list:
            raise mismatch("a list", values)
        read: list[Any] = []
        try:
            read.extend(hook(value, item) for value in values)
        except DecodeError as error:
            prefix_path(error, f"[{len(read)}]")
            raise
        return read

    return read_list


def read_scalar(value: Any, type_: type) -> Any:
    """Take a value of exactly this type; a whole number is a number, too."""
    if type(value) is type_ or (type(value) is int and type_ is float):
        return value
    raise mismatch(SCALARS[type_], value)


def identifier_of(value: Any) -> Any:
    """Return the text of a whole number, by which requests name what a service numbers; any other value as it is."""
    return str(value) if type(value) is int and value.bit_length() <= _LARGEST_NUMBER else value


class ModelReader:
    """Read documents of a class, with a reader for the values of each field that are not of its type as they come.

    Args:
        model: The class.
        converter: Has the hooks for the documents inside.
        drift: Counts what differs from the class.
    """

    def __init__(self, model: Any, converter: Any, drift: Drift) -> None:
        self._model = model
        self._drift = drift
        self._fields = [(field, self._reader(field, converter)) for field in shape(model)]
        self._times = [field for field, _ in self._fields if field.type is datetime]
        self._listed = frozenset(field.wire for field, _ in self._fields)

    def read(self, document: Any, _: Any) -> Any:
        """Return the model of a document; this is the hook of the class.

        Raises:
            DecodeError: The document does not fit.
        """
        if not isinstance(document, dict):
            raise mismatch(f"an object ({self._model.__name__})", document)
        values: dict[str, Any] = {}
        misfits: dict[str, Any] = {}
        for field, read in self._fields:
            value = document.get(field.wire)
            try:
                if type(value) is field.type:
                    values[field.name] = value
                elif value is None:
                    values[field.name] = self._null(field, absent=field.wire not in document)
                else:
                    values[field.name] = read(field, value)
                    if field.names:
                        self._note(DriftKind.MISFIT, field.wire)
                        misfits[field.wire] = value
            except DecodeError as error:
                if field.strict:
                    prefix_path(error, f".{field.wire}")
                    raise
                # Its type is a guess, or the document can be used without it: no error, and `extra` keeps the value.
                self._note(DriftKind.MISFIT, field.wire)
                values[field.name], misfits[field.wire] = None, value
        absent = _shared(self._listed.difference(document))
        texts = [each for field in self._times for each in (values[field.name], document.get(field.wire))]
        extra = self._extra(document, misfits) if misfits or document.keys() - self._listed else NOTHING_ELSE
        return self._model(**values, extra=extra, absent_keys=absent, time_texts=tuple(texts))

    def _extra(self, document: dict[str, Any], misfits: dict[str, Any]) -> Extra:
        """Keep the unlisted keys of a document, and the values that do not fit into their fields."""
        extra = {key: value for key, value in document.items() if key not in self._listed}
        for key in extra:
            self._note(DriftKind.UNKNOWN_KEY, key)
        return Extra(copied(extra | misfits))

    def _reader(self, field: Field, converter: Any) -> Reader:
        """Choose what reads the values of a field."""
        if is_model(field.type) and field.many:
            items = list[field.type]  # type: ignore[name-defined]  # a type that is made at run time
            read_items = list_reader(items, converter)
            return lambda _, value: tuple(read_items(value, items))
        if is_model(field.type):
            read_model = converter.get_structure_hook(field.type)
            return lambda field, value: read_model(value, field.type)
        if field.type is Any:
            return lambda _, value: copied(value)
        if is_open_enum(field.type):
            return self._word
        if field.names:
            return _identifier
        return self._time if field.type is datetime else _number

    def _word(self, field: Field, value: Any) -> Any:
        if type(value) is not str:
            raise mismatch(_expected(field), value)
        word = field.type(value)
        if not word.known:
            self._note(DriftKind.UNKNOWN_WORD, field.wire, value)
        return word

    def _time(self, field: Field, value: Any) -> datetime:
        time = _spelled(value)
        if time is None:
            raise mismatch(_expected(field), value)
        if time.tzinfo is None:
            self._note(DriftKind.NAIVE_TIME, field.wire, value)
            return time.replace(tzinfo=UTC)
        return time

    def _null(self, field: Field, *, absent: bool) -> Any:
        if field.required:
            error = mismatch(_expected(field), None)
            error.excerpt = "nothing" if absent else error.excerpt
            raise error
        if absent and (field.promised or field.identifies):
            self._note(DriftKind.ABSENT, field.wire)
        if not absent and not field.nullable:
            self._note(DriftKind.NULL, field.wire)
        return () if absent and field.many else None

    def _note(self, kind: DriftKind, wire: str, example: str = "") -> None:
        self._drift.note(kind, f"{self._model.__name__}.{wire}", example)


# A thousand documents that lack the same keys share one set.
@functools.lru_cache(maxsize=64)
def _shared(absent: frozenset[str]) -> frozenset[str]:
    return absent or NONE_ABSENT


def _number(field: Field, value: Any) -> Any:
    """Take a whole number for a number; anything else is not what the field has."""
    if type(value) is int and field.type is float:
        return value
    raise mismatch(_expected(field), value)


def _identifier(field: Field, value: Any) -> str:
    if isinstance(identifier := identifier_of(value), str):
        return identifier
    raise mismatch(_expected(field), value)


def _spelled(value: Any) -> datetime | None:
    try:
        return read_time(value) if type(value) is str else None
    except ValueError:
        return None


def _expected(field: Field) -> str:
    if field.required:
        return "an identifier"
    if field.type is datetime:
        return "a time in ISO 8601"
    return SCALARS[str if is_open_enum(field.type) else field.type]
