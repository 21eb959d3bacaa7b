"""JSON to models and back; the only module that uses cattrs.

cattrs coerces by default (None becomes ``'None'``, 3.7 becomes 3). Here each primitive is taken only as its own JSON
type, keys without a field go into ``extra``, and whatever cannot be read is a `DecodeError` with the JSON path of the
value. Models are read with the quick hooks of cattrs first; the hooks that keep track of the path run only after a
failure.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

import attrs
from cattrs import AttributeValidationNote, Converter, IterableValidationNote
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from cmsapi.errors import ArgumentError, DecodeError
from cmsapi.models.base import Model, OpenEnum
from cmsapi.wire.arguments import timestamp

T = TypeVar("T")
M = TypeVar("M", bound=Model)


def from_dict(cls: type[M], data: Mapping[str, Any]) -> M:
    """Read a model from a JSON object as the service writes it.

    Raises:
        DecodeError: A value does not fit the model.
    """
    return structure(dict(data), cls)


def to_dict(model: Any) -> Any:
    """Return a model as a JSON object with the names of the wire, ``extra`` included; lists of models likewise."""
    return _converter(False).unstructure(model)


def register(converter: Converter) -> None:
    """Add the hooks for cmsapi's models to a cattrs converter of your own."""
    detailed = converter.detailed_validation
    converter.register_structure_hook(str, _exactly(str, "text"))
    converter.register_structure_hook(bool, _exactly(bool, "true or false"))
    converter.register_structure_hook(int, _exactly(int, "a whole number"))
    converter.register_structure_hook(float, _number)
    converter.register_structure_hook_func(_is_time, _time)
    converter.register_unstructure_hook_func(_is_time, timestamp)
    converter.register_structure_hook_func(_is_open_enum, lambda value, cls: cls(_text(value, cls)))
    converter.register_structure_hook_factory(_is_list, lambda cls: _list_hook(converter, cls))
    converter.register_structure_hook_factory(_is_optional, lambda cls: _optional_hook(converter, cls))
    converter.register_structure_hook_factory(_is_model, lambda cls: _model_hook(converter, cls, detailed))
    converter.register_unstructure_hook_factory(_is_model, lambda cls: _model_unhook(converter, cls))


def parse(body: bytes, operation: str | None = None) -> Any:
    """Parse a body as strict JSON.

    Raises:
        DecodeError: The body is no JSON, or JSON that Python would take and others would not.
    """
    try:
        return json.loads(body, parse_constant=_refuse_constant)
    except RecursionError:
        problem = "the answer is nested too deeply"
    except UnicodeDecodeError:
        problem = "the answer is not UTF-8"
    except ValueError as error:
        problem = f"the answer is not JSON ({error})" if body.strip() else "the answer is empty"
    raise DecodeError(problem, operation=operation)


def structure(data: Any, shape: type[T], operation: str | None = None) -> T:
    """Return parsed JSON as a model.

    Raises:
        DecodeError: A value does not fit; ``path`` names the first one.
    """
    with contextlib.suppress(Exception):  # whatever it is, the detailed hooks meet it again, and know where
        return _converter(False).structure(data, shape)
    try:
        return _converter(True).structure(data, shape)
    except Exception as error:  # any error of reading is a DecodeError
        path, cause = _locate(error)
    raise DecodeError(f"{path}: {cause}", path=path, operation=operation)


