"""Documents to models: one generated function per class.

cattrs dispatches: a hook factory makes, on first use of a class, a function that reads documents of that class and
nothing else. It looks up every key, checks types exactly (cattrs' own hooks would turn a null into `"None"` and 3.7
into 3), renames, reads words and times, and keeps unknown keys. It fills the slots of an open twin of the class and
then closes it, because a frozen `__init__` costs more than everything else together.

It only stops at a wrong value. `cmsapi.api.wire.mismatch` then walks the document again to say where and what.
"""

from __future__ import annotations

import typing
from collections.abc import Callable
from datetime import UTC, datetime
from types import CodeType
from typing import Any, TypeVar

import cattrs

from cmsapi.api.model import NONE_ABSENT, NOTHING_ELSE, Extra, Model
from cmsapi.api.open_enum import OpenEnum
from cmsapi.api.wire.document import encode, to_dict
from cmsapi.api.wire.drift import Drift, DriftKind
from cmsapi.api.wire.envelope import Pagination
from cmsapi.api.wire.mismatch import mismatch, read_time
from cmsapi.api.wire.shape import SCALARS, Field, is_model, is_open_enum, per_class, shape

__all__ = ["Converter", "encode", "to_dict"]

T = TypeVar("T")
Hook = Callable[..., Any]

# Patterns of absent keys that are remembered once per class instead of once per model.
_SHARED_PATTERNS = 64


class _MismatchError(Exception):
    """Stop reading: some value does not fit."""


class Converter:
    """Read documents into models, and count where they differ from what the specification shows."""

    def __init__(self) -> None:
        self.drift: Drift = Drift()
        self._cattrs = cattrs.Converter()
        for scalar in SCALARS:
            self._cattrs.register_structure_hook(scalar, _exactly(scalar))
        self._cattrs.register_structure_hook_factory(_is_list, self._list)
        self._cattrs.register_structure_hook_factory(is_model, self._model)
        self._hooks: dict[Any, Hook] = {}

    def decode(self, type_: type[T], document: object, *, path: str = "$") -> T:
        """Read a parsed JSON document.

        Args:
            type_: A class of models, or a list of one.
            document: The parsed document, which the model keeps parts of: do not change it afterwards.
            path: Where the document is inside the body, for the message of an error.

        Returns:
            The model.

        Raises:
            DecodeError: The document does not fit.
        """
        hook = self._hooks.get(type_)
        if hook is None:
            hook = self._hooks[type_] = self._cattrs.get_structure_hook(type_)
        try:
            model: T = hook(document, type_)
        except (_MismatchError, TypeError, ValueError):
            # Outside the handler, so that the error does not drag the signal and its frames along.
            pass
        else:
            return model
        raise mismatch(type_, document, path)

    def decode_page(self, model: type[T], document: object) -> tuple[list[T], Pagination | None]:
        """Read a list of resources: `{data, pagination}`, `{data}` or a bare list (specification, section 1).

        Returns:
            The items, and the place of the page in its list where the service tells it.

        Raises:
            DecodeError: The document does not fit.
        """
        items = list[model]  # type: ignore[valid-type]  # a type that is made at run time
        if type(document) is not dict:
            return self.decode(items, document), None
        for name in document.keys() - {"data", "pagination"}:
            self.drift.note(DriftKind.UNKNOWN_KEY, f"Page.{name}")
        place = document.get("pagination")
        pagination = None if place is None else self.decode(Pagination, place, path="$.pagination")
        return self.decode(items, document.get("data"), path="$.data"), pagination

    def _list(self, type_: Any) -> Hook:
        (item,) = typing.get_args(type_)
        hook = self._cattrs.get_structure_hook(item)

        def read_list(values: Any, _: Any) -> list[Any]:
            if type(values) is not list:
                raise _MismatchError
            return [hook(value, item) for value in values]

        return read_list

    def _model(self, model: type[Model]) -> Hook:
        fields = shape(model)
        odd = _Oddities(model, self.drift)
        scope: dict[str, Any] = {
            "Mismatch": _MismatchError,
            "NONE_ABSENT": NONE_ABSENT,
            "NOTHING_ELSE": NOTHING_ELSE,
            "Model": model,
            "Twin": _twin(model),
            "odd": odd,
            "misfits": odd.misfits,
            "read_time": datetime.fromisoformat,
        }
        for field in fields:
            if is_model(field.type):
                scope[f"read_{field.name}"] = self._cattrs.get_structure_hook(field.type)
            elif is_open_enum(field.type):
                scope[f"{field.name}_words"] = {word.value: word for word in field.type}
        exec(_compiled(model), scope)  # noqa: S102  our own text, made of our own classes
        return typing.cast("Hook", scope["read"])


