"""Documents to models: one generated function per class of models.

`cattrs.gen` generates such functions too, but with a strict hook for each field they take twice as long, parsing
included: a call for each value, and a frozen `__init__` for each model (the figures are in `docs/benchmarks.md`). The
functions made here check types in line, fill the slots of an open twin of the class and close it by its `__class__`.

A generated function handles the ordinary document. A value that its class does not announce goes to `Tolerance`, which
takes it and counts it, or refuses it.
"""

from __future__ import annotations

import functools
import typing
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import CodeType
from typing import Any

from cmsapi.api.model import NONE_ABSENT, NOTHING_ELSE, Extra
from cmsapi.api.wire.drift import Drift, DriftKind
from cmsapi.api.wire.mismatch import mismatch, prefix_path
from cmsapi.api.wire.shape import SCALARS, Field, is_model, is_open_enum, shape
from cmsapi.api.wire.times import read_time
from cmsapi.api.wire.writing import copied
from cmsapi.errors import DecodeError

# What cattrs calls to structure: a hook takes the value and its type.
Hook = Callable[[Any, Any], Any]

# Patterns of absent keys that are remembered once per class instead of once per model.
_SHARED_PATTERNS = 64


def model_reader(model: Any, hook_of: Callable[[Any], Hook], drift: Drift) -> Hook:
    """Make the hook that reads documents of a class.

    Args:
        model: The class.
        hook_of: Returns the hook of another type, for the documents inside.
        drift: Counts what differs from the specification.
    """
    nested = {field.wire: _nested(field, hook_of) for field in shape(model) if is_model(field.type)}
    scope: dict[str, Any] = {
        "DecodeError": DecodeError,
        "KEYS": [field.wire for field in shape(model)],
        "NONE_ABSENT": NONE_ABSENT,
        "NOTHING_ELSE": NOTHING_ELSE,
        "Model": model,
        "Twin": _twin(model),
        "copied": copied,
        "odd": Tolerance(model, nested, drift),
        "read_time": datetime.fromisoformat,
    }
    for field in shape(model):
        if is_model(field.type):
            scope[f"read_{field.name}"] = nested[field.wire]
            scope[f"type_{field.name}"] = field.type
        elif is_open_enum(field.type):
            scope[f"{field.name}_words"] = {word.value: word for word in field.type}
    exec(_compiled(model), scope)  # noqa: S102  our own text, made of our own classes
    return typing.cast("Hook", scope["read"])


def list_reader(item: Any, hook: Hook) -> Hook:
    """Make the hook that reads lists, given the hook of their items."""

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


def exact_reader(type_: type) -> Hook:
    """Make the hook that takes values of one type and converts none; a whole number is a number."""
    types = (float, int) if type_ is float else (type_,)

    def read_exactly(value: Any, _: Any) -> Any:
        if type(value) not in types:
            raise mismatch(SCALARS[type_], value)
        return value

    return read_exactly


def _nested(field: Field, hook_of: Callable[[Any], Hook]) -> Hook:
    hook = hook_of(field.type)
    if not field.many:
        return hook
    read = list_reader(field.type, hook)
    return lambda values, type_: tuple(read(values, type_))


class Tolerance:
    """Take what an ordinary document does not hold, and count it; or refuse it.

    Args:
        model: The class whose documents are read.
        nested: Hooks of the fields that hold other documents, by wire name.
        drift: Counts what differs from the specification.
    """

    def __init__(self, model: Any, nested: Mapping[str, Hook], drift: Drift) -> None:
        self._name = model.__name__
        self._nested = nested
        self._drift = drift
        self._fields = {field.wire: field for field in shape(model)}
        self._patterns: dict[frozenset[str], frozenset[str]] = {}

    def absent_keys(self, document: Mapping[str, Any]) -> frozenset[str]:
        """Return the listed keys that a document lacks.

        Raises:
            TypeError: It is no object.
        """
        if not isinstance(document, dict):
            raise TypeError("no object")
        absent = frozenset(self._fields.keys() - document.keys())
        for wire in absent:
            if self._fields[wire].promised:
                self._note(DriftKind.ABSENT, wire)
        if len(self._patterns) < _SHARED_PATTERNS:
            return self._patterns.setdefault(absent, absent)
        return self._patterns.get(absent, absent)

    def value(self, value: Any, wire: str, absent: frozenset[str], misfits: dict[str, Any]) -> Any:
        """Return what becomes of an unusual value of a field.

        Raises:
            ValueError: The value does not fit; a `DecodeError` if that is because of a value inside.
        """
        field = self._fields[wire]
        if value is None:
            return self._null(field, absent)
        try:
            return self._accepted(field, value)
        except (TypeError, ValueError):
            if field.promised or field.required:
                raise
        # The type is a guess, so another one is no error: `extra` keeps the value.
        self._note(DriftKind.MISFIT, wire)
        misfits[wire] = value
        return None

    def extra(self, document: Mapping[str, Any], misfits: Mapping[str, Any]) -> Extra:
        """Keep the unlisted keys, and the values that do not fit into their fields."""
        unlisted = {key: document[key] for key in document if key not in self._fields}
        for key in unlisted:
            self._note(DriftKind.UNKNOWN_KEY, key)
        kept = {**unlisted, **misfits}
        return Extra(copied(kept)) if kept else NOTHING_ELSE

    def wrong_value(self, document: Mapping[str, Any], twin: Any) -> DecodeError:
        """Return the error for the value at which reading has stopped."""
        if not isinstance(document, dict):
            return mismatch(f"an object ({self._name})", document)
        field = self._first_unread(twin)
        error = mismatch(_expected(field), document.get(field.wire))
        if field.wire not in document:
            error.excerpt = "nothing"
        prefix_path(error, f".{field.wire}")
        return error

    def prefix_path(self, error: DecodeError, twin: Any) -> None:
        """Put the key at which reading has stopped in front of the path of an error from inside."""
        prefix_path(error, f".{self._first_unread(twin).wire}")

    def _note(self, kind: DriftKind, wire: str, example: str = "") -> None:
        self._drift.note(kind, f"{self._name}.{wire}", example)

    def _null(self, field: Field, absent: frozenset[str]) -> Any:
        if field.required:
            raise ValueError("null in place of an identifier")
        if field.wire in absent:
            return () if field.many else None
        if not field.nullable:
            self._note(DriftKind.NULL, field.wire)
        return None

    def _accepted(self, field: Field, value: Any) -> Any:
        if field.wire in self._nested:
            return self._nested[field.wire](value, field.type)
        if type(value) is not str:
            raise ValueError("a value of another type")
        if is_open_enum(field.type):
            word = field.type(value)
            if not word.known:
                self._note(DriftKind.UNKNOWN_WORD, field.wire, value)
            return word
        if field.type is not datetime:
            raise ValueError("a text in place of another type")
        time = read_time(value)
        if time.tzinfo is not None:
            return time
        self._note(DriftKind.NAIVE_TIME, field.wire, value)
        return time.replace(tzinfo=UTC)

    def _first_unread(self, twin: Any) -> Field:
        return next(field for field in self._fields.values() if not hasattr(twin, field.name))


