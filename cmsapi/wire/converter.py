"""JSON to models and back; the only module that uses cattrs.

cattrs coerces by default (None becomes ``'None'``, 3.7 becomes 3). Here each primitive is taken only as its own JSON
type, keys without a field go into ``extra``, and what cannot be read is a `DecodeError` with the path of the value.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

import attrs
from cattrs import AttributeValidationNote, ClassValidationError, Converter, IterableValidationNote
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from cmsapi.errors import ArgumentError, DecodeError
from cmsapi.models import BrandVoice, ContentIdea, CreditType, Keyword, Member, Prompt, Report, WebPage
from cmsapi.models.base import Model
from cmsapi.wire.arguments import timestamp

_DECODER = json.JSONDecoder(parse_constant=int)  # which refuses NaN and Infinity
_GUESSED = frozenset({BrandVoice, ContentIdea, Keyword, Member, Prompt, Report, WebPage})
"""Models of which the specification shows no fields. An optional value that does not fit goes into ``extra``."""

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
    return _converter().unstructure(model)


def register(converter: Converter) -> None:
    """Have a cattrs converter of your own read and write cmsapi's models; all else stays as it is."""
    converter.register_structure_hook_func(
        lambda cls: _is_model(cls) or cls is CreditType, lambda value, cls: _converter().structure(value, cls)
    )
    converter.register_unstructure_hook_func(_is_model, to_dict)


def parse(body: bytes, operation: str | None = None) -> Any:
    """Parse a body as strict JSON; raise `DecodeError` for what is none, or only for Python."""
    try:
        return _DECODER.decode(body.decode())
    except RecursionError:
        problem = "the answer is nested too deeply"
    except ValueError as error:  # no JSON, no UTF-8, a number of thousands of digits
        problem = f"the answer is not JSON: {error}" if body.strip() else "the answer is empty"
    raise DecodeError(problem, operation=operation)


def structure(data: Any, shape: type[T], operation: str | None = None) -> T:
    """Return parsed JSON as a model; raise `DecodeError` with the path of the first value that does not fit."""
    try:
        return _converter().structure(data, shape)
    except Exception as error:  # any error of reading is a DecodeError
        path, problem = _locate(error)
    raise DecodeError(f"{path}: {problem}", path=path, operation=operation)


def dump(body: Any) -> bytes:
    """Return a body as JSON text; refuse values that JSON cannot carry."""
    try:
        return json.dumps(to_dict(body), allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError, AttributeError, OverflowError) as error:
        raise ArgumentError("json", f"cannot be written as JSON: {error}") from None


def camel(name: str) -> str:
    """Return the wire's name of a field: ``parent_folder_id`` is ``parentFolderId``."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


@cache
def _converter() -> Converter:
    converter = Converter()
    for kind, name in ((str, "text"), (bool, "true or false"), (int, "a whole number")):
        converter.register_structure_hook(kind, _exactly(kind, name))
    converter.register_structure_hook(float, _number)
    # Tools that freeze the clock replace datetime by a subclass, so types of time are matched by family.
    converter.register_structure_hook_func(lambda cls: _is_subclass(cls, date), _time)
    converter.register_unstructure_hook_func(lambda cls: _is_subclass(cls, date), timestamp)
    converter.register_structure_hook(CreditType, lambda value, cls: cls(_text(value, cls)))
    converter.register_structure_hook_factory(_is_tuple, lambda cls: _list_hook(converter, cls))
    converter.register_structure_hook_factory(_is_optional, lambda cls: _optional_hook(converter, cls))
    converter.register_structure_hook_factory(_is_model, lambda cls: _model_hook(converter, cls))
    converter.register_unstructure_hook_factory(_is_model, lambda cls: _model_unhook(converter, cls))
    return converter


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
    if value.__class__ in (int, float) and math.isfinite(value):
        return float(value)
    raise TypeError(f"expected a number, got {_describe(value)}")


def _time(value: Any, cls: Any) -> datetime:
    parsed = datetime.fromisoformat(_text(value, cls))
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed


def _is_subclass(cls: Any, kind: type) -> bool:
    return isinstance(cls, type) and issubclass(cls, kind)


def _is_tuple(cls: Any) -> bool:
    return get_origin(cls) is tuple


def _is_model(cls: Any) -> bool:
    return _is_subclass(get_origin(cls) or cls, Model)


def _is_optional(cls: Any) -> bool:
    return get_origin(cls) in (Union, UnionType) and len(get_args(cls)) == 2 and NoneType in get_args(cls)


def _list_hook(converter: Converter, cls: Any) -> Callable[[Any, Any], Any]:
    items: Any = list.__class_getitem__(get_args(cls)[0])
    hook = converter.get_structure_hook(items)

    def structure_list(value: Any, _: Any) -> Any:
        if value.__class__ is list:
            return tuple(hook(value, items))
        raise TypeError(f"expected a list, got {_describe(value)}")

    return structure_list


def _optional_hook(converter: Converter, cls: Any) -> Callable[[Any, Any], Any]:
    (some,) = (argument for argument in get_args(cls) if argument is not NoneType)
    hook = converter.get_structure_hook(some)
    exact = some in (str, bool, int)  # most values: no further call

    def structure_optional(value: Any, _: Any) -> Any:
        return value if value is None or (exact and value.__class__ is some) else hook(value, some)

    return structure_optional


def _renamed(cls: Any) -> dict[str, Any]:
    own = attrs.fields_dict(get_origin(cls) or cls).keys() - attrs.fields_dict(Model).keys()
    return {name: override(rename=camel(name)) for name in own}


def _model_hook(converter: Converter, cls: Any) -> Callable[[Any, Any], Any]:
    hook = make_dict_structure_fn(cls, converter, extra=override(omit=True), **_renamed(cls))
    known = frozenset(camel(name) for name in _renamed(cls))
    optional = (field.name for field in attrs.fields(cls) if field.default is None) if cls in _GUESSED else ()
    guessed = {camel(name) for name in optional if name not in ("analysis_status", "last_analyzed_at")}

    def structure_model(value: Any, _: Any) -> Any:
        if value.__class__ is not dict:
            raise TypeError(f"expected an object, got {_describe(value)}")
        fitting = known
        try:
            model = hook(value, cls)
        except ClassValidationError as error:
            misfits = {camel(note.name) for each in error.exceptions for note in getattr(each, "__notes__", ())}
            if not misfits <= guessed:
                raise
            fitting = known - misfits
            model = hook({name: value[name] for name in value if name in fitting}, cls)
        if not fitting.issuperset(value):
            model.__dict__["extra"] = {name: value[name] for name in value if name not in fitting}
        return model

    return structure_model


def _model_unhook(converter: Converter, cls: Any) -> Callable[[Any], dict[str, Any]]:
    left_out = override(omit=True)
    hook = make_dict_unstructure_fn(cls, converter, extra=left_out, response=left_out, **_renamed(cls))
    return lambda model: {**hook(model), **model.extra}


def _locate(error: BaseException, path: str = "$") -> tuple[str, str]:
    """Return the JSON path of the first value that does not fit, and what is wrong with it."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
        for note in getattr(error, "__notes__", ()):
            if isinstance(note, AttributeValidationNote):
                path += f".{camel(note.name)}"
            elif isinstance(note, IterableValidationNote):
                path += f"[{note.index}]"
    return path, "is missing" if isinstance(error, KeyError) else str(error) or type(error).__name__