class _Oddities:
    """Deal with what is tolerated and counted; the ordinary document never comes here."""

    def __init__(self, model: type[Model], drift: Drift) -> None:
        self._name = model.__name__
        self._drift = drift
        self._fields = {field.wire: field for field in shape(model)}
        self._patterns: dict[frozenset[str], frozenset[str]] = {}
        #: Values of the document being read that have another type than was guessed, by wire name.
        self.misfits: dict[str, Any] = {}

    def _note(self, kind: DriftKind, wire: str, example: str = "") -> None:
        self._drift.note(kind, f"{self._name}.{wire}", example)

    def missing(self, document: dict[str, Any]) -> frozenset[str]:
        """Return the absent keys."""
        absent = frozenset(self._fields.keys() - document.keys())
        for wire in absent:
            if self._fields[wire].promised:
                self._note(DriftKind.ABSENT, wire)
        if len(self._patterns) < _SHARED_PATTERNS:
            return self._patterns.setdefault(absent, absent)
        return self._patterns.get(absent, absent)

    def null(self, value: object, wire: str, absent: frozenset[str]) -> Any:
        """Take a null, which the declaration does not show; where the type is only guessed, anything."""
        if value is not None:
            if self._fields[wire].promised:
                raise _MismatchError
            self.misfits[wire] = value
            self._note(DriftKind.MISFIT, wire)
            return None
        if wire not in absent and not self._fields[wire].nullable:
            self._note(DriftKind.NULL, wire)
        return None

    def word(self, value: object, wire: str, absent: frozenset[str]) -> OpenEnum | None:
        """Take a word that nobody lists, or a null."""
        if type(value) is not str:
            return typing.cast("None", self.null(value, wire, absent))
        self._note(DriftKind.UNKNOWN_WORD, wire, value)
        return typing.cast("OpenEnum", self._fields[wire].type(value))

    def time(self, text: str, wire: str) -> datetime:
        """Take a time without offset, or a date, as UTC."""
        time = read_time(text)
        self._note(DriftKind.NAIVE_TIME, wire, text)
        return time.replace(tzinfo=UTC)

    def guessed_time(self, value: object, wire: str, absent: frozenset[str]) -> datetime | None:
        """Take what may be a time: nobody shows that it is one."""
        try:
            if type(value) is str:
                time = read_time(value)
                return time if time.tzinfo and "T" in value else self.time(value, wire)
        except ValueError:
            pass
        return typing.cast("None", self.null(value, wire, absent))

    def others(self, document: dict[str, Any]) -> Extra:
        """Keep the keys that nobody lists, and the values that have no place in their field."""
        known = self._fields
        keys = [key for key in document if key not in known]
        for key in keys:
            self._note(DriftKind.UNKNOWN_KEY, key)
        kept = {**{key: document[key] for key in keys}, **self.misfits}
        self.misfits.clear()
        return Extra(kept) if kept else NOTHING_ELSE


def _is_list(type_: Any) -> bool:
    return typing.get_origin(type_) is list


def _exactly(type_: type) -> Hook:
    types = (float, int) if type_ is float else (type_,)

    def read_exactly(value: Any, _: Any) -> Any:
        if type(value) not in types:
            raise _MismatchError
        return value

    return read_exactly


