"""Conversion to pandas DataFrames. For a progress bar, wrap a fan-out in ``tqdm.auto.tqdm``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeAlias, get_args, get_type_hints

import attrs

from cmsapi.errors import ArgumentError, ConfigError

if TYPE_CHECKING:
    from pandas import DataFrame as DataFrame  # type: ignore[import-untyped]  # pandas has no types of its own
else:
    DataFrame = Any  # pandas is slow to import, and need not be installed

Cell: TypeAlias = tuple[str, str | None, Any]  # column, its pandas type or None, value
_TYPES = {int: "Int64", bool: "boolean", float: "float64", datetime: "datetime64[us, UTC]"}


def to_pandas(items: Iterable[Any]) -> DataFrame:
    """Return a pandas DataFrame with one row for each model, or each outcome of a fan-out. Sends no request.

    Every field except ``response`` is a column, even if no row has a value. Columns of nested fields have names such as
    ``page.url``. Columns of values in ``extra`` have names such as ``extra.nameOnTheWire``. A list is kept whole in its
    cell. For outcomes, the columns ``item``, ``ok`` and ``error`` come first. Times are in UTC. Columns of integers and
    booleans may contain ``NA``. An empty list gives a DataFrame without columns.

    Args:
        items: A list of models, a `Page`, a `ContentIdeas` or a list of outcomes. For a `Paginator` or a fan-out,
            await its own ``to_pandas`` instead.

    Raises:
        ArgumentError: ``items`` is not an iterable of models or outcomes.
        ConfigError: pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError:
        raise ConfigError("to_pandas needs pandas: pip install 'cmsapi[notebook]'") from None
    if isinstance(items, str | Mapping) or not isinstance(items, Iterable):
        hint = "; await its to_pandas()" if hasattr(items, "to_pandas") else ""
        raise ArgumentError("items", f"must be several models or outcomes, got {type(items).__name__}{hint}")
    rows = [list(_row(item)) for item in items]
    types = {column: kind for row in rows for column, kind, _ in row}
    frame = pd.DataFrame([{column: value for column, _, value in row} for row in rows], columns=list(types))
    return frame.astype({column: kind for column, kind in types.items() if kind is not None})


def _row(item: Any) -> Iterator[Cell]:
    if hasattr(item, "ok") and hasattr(item, "item"):
        yield "item", None, getattr(item.item, "id", item.item)
        yield "ok", _TYPES[bool], item.ok
        yield "error", None, item.error and f"{type(item.error).__name__}: {item.error}"
        if item.value is not None and not attrs.has(type(item.value)):
            yield "value", None, item.value
        item = item.value
    elif not attrs.has(type(item)):
        raise ArgumentError("items", f"must be models or outcomes, got {type(item).__name__}")
    if attrs.has(type(item)):
        yield from _cells(type(item), item)


def _cells(cls: type, item: Any, prefix: str = "") -> Iterator[Cell]:
    """Yield a cell for each field of ``cls``, with the value from ``item``. If ``item`` is None, cells are empty."""
    for name, kind in _fields(cls).items():
        value = getattr(item, name, None)
        if name == "extra":
            yield from ((f"{prefix}extra.{key}", None, each) for key, each in (value or {}).items())
        elif attrs.has(kind):
            yield from _cells(kind, value, f"{prefix}{name}.")
        else:
            yield prefix + name, _TYPES.get(kind), value


@cache
def _fields(cls: type) -> dict[str, Any]:
    """Return the public fields of a class and their types. ``X | None`` becomes ``X``, and ``extra`` comes last."""
    hints = get_type_hints(cls).items()
    kinds = {name: get_args(hint)[0] if NoneType in get_args(hint) else hint for name, hint in hints}
    names = [each.name for each in attrs.fields(cls) if each.name not in ("extra", "response") and each.name[0] != "_"]
    return {name: kinds[name] for name in names} | {"extra": None}
