"""Hypothesis strategies: models with any of their fields filled."""

from __future__ import annotations

from datetime import UTC, datetime
from types import NoneType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from attrs import fields
from hypothesis import strategies as st

import cmsapi.models
from cmsapi.models import CreditType, Folder, Model

M = TypeVar("M", bound=Model)

MODELS = sorted(
    (each for each in vars(cmsapi.models).values() if isinstance(each, type) and issubclass(each, Model)),
    key=lambda each: each.__name__,
)

_TEXT = st.text(max_size=8)
_SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    str: _TEXT,
    int: st.integers(),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    datetime: st.datetimes(timezones=st.just(UTC)),
    CreditType: st.sampled_from(CreditType) | _TEXT.map(CreditType),
    Any: st.none() | _TEXT | st.lists(_TEXT, max_size=2),
}
_EXTRA = st.dictionaries(_TEXT.map("x-{}".format), _SCALARS[Any], max_size=2)


def models(cls: type[M]) -> st.SearchStrategy[M]:
    """Return a strategy for models of a class, which include unknown keys."""
    hints = get_type_hints(cls)
    own = (field.name for field in fields(cls) if field.name not in ("extra", "response"))
    return st.builds(cls, extra=_EXTRA, **{name: _values(hints[name]) for name in own})


def _values(hint: Any) -> st.SearchStrategy[Any]:
    if hint in _SCALARS:
        return _SCALARS[hint]
    if get_origin(hint) is tuple:
        return st.lists(_values(get_args(hint)[0]), max_size=2).map(tuple)
    if NoneType in get_args(hint):
        return st.none() | _values(get_args(hint)[0])
    return models(hint)


_IDS = st.sampled_from("abcdefgh")
folder_lists = st.lists(
    st.builds(Folder, id=_IDS, parent_folder_id=st.none() | _IDS), max_size=8, unique_by=lambda folder: folder.id
)
"""Lists of folders in any order, with parents that are missing, above themselves or in circles."""