def _expected(field: Field) -> str:
    if field.required:
        return "an identifier"
    if field.type is datetime:
        return "a time in ISO 8601"
    if is_model(field.type):
        return f"an object ({field.type.__name__})"
    return SCALARS[str if is_open_enum(field.type) else field.type]


def _twin(model: Any) -> type:
    """Return a class with the same slots that can be filled; an instance becomes a model by its `__class__`."""
    # All three from `object`, otherwise the interpreter has no fast path for making and filling an instance.
    plain = {name: getattr(object, name) for name in ("__init__", "__setattr__", "__delattr__")}
    return type(f"Open{model.__name__}", model.__bases__, {"__slots__": model.__slots__, **plain})


@functools.cache
def _compiled(model: Any) -> CodeType:
    return compile(source(model), f"<cmsapi reads {model.__name__}>", "exec")


def source(model: Any) -> str:
    """Return the text of the function that reads documents of a class."""
    fields = shape(model)
    texts = "".join(f"model.{field.name}, {field.name}_, " for field in fields if field.type is datetime)
    guessed = not all(field.promised for field in fields)
    return "\n    ".join(
        [
            f"def read(document, _, absent=NONE_ABSENT, misfits=None, listed={len(fields)}):",
            *(["misfits = {}"] if guessed else []),
            "model = Twin()",
            "try:",
            "    try:",
            *(f"        {field.name}_ = document[{field.wire!r}]" for field in fields),
            "    except KeyError:",
            "        absent = odd.absent_keys(document)",
            "        listed -= len(absent)",
            f"        {', '.join(f'{field.name}_' for field in fields)}, = map(document.get, KEYS)",
            *(f"    model.{field.name} = {_reading(field)}" for field in fields),
            "except DecodeError as error:",
            "    odd.prefix_path(error, model)",
            "    raise",
            "except (TypeError, ValueError):",
            "    wrong = odd.wrong_value(document, model)",
            "else:",
            f"    ordinary = len(document) == listed{' and not misfits' if guessed else ''}",
            "    model.extra = NOTHING_ELSE if ordinary else odd.extra(document, misfits or {})",
            "    model.absent_keys = absent",
            f"    model.time_texts = ({texts})",
            "    model.__class__ = Model",
            "    return model",
            # Outside the handler, so that the error does not drag its cause along.
            "raise wrong",
        ]
    )


def _reading(field: Field) -> str:
    """Return the expression that reads the value in `<name>_`; what it tests first is the most frequent."""
    name, value = field.name, f"{field.name}_"
    odd = f"odd.value({value}, {field.wire!r}, absent, misfits)"
    if field.type is Any:
        return f"copied({value})"
    if field.nullable:
        odd = f"None if {value} is None else {odd}"
    if field.type in SCALARS:
        types = ("float", "int") if field.type is float else (field.type.__name__,)
        return f"{value} if {' or '.join(f'type({value}) is {type_}' for type_ in types)} else {odd}"
    if not field.promised:
        return odd
    if field.type is datetime:
        return f"time if type({value}) is str and (time := read_time({value})).tzinfo and 'T' in {value} else {odd}"
    if is_open_enum(field.type):
        return f"{name}_words.get({value}) or ({odd})"
    return f"read_{name}({value}, type_{name}) if {value} is not None else {odd}"
