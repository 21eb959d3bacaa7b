"""Turn attrs objects into a `pandas.DataFrame` with one row each and a column for each field.

The class of the objects decides on the columns and their types, and not the data: the frame of an empty list has the
columns of a full one. pandas is imported with the first frame.
"""

from __future__ import annotations

import enum
import functools
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from cmsapi.display.values import field_names, plain
from cmsapi.extras import needs

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]  # it has no types

    DataFrame: TypeAlias = pandas.DataFrame
else:
    DataFrame = Any

# Types that can say that a value is missing. Without an entry a column holds any object.
_DTYPES: Mapping[Any, str] = {
    str: "string",
    int: "Int64",
    float: "Float64",
    bool: "boolean",
    datetime: "datetime64[us, UTC]",
}


@attrs.frozen
class _Column:
    """Describe a column: its type in pandas, and how to read its cell from an object."""

    dtype: str
    read: Callable[[Any], Any]
    optional: bool = False
    """Whether it is left out where it has no value."""


def load_pandas() -> Any:
    """Import pandas.

    Raises:
        ModuleNotFoundError: It is not installed; the message names the extra.
    """
    with needs("notebook"):
        import pandas

    return pandas


def frame(items: Iterable[object], of: type[Any] | None = None) -> DataFrame:
    """Return a frame with a row for each object.

    Args:
        items: attrs objects.
        of: Their class, for the columns of an empty list.
    """
    return table({"": list(items)}, {} if of is None else {"": of})


def table(parts: Mapping[str, Sequence[object]], of: Mapping[str, type[Any]]) -> DataFrame:
    """Return a frame of several parts side by side, each with a value for each row.

    An attrs object has a column for each field, whose name begins with the name of its part. The fields of an object
    inside follow with the name of the field that holds it. Any other value takes one column with the name of its part.

    Args:
        parts: The values of each part, None where a row has none.
        of: The classes of the values of parts, for the columns of a table without rows.
    """
    pandas = load_pandas()
    cells: dict[str, Any] = {}
    for prefix, values in parts.items():
        for name, column in _columns_of(prefix, values, of.get(prefix)).items():
            read = [None if value is None else column.read(value) for value in values]
            if not column.optional or any(read):
                cells[name] = _series(pandas, read, column.dtype)
    return pandas.DataFrame(cells)


def _series(pandas: Any, cells: list[Any], dtype: str) -> Any:
    try:
        return pandas.Series(cells, dtype=dtype)
    except (TypeError, ValueError, OverflowError):
        # A model built by hand may hold anything, and an integer of JSON may be too large for 64 bits.
        return pandas.Series(cells, dtype=object)


def _columns_of(prefix: str, values: Iterable[object], of: type[Any] | None) -> dict[str, _Column]:
    found: dict[Any, None] = dict.fromkeys(type(value) for value in values if value is not None)
    classes = list(found) or ([] if of is None else [of])
    if not all(map(_has_fields, classes)):
        dtype = _DTYPES.get(classes[0], "object") if len(classes) == 1 else "object"
        return {prefix or "value": _Column(dtype, plain)}
    columns: dict[str, _Column] = {} if classes or not prefix else {prefix: _Column(_DTYPES[str], plain)}
    for each in classes:
        for name, column in _columns(each).items():
            columns.setdefault(f"{prefix}_{name}" if prefix else name, column)
    return columns


@functools.cache
def _columns(of: Any, around: tuple[Any, ...] = ()) -> dict[str, _Column]:
    """Return the columns of a class by their names; a class inside itself takes one column."""
    columns: dict[str, _Column] = {}
    for name, hint in _fields(of).items():
        type_ = _without_none(hint)
        if _has_fields(type_) and type_ not in (of, *around):
            for inner, column in _columns(type_, (of, *around)).items():
                columns[f"{name}_{inner}"] = attrs.evolve(column, read=_reader(name, column.read))
        else:
            columns[name] = _Column(_dtype(type_), _reader(name, plain), optional=name == "extra")
    return columns


def _reader(name: str, read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def read_field(thing: Any) -> Any:
        # A list may hold objects of several classes.
        value = getattr(thing, name, None)
        return None if value is None else read(value)

    return read_field


def _has_fields(of: Any) -> bool:
    hints = _fields(of) if isinstance(of, type) else {}
    return bool(hints) and not issubclass(of, enum.Enum)


@functools.cache
def _fields(of: Any) -> dict[str, Any]:
    """Return the public fields of a class with their types: of an attrs class, else what it annotates."""
    try:
        hints = typing.get_type_hints(of)
    except (NameError, TypeError):
        # A user's class may name types that exist for type checkers only.
        hints = {}
    if attrs.has(of):
        return {name: hints.get(name, Any) for name in field_names(of)}
    return {
        name: hint
        for name, hint in hints.items()
        if not name.startswith("_") and typing.get_origin(hint) is not typing.ClassVar
    }


def _without_none(hint: Any) -> Any:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        others = [each for each in typing.get_args(hint) if each is not types.NoneType]
        return others[0] if len(others) == 1 else Any
    return hint


def _dtype(type_: Any) -> str:
    words = typing.get_args(type_) if typing.get_origin(type_) is typing.Literal else ()
    if (words and all(isinstance(word, str) for word in words)) or (
        isinstance(type_, type) and issubclass(type_, enum.StrEnum)
    ):
        return _DTYPES[str]
    return _DTYPES.get(type_, "object")
