"""A page of a list, or all of a list that the service does not page (specification 1, conventions 3 and 5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar, overload

import attrs

from cmsapi.api.model import Pagination
from cmsapi.display import markup
from cmsapi.display.frames import DataFrame, frame
from cmsapi.guesses import Hinting

T = TypeVar("T")


def _as_tuple(items: Iterable[T]) -> tuple[T, ...]:
    return tuple(items)


@attrs.frozen(eq=False)
class Page(Hinting, Sequence[T], Generic[T]):
    """Hold one page of a list, which may be all of it; a sequence of its items.

    Args:
        items: The items, in the service's order.
        number: Number of the page, from 1.
        limit: Largest number of items a page was asked to have, or None where the list has no pages.
        total: Number of items in the whole list, or None where the service does not tell.
        has_more: Whether another page follows.
        model: Class of the items, for the columns of an empty frame; None where it is not known.
        pagination: What the service says of its place, or None where it says nothing.
    """

    items: tuple[T, ...] = attrs.field(default=(), converter=_as_tuple)
    number: int = 1
    limit: int | None = None
    total: int | None = attrs.Factory(len, takes_self=True)
    has_more: bool = False
    model: type[T] | None = attrs.field(default=None, repr=False)
    pagination: Pagination | None = attrs.field(default=None, repr=False)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        return self.items[index]

    def __len__(self) -> int:
        return len(self.items)

    def to_pandas(self) -> DataFrame:
        """Return the items as a `pandas.DataFrame`, one row each; needs the extra `notebook`."""
        return frame(self.items, self.model)

    def _repr_html_(self) -> str:
        whole = "" if self.total is None else f" of {self.total}"
        return markup.listing(f"page {self.number}: {len(self)}{whole}", self)
