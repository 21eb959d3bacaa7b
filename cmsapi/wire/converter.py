"""Conversion of JSON to models and back; the only module that uses cattrs.

By default, cattrs coerces values (None becomes ``'None'``, 3.7 becomes 3). Here, a value of the wrong JSON type raises
`DecodeError`, or goes into ``extra`` in some models (see `_GUESSED`). Unknown keys go into ``extra``, too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from functools import cache, partial
from types import NoneType, UnionType
from typing import Any, TypeAlias, TypeVar, Union, get_args, get_origin

import attrs
from cattrs import AttributeValidationNote, ClassValidationError, Converter, IterableValidationNote
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from cmsapi.errors import ArgumentError, DecodeError
from cmsapi.models import BrandVoice, ContentIdea, CreditType, Keyword, Member, Prompt, Report, WebPage
from cmsapi.models.base import Model
from cmsapi.wire.arguments import timestamp

_DECODER = json.JSONDecoder(parse_constant=int)  # int("NaN") raises: neither NaN nor Infinity is JSON
_GUESSED = frozenset({BrandVoice, ContentIdea, Keyword, Member, Prompt, Report, WebPage})
"""Models whose fields the specification does not show. Most optional values that do not fit go into ``extra``."""

T = TypeVar("T")
M = TypeVar("M", bound=Model)
Hook: TypeAlias = Callable[[Any, Any], Any]


def from_dict(cls: type[M], data: Mapping[str, Any]) -> M:
    """Return an instance of ``cls`` from a JSON object whose keys are the service's field names.

    Raises:
        DecodeError: A value does not fit the model.
    """
    return structure(dict(data), cls)


def to_dict(model: Any) -> Any:
    """Return a model or a list of models as JSON values, with the service's field names and the items of ``extra``."""
    return _converter().unstructure(model)


def register(converter: Converter) -> None:
    """Register cmsapi's models with your own cattrs converter. Other types are not affected."""
    converter.register_structure_hook_func(
        lambda cls: cls is CreditType or _is_model(cls), lambda value, cls: _converter().structure(value, cls)
    )
    converter.register_unstructure_hook_func(_is_model, to_dict)


def parse(body: bytes, operation: str | None = None) -> Any:
    """Parse a body as JSON. Raise `DecodeError` if the body is not strict JSON, for example if it contains ``NaN``."""
    try:
        # `decode` would look for spaces with regular expressions, which takes a quarter of its time.
        value, end = _DECODER.raw_decode(text := body.decode().strip(" \t\r\n"))
        if end == len(text):
            return value
        problem = "the response is not JSON: more text follows"
    except RecursionError:
        problem = "the response is nested too deeply"
    except ValueError as error:  # not JSON, not UTF-8, or a number with thousands of digits
        problem = f"the response is not JSON: {error}" if body.strip() else "the response is empty"
    raise DecodeError(problem, operation=operation)


def structure(data: Any, shape: type[T], operation: str | None = None) -> T:
    """Return parsed JSON as a ``shape``; raise `DecodeError` with the path of the first value that does not fit."""
    try:
        return _converter().structure(data, shape)
    except Exception as error:  # any error while reading becomes a DecodeError
        path, problem = _locate(error)
    raise DecodeError(f"{path}: {problem}", path=path, operation=operation)


def dump(body: Any) -> bytes:
    """Return a body as JSON text; raise `ArgumentError` if it contains a value that JSON cannot represent."""
    try:
        return json.dumps(to_dict(body), allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError, AttributeError, OverflowError) as error:
        raise ArgumentError("json", f"cannot be written as JSON: {error}") from None


