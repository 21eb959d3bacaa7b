"""The lists of the service."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from cmsapi.api.page import Page
from cmsapi.api.pagination import Paginator as AsyncPaginator
from cmsapi.blocking.mirror import Mirror
from cmsapi.display.frames import DataFrame

T = TypeVar("T")
P = TypeVar("P", bound=Page[Any])


class Paginator(Mirror, Generic[T, P], of=AsyncPaginator):
    """Read a list page by page; every list of the service is one of these.

    `for` gives the items, `first_page()` the first page, `pages()` the pages. Each of them starts anew. A list that the
    service does not page has one page, which is all of it.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "<blocking Paginator: `first_page()` reads a page, `for` all items>"

    @property
    def total_changed(self) -> bool:
        """Whether the list changed its length while it was last read: items may be doubled or missing."""
        return bool(self._read("total_changed"))

    def __iter__(self) -> Iterator[T]:
        return self.items()

    if not TYPE_CHECKING:  # type checkers shall refuse it, too

        def __getitem__(self, _: object) -> NoReturn:
            """Refuse: each page is a request, and an item by its number would hide how many are sent."""
            raise TypeError(
                "A list of the service is read page by page: `.first_page()[0]` is its first item, `list(…)` are all "
                "items, and `for item in …` goes through them."
            )

        def __len__(self) -> int:
            """Refuse: the length takes a request."""
            raise TypeError(
                "A list of the service has no length before it is read: `.first_page().total` is what the service "
                "tells, for one request, and `len(list(…))` counts all items."
            )

        def __bool__(self) -> bool:
            return True

    def first_page(self) -> P:
        """Read the first page; one request."""
        page: P = self.thread.call(_page_of, self.asynchronous)
        return page

    def items(self, *, prefetch: int = 0) -> Iterator[T]:
        """Read item after item; one request a page.

        Args:
            prefetch: As for `pages`.

        Raises:
            ArgumentError: `prefetch` is neither 0 nor 1.
            DecodeError: The service gives the same page again, or goes on far beyond the list's `total`.
        """
        for page in self.pages(prefetch=prefetch):
            yield from page

    def pages(self, *, prefetch: int = 0) -> Iterator[P]:
        """Read page after page; one request each.

        Args:
            prefetch: 1 asks for the next page while this one is worked on; at most two are held. An error of that
                request is raised when its page is due.

        Raises:
            ArgumentError: `prefetch` is neither 0 nor 1.
            DecodeError: The service gives the same page again, or goes on far beyond the list's `total`.
        """
        return self._iterate("pages", prefetch=prefetch)

    def to_pandas(self) -> DataFrame:
        """Read the whole list into a `pandas.DataFrame`, one row an item; one request a page.

        Needs the extra `notebook`.
        """
        frame: DataFrame = self._call("to_pandas")
        return frame


async def _page_of(paginator: AsyncPaginator[T, P]) -> P:
    return await paginator
