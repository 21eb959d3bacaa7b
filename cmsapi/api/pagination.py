"""The paginator, as which every list of the service is read (specification 1, conventions 3 to 5).

`hasMore` decides whether there is a next page; where it says nothing `total` does, and without both a full page may
have a successor. An empty page ends the list unless the service says that more follows; two in a row end it in any
case. A page that comes again is an error if the service says that more follows, and otherwise the end. A list that goes
on far beyond what is announced is an error. Lists move while they are read: when `total` changes on the way, items may
come twice or not at all, and the paginator says so. A list that the service does not page is one page.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

import attrs

from cmsapi.api.arguments import within
from cmsapi.api.model import Pagination
from cmsapi.api.page import Page
from cmsapi.display.frames import DataFrame, frame, load_pandas
from cmsapi.errors import BadRequestError, DecodeError, NotFoundError, ValidationError
from cmsapi.guesses import Hinting
from cmsapi.unpicklable import Unpicklable

T = TypeVar("T")
P = TypeVar("P", bound=Page[Any])

# Pages that may follow when as many items have come as there are in all: `total` may be an estimate, and lists move.
_MORE_THAN_ALL = 10
#: Items and pages that may follow beyond the first `total` of a list, or in all where it has none.
MOST_ITEMS, MOST_PAGES = 10_000, 1_000
# A larger `total` announces nothing: reading a million items takes ten hours.
_SENSIBLE_TOTAL = 1_000_000
# What a service answers that does not have the page.
_NO_SUCH_PAGE = (BadRequestError, NotFoundError, ValidationError)


def total_of(place: Pagination | None) -> int | None:
    """Return the length of a list, or None where the service tells none."""
    total = None if place is None else place.total
    return total if isinstance(total, int) and total >= 0 else None


def has_more(place: Pagination | None, number: int, limit: int, count: int) -> bool:
    """Tell whether a page may follow one with `count` items, which was asked for with this number and limit."""
    said = _said_more(place)
    if said is not None:
        return said
    size = limit if place is None or not isinstance(place.limit, int) or place.limit < 1 else place.limit
    total = total_of(place)
    # A page with more items than were asked for is the whole of a list that the service does not page.
    return count == size if total is None else 0 < count < total - (number - 1) * size


def _said_more(place: Pagination | None) -> bool | None:
    more = None if place is None else place.has_more
    return more if isinstance(more, bool) else None


class Paginator(Hinting, Unpicklable, Generic[T, P]):
    """Read a list page by page; every list of the service is one of these.

    `async for` gives the items, `await` the first page, `pages()` the pages. Each of them starts anew.
    `items(prefetch=1)` and `pages(prefetch=1)` ask for the next page while the current one is worked on. A list that
    the service does not page has one page, which is all of it.

    `Paginator[Keyword, Page[Keyword]]` names the types of an item and of a page. A page has up to 100 items unless a
    list is asked for with another `limit`. That is the largest page of the service, whose own default is 25
    (specification 8). Fewer pages cost fewer requests of the hour.

    Args:
        fetch: Reads the page with a given number.
        page: Number of the page to begin with.
        operation: Name of the operation, for errors.
        announced: Number of items that another document announces; it ends the list in place of what its pages say,
            unless their `total` is larger.
    """

    __slots__ = ("_announced", "_fetch", "_operation", "_page", "total_changed")

    def __init__(
        self,
        fetch: Callable[[int], Awaitable[P]],
        page: int = 1,
        *,
        operation: str,
        announced: int | None = None,
    ) -> None:
        self._operation = operation
        self._fetch = fetch
        self._page = page
        self._announced = announced
        #: Whether the list changed its length while it was last read: items may be doubled or missing.
        self.total_changed: bool = False

    def __repr__(self) -> str:
        return f"<Paginator of {self._operation}: `await` reads a page, `async for` all items>"

    def __await__(self) -> Generator[None, None, P]:
        return self._fetch(self._page).__await__()

    if not TYPE_CHECKING:  # type checkers shall refuse it, too

        def __iter__(self, *_: object) -> NoReturn:
            """Refuse: each page is a request, and a request needs an `await`."""
            raise TypeError("A list of the service is read with `async for item in …`, or its first page with `await`.")

        __getitem__ = __iter__

    def __aiter__(self) -> AsyncIterator[T]:
        return self.items()

    async def items(self, *, prefetch: int = 0) -> AsyncGenerator[T, None]:
        """Read item after item; `async for` over the paginator itself does that without prefetching.

        Args:
            prefetch: As for `pages`.

        Raises:
            ArgumentError: `prefetch` is neither 0 nor 1.
            DecodeError: The service gives the same page again, or goes on far beyond the list's `total`: by ten pages
                beyond its latest one, by 10,000 items or 1,000 pages beyond its first one, or by as many in all if it
                has none. The message says how to read on.
        """
        async with contextlib.aclosing(self.pages(prefetch=prefetch)) as pages:
            async for page in pages:
                for item in page:
                    yield item

    async def to_pandas(self) -> DataFrame:
        """Read the whole list into a `pandas.DataFrame`, one row an item; one request a page.

        Needs the extra `notebook`.
        """
        # Before the requests: it may be missing.
        load_pandas()
        pages = [page async for page in self.pages()]
        return frame([item for page in pages for item in page], pages[0].model)

    async def pages(self, *, prefetch: int = 0) -> AsyncGenerator[P, None]:
        """Read page after page; one request each.

        Args:
            prefetch: 1 asks for the next page while this one is worked on; at most two are held. An error of that
                request is raised when its page is due. A loop that stops early may have spent a request on a page that
                it does not use; `async with contextlib.aclosing(…)` cancels that request.

        Raises:
            ArgumentError: `prefetch` is neither 0 nor 1.
            DecodeError: The service gives the same page again, or goes on far beyond the list's `total`: by ten pages
                beyond its latest one, by 10,000 items or 1,000 pages beyond its first one, or by as many in all if it
                has none. The message says how to read on.
        """
        within("prefetch", prefetch, 0, 1)
        self.total_changed = False
        number, reading = self._page, _Reading(self._operation, self._page, self._announced)
        ahead: asyncio.Future[P] | None = None
        try:
            while True:
                try:
                    page = await (ahead or self._fetch(number))
                except _NO_SUCH_PAGE:
                    if number == self._page or reading.said_more:
                        raise
                    return
                ahead = None
                if reading.repeats(page):
                    return
                more = reading.add(page)
                self.total_changed = reading.total_changed
                number += 1
                if more and prefetch:
                    ahead = asyncio.ensure_future(self._fetch(number))
                yield page
                if not more:
                    return
        finally:
            if ahead is not None:
                ahead.cancel()
                # An error of the page read ahead goes unseen with it.
                await asyncio.gather(ahead, return_exceptions=True)


@attrs.define
class _Reading:
    """Follow a list while it is read, and tell when it ends."""

    operation: str
    began_at: int
    announced: int | None
    #: Whether the service says that a page follows the newest one.
    said_more: bool = False
    total_changed: bool = False
    count: int = 0
    pages: int = 0
    beyond: int = 0
    first: Page[Any] | None = None
    newest: Page[Any] | None = None
    longest: int | None = None

    def repeats(self, page: Page[Any]) -> bool:
        """Tell whether a page ends the list because it came before: the newest one again, or the first.

        Raises:
            DecodeError: It does, and the service says that more follows.
        """
        if not page.items or not any(before and page.items == before.items for before in (self.newest, self.first)):
            return False
        if self.said_more:
            # A service that does not know `page` would otherwise be read for ever.
            again = self.began_at + self.pages - 1 if self.newest and page.items == self.newest.items else self.began_at
            raise DecodeError(
                f"Expected page {self.began_at + self.pages} of the list; the service seems to ignore `page`",
                path="$.pagination",
                excerpt=f"page {again} again",
                operation=self.operation,
            )
        return True

    def add(self, page: Page[Any]) -> bool:
        """Count a page, and tell whether another one is to be read.

        Raises:
            DecodeError: The list should have ended long ago.
        """
        total, before = page.total, self.newest
        if before is None:
            self.first = page
        elif None not in (total, before.total) and total != before.total:
            self.total_changed = True
        self.newest, self.pages, self.count = page, self.pages + 1, self.count + len(page)
        if not page.items:
            # What follows all the same may be no page.
            self.said_more = False
            return _said_more(page.pagination) is True and (before is None or bool(before.items))
        # A page that knows of more items than are announced is right: they are there to be read.
        if self.announced is not None and not self.announced <= self.count < (total or 0):
            return self.count < self.announced
        more = page.has_more
        if _said_more(page.pagination) is None and total is not None and self.began_at == 1:
            more = self.count < total
        self.said_more = more and (total is not None or _said_more(page.pagination) is True)
        if more:
            self._check_end(total)
        return more

    def _check_end(self, total: int | None) -> None:
        if total is not None:
            self.longest = max(total, self.longest or 0)
            self.beyond += self.count > self.longest
        first = min(self.first.total or 0, _SENSIBLE_TOTAL) if self.first else 0
        if self.count > first + MOST_ITEMS or self.pages > MOST_PAGES + first or self.beyond > _MORE_THAN_ALL:
            most = first + MOST_ITEMS if self.longest is None or self.beyond <= _MORE_THAN_ALL else self.longest
            raise DecodeError(
                f"Expected the list to end after about {most} items; the service says that more follow. If they are "
                f"real, `page={self.began_at + self.pages}` reads on",
                path="$.pagination",
                excerpt=f"{self.count} items on {self.pages} pages",
                operation=self.operation,
            )
