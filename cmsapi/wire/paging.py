"""Paginated lists (specification 1, conventions 3 to 5).

The service sends a list in pages, with ``pagination``, or as a whole. A whole list is ``{data}`` or a bare JSON array.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator, Mapping
from typing import Any, Generic, TypeVar

from attrs import frozen

from cmsapi.models.base import Model
from cmsapi.notebook import DataFrame, to_pandas
from cmsapi.wire.arguments import MAX_LIMIT, check_number

T = TypeVar("T")


@frozen(kw_only=True, slots=False)
class Pagination(Model):
    """Position of a page in its list (specification 1, convention 3)."""

    total: int | None = None
    page: int | None = None
    limit: int | None = None
    has_more: bool | None = None


@frozen(kw_only=True, slots=False)
class Page(Model, Generic[T]):
    """One page of a list, with its items in ``data``; ``pagination`` is None if the service sends the whole list."""

    data: tuple[T, ...]
    pagination: Pagination | None = None

    @property
    def has_more(self) -> bool:
        """True if the service says that another page follows."""
        return self.pagination is not None and bool(self.pagination.has_more)

    @property
    def total(self) -> int | None:
        """Number of items in the whole list; None if the list comes in pages and the service sends no total."""
        return self.pagination.total if self.pagination is not None else len(self.data)

    def __iter__(self) -> Iterator[T]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> T:
        return self.data[index]


class _Pages(AsyncIterator[Page[T]]):
    """Iterator over the pages of a list. If an ``anext`` is cancelled or fails, the next one reads the same page."""

    def __init__(self, fetch: Callable[[int], Awaitable[Page[T]]], page: int) -> None:
        self._fetch = fetch
        self._next: int | None = page

    async def __anext__(self) -> Page[T]:
        if self._next is None:
            raise StopAsyncIteration
        number, page = self._next, await self._fetch(self._next)
        # An empty page ends a list even if it announces more; otherwise a faulty service could make it endless.
        self._next = number + 1 if page.has_more and page.data else None
        return page


class _Items(AsyncIterator[T]):
    def __init__(self, pages: AsyncIterator[Page[T]]) -> None:
        self._pages = pages
        self._items: Iterator[T] = iter(())

    async def __anext__(self) -> T:
        while True:
            for item in self._items:
                return item
            self._items = iter(await self._pages.__anext__())


class Paginator(Generic[T]):
    """A list from the service: ``async for`` yields items, ``await`` returns the first page; one request per page."""

    def __init__(self, ask: Callable[[Mapping[str, int]], Awaitable[Page[T]]], page: int, limit: int) -> None:
        check_number("page", page, 1)
        check_number("limit", limit, 1, MAX_LIMIT)
        self._ask = ask
        self._page = page
        self._limit = limit

    def __aiter__(self) -> AsyncIterator[T]:
        return _Items(self.pages())

    def __await__(self) -> Generator[Any, None, Page[T]]:
        return self.pages().__anext__().__await__()

    def pages(self) -> AsyncIterator[Page[T]]:
        """Return an asynchronous iterator over the pages; each page costs one request."""
        return _Pages(lambda number: self._ask({"page": number, "limit": self._limit}), self._page)

    async def to_pandas(self) -> DataFrame:
        """Read all items, and return them as a pandas DataFrame, like `cmsapi.to_pandas`; one request per page."""
        return to_pandas([item async for item in self])