def _twin(model: type[Model]) -> type:
    """Return a class with the same slots that can be filled; an instance becomes a model by its `__class__`."""
    # All three from `object`, otherwise the interpreter has no fast path for making and filling an instance.
    plain = {name: getattr(object, name) for name in ("__init__", "__setattr__", "__delattr__")}
    return type(f"Open{model.__name__}", model.__bases__, {"__slots__": model.__slots__, **plain})  # type: ignore[attr-defined]  # attrs adds them


@per_class
def _compiled(model: type[Model]) -> CodeType:
    return compile(source(model), f"<cmsapi reads {model.__name__}>", "exec")


def source(model: type[Model]) -> str:
    """Return the text of the function that reads documents of a class."""
    fields = shape(model)
    values = ", ".join(f"{field.name}_" for field in fields)
    lookups = ", ".join(f"document[{field.wire!r}]" for field in fields)
    spelled = "".join(f"model.{field.name}, {field.name}_, " for field in fields if field.type is datetime)
    return "\n    ".join(
        [
            "def read(document, _=None, absent=NONE_ABSENT):",
            "try:",
            f"    {values}, = {lookups},",
            "except KeyError:",
            "    absent = odd.missing(document)",
            "    return read({**dict.fromkeys(absent), **document}, _, absent)",
            # What the last document of this class has left, if it could not be read to its end.
            "if misfits: misfits.clear()",
            "model = Twin()",
            *(line for field in fields for line in _reading(field)),
            f"model.extra = NOTHING_ELSE if len(document) == {len(fields)} and not misfits else odd.others(document)",
            "model._absent = absent",
            f"model._spelled = ({spelled})",
            "model.__class__ = Model",
            "return model",
        ]
    )


def _reading(field: Field) -> list[str]:
    """Return the lines that check the value in `<name>_` and put it into the model."""
    name, value, slot = field.name, f"{field.name}_", f"model.{field.name}"
    null = f"odd.null({value}, {field.wire!r}, absent)"
    if field.nullable and field.promised:
        # Nothing to note.
        null = f"None if {value} is None else {null}"
    if field.required:
        return [f"if type({value}) is not str: raise Mismatch", f"{slot} = {value}"]
    if field.many:
        items = value if field.type is Any else f"[read_{name}(item) for item in {value}]"
        empty = f"() if {field.wire!r} in absent else {null}"
        return _guarded(field, f"{slot} = tuple({items}) if type({value}) is list else {empty}")
    if field.type is Any:
        return [f"{slot} = {value}"]
    if is_model(field.type):
        absent = "None" if field.nullable and field.promised else null
        return _guarded(field, f"{slot} = read_{name}({value}) if {value} is not None else {absent}")
    if is_open_enum(field.type):
        word = value if field.promised else f"{value} if type({value}) is str else None"
        return [f"{slot} = {name}_words.get({word}) or odd.word({value}, {field.wire!r}, absent)"]
    if field.type is datetime and not field.promised:
        return [f"{slot} = odd.guessed_time({value}, {field.wire!r}, absent)"]
    if field.type is datetime:
        return [
            f"if type({value}) is str:",
            f"    {slot} = time = read_time({value})",
            f"    if time.tzinfo is None or 'T' not in {value}: {slot} = odd.time({value}, {field.wire!r})",
            f"else: {slot} = {null}",
        ]
    types = ("float", "int") if field.type is float else (field.type.__name__,)
    wrong = " and ".join(f"type({value}) is not {type_}" for type_ in types)
    return [f"{slot} = ({null}) if {wrong} else {value}"]


def _guarded(field: Field, line: str) -> list[str]:
    """Return a line that reads other documents; where their shape is only assumed, others are kept."""
    if field.promised:
        return [line]
    kept = f"odd.null({field.name}_, {field.wire!r}, absent)"
    return ["try:", f"    {line}", f"except (Mismatch, TypeError, ValueError): model.{field.name} = {kept}"]