def camel(name: str) -> str:
    """Return the name of a field on the wire: ``parent_folder_id`` becomes ``parentFolderId``."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


@cache
def _converter() -> Converter:
    converter = Converter()
    converter.register_structure_hook(str, partial(_expect, "text"))
    converter.register_structure_hook(bool, partial(_expect, "true or false"))
    converter.register_structure_hook(int, partial(_expect, "a whole number"))
    converter.register_structure_hook(float, _number)
    converter.register_structure_hook(CreditType, lambda value, cls: cls(_expect("text", value, str)))
    # Tools that freeze the clock replace datetime with a subclass, so subclasses are matched too.
    converter.register_structure_hook_func(lambda cls: _is_subclass(cls, date), _time)
    converter.register_unstructure_hook_func(lambda cls: _is_subclass(cls, date), timestamp)
    converter.register_structure_hook_factory(_is_tuple, _list_hook)
    converter.register_structure_hook_factory(_is_optional, _optional_hook)
    converter.register_structure_hook_factory(_is_model, _model_hook)
    converter.register_unstructure_hook_factory(_is_model, _model_unhook)
    return converter


def _expect(name: str, value: Any, *types: type) -> Any:
    """Return ``value`` if its class is exactly one of ``types``; otherwise, raise `TypeError`."""
    if value.__class__ in types:
        return value
    names = {NoneType: "null", dict: "an object", list: "a list", str: "text", bool: "true or false"}
    raise TypeError(f"expected {name}, got {names.get(type(value), repr(value)[:40])}")


def _number(value: Any, _: Any) -> float:
    number = float(_expect("a number", value, int, float))
    if math.isfinite(number):
        return number
    raise ValueError(f"expected a number, got {number}")


def _time(value: Any, _: Any) -> datetime:
    parsed = datetime.fromisoformat(_expect("text", value, str))
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed


def _is_subclass(cls: Any, kind: type) -> bool:
    return isinstance(cls, type) and issubclass(cls, kind)


def _is_tuple(cls: Any) -> bool:
    return get_origin(cls) is tuple


def _is_model(cls: Any) -> bool:
    return _is_subclass(get_origin(cls) or cls, Model)


def _is_optional(cls: Any) -> bool:
    return get_origin(cls) in (Union, UnionType) and len(get_args(cls)) == 2 and NoneType in get_args(cls)


def _list_hook(cls: Any, converter: Converter) -> Hook:
    items: Any = list.__class_getitem__(get_args(cls)[0])
    hook = converter.get_structure_hook(items)
    return lambda value, _: tuple(hook(_expect("a list", value, list), items))


def _optional_hook(cls: Any, converter: Converter) -> Hook:
    (some,) = set(get_args(cls)) - {NoneType}
    hook = converter.get_structure_hook(some)
    exact = some in (str, bool, int)  # a fast path for most values: cattrs would look at the type again

    def structure_optional(value: Any, _: Any) -> Any:
        return value if value is None or (exact and value.__class__ is some) else hook(value, some)

    return structure_optional


def _renamed(cls: Any) -> dict[str, Any]:
    own = attrs.fields_dict(get_origin(cls) or cls).keys() - attrs.fields_dict(Model).keys()
    return {name: override(rename=camel(name)) for name in own}


def _model_hook(cls: Any, converter: Converter) -> Hook:
    hook = make_dict_structure_fn(cls, converter, extra=override(omit=True), **_renamed(cls))
    known = frozenset(camel(name) for name in _renamed(cls))
    optional = {camel(field.name) for field in attrs.fields(cls) if field.default is None} if cls in _GUESSED else set()
    may_misfit = optional - {"analysisStatus", "lastAnalyzedAt"}  # these two show whether a job has ended

    def structure_model(value: Any, _: Any) -> Any:
        fitting = known
        try:
            model = hook(_expect("an object", value, dict), cls)
        except ClassValidationError as error:
            misfits = {camel(note.name) for each in error.exceptions for note in getattr(each, "__notes__", ())}
            if not misfits <= may_misfit:
                raise
            fitting = known - misfits
            model = hook({name: value[name] for name in value if name in fitting}, cls)
        if not fitting.issuperset(value):
            model.__dict__["extra"] = {name: value[name] for name in value if name not in fitting}
        return model

    return structure_model


def _model_unhook(cls: Any, converter: Converter) -> Callable[[Any], dict[str, Any]]:
    left_out = override(omit=True)
    hook = make_dict_unstructure_fn(cls, converter, extra=left_out, response=left_out, **_renamed(cls))
    return lambda model: {**hook(model), **model.extra}


def _locate(error: BaseException, path: str = "$") -> tuple[str, str]:
    """Return the JSON path of the first value for which ``error`` was raised, and what is wrong with that value."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
        for note in getattr(error, "__notes__", ()):
            if isinstance(note, AttributeValidationNote):
                path += f".{camel(note.name)}"
            elif isinstance(note, IterableValidationNote):
                path += f"[{note.index}]"
    return path, "is missing" if isinstance(error, KeyError) else str(error) or type(error).__name__