def dump(body: Any) -> bytes:
    """Return a body as JSON text.

    Raises:
        ArgumentError: The body has a value that JSON cannot carry.
    """
    try:
        return json.dumps(to_dict(body), allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ArgumentError("json", f"cannot be written as JSON: {error}") from None


@cache
def _converter(detailed: bool) -> Converter:
    converter = Converter(detailed_validation=detailed)
    register(converter)
    return converter


def camel(name: str) -> str:
    """Return the wire's name of a field: ``parent_folder_id`` is ``parentFolderId``."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _describe(value: object) -> str:
    names = {NoneType: "null", dict: "an object", list: "a list", str: "text", bool: "true or false"}
    return names.get(type(value), repr(value)[:40])


def _exactly(kind: type[T], name: str) -> Callable[[Any, Any], T]:
    def structure_exactly(value: Any, _: Any) -> T:
        if value.__class__ is kind:
            return value
        raise TypeError(f"expected {name}, got {_describe(value)}")

    return structure_exactly


_text = _exactly(str, "text")


def _number(value: Any, _: Any) -> float:
    if value.__class__ is float and math.isfinite(value):
        return value
    if value.__class__ is int:
        return float(value)  # an OverflowError is an error of reading, too
    raise TypeError(f"expected a number, got {_describe(value)}")


# Tools that freeze the clock replace datetime by a subclass, so that types are compared by family.
def _is_time(cls: Any) -> bool:
    return isinstance(cls, type) and issubclass(cls, date)


def _time(value: Any, cls: Any) -> datetime:
    parsed = datetime.fromisoformat(_text(value, cls))
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed


def _is_open_enum(cls: Any) -> bool:
    return isinstance(cls, type) and issubclass(cls, OpenEnum)


def _is_model(cls: Any) -> bool:
    origin = get_origin(cls) or cls
    return isinstance(origin, type) and issubclass(origin, Model)


def _is_list(cls: Any) -> bool:
    return get_origin(cls) is tuple


def _list_hook(converter: Converter, cls: Any) -> Callable[[Any, Any], Any]:
    items: Any = list.__class_getitem__(get_args(cls)[0])
    hook = converter.get_structure_hook(items)

    def structure_list(value: Any, _: Any) -> Any:
        if value.__class__ is not list:
            raise TypeError(f"expected a list, got {_describe(value)}")
        return tuple(hook(value, items))

    return structure_list


def _is_optional(cls: Any) -> bool:
    arguments = get_args(cls)
    return get_origin(cls) in (Union, UnionType) and len(arguments) == 2 and NoneType in arguments


def _optional_hook(converter: Converter, cls: Any) -> Callable[[Any, Any], Any]:
    (some,) = (argument for argument in get_args(cls) if argument is not NoneType)
    hook = converter.get_structure_hook(some)
    if some in (str, bool, int):  # most values: decided without another call

        def structure_primitive(value: Any, _: Any) -> Any:
            return value if value is None or value.__class__ is some else hook(value, some)

        return structure_primitive
    return lambda value, _: None if value is None else hook(value, some)


def _own_fields(cls: Any) -> list[str]:
    fields = attrs.fields_dict(get_origin(cls) or cls)
    return [name for name in fields if name not in attrs.fields_dict(Model)]


def _model_hook(converter: Converter, cls: Any, detailed: bool) -> Callable[[Any, Any], Any]:
    names: Any = {name: override(rename=camel(name)) for name in _own_fields(cls)}
    hook = make_dict_structure_fn(
        cls, converter, _cattrs_detailed_validation=detailed, extra=override(omit=True), **names
    )
    known = frozenset(camel(name) for name in names)

    def structure_model(value: Any, _: Any) -> Any:
        if value.__class__ is not dict:
            raise TypeError(f"expected an object, got {_describe(value)}")
        model = hook(value, cls)
        if not known.issuperset(value):
            model.__dict__["extra"] = {name: value[name] for name in value if name not in known}
        return model

    return structure_model


def _model_unhook(converter: Converter, cls: Any) -> Callable[[Any], dict[str, Any]]:
    names: Any = {name: override(rename=camel(name)) for name in _own_fields(cls)}
    hook = make_dict_unstructure_fn(cls, converter, extra=override(omit=True), response=override(omit=True), **names)

    def unstructure_model(model: Any) -> dict[str, Any]:
        return {**hook(model), **model.extra}

    return unstructure_model


def _locate(error: BaseException, path: str = "$") -> tuple[str, str]:
    """Return the JSON path of the first value that does not fit, and what is wrong with it."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
        for note in getattr(error, "__notes__", ()):
            if isinstance(note, AttributeValidationNote):
                path += f".{camel(note.name)}"
            elif isinstance(note, IterableValidationNote):
                path += f"[{note.index}]"
    if isinstance(error, KeyError):
        return f"{path}.{camel(str(error.args[0]))}" if not path.endswith(str(error.args[0])) else path, "is missing"
    return path, str(error) or type(error).__name__
