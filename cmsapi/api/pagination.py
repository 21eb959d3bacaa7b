"""The paginator, as which every list of the service is read (specification 1, conventions 3 to 5).

`hasMore` decides whether there is a next page, and an empty page ends the list whatever it says. A page that repeats
the one before is an error, and so is a list that goes on far beyond its `total`. Lists move while they are read: when
`total` changes on the way, items may come twice or not at all, and the paginator says so. A list that the service does
not page is one page.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from cmsapi.api.arguments import within
from cmsapi.api.page import Page
from cmsapi.display.frames import DataFrame, frame, load_pandas
from cmsapi.errors import DecodeError
from cmsapi.guesses import Hinting

T = TypeVar("T")
P = TypeVar("P", bound=Page[Any])

# Pages that may follow when as many items have come as there are in all: `total` may be an estimate, and lists move.
_MORE_THAN_ALL = 10


class Paginator(Hinting, Generic[T, P]):
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
    """

    __slots__ = ("_fetch", "_operation", "_page", "total_changed")

    def __init__(self, fetch: Callable[[int], Awaitable[P]], page: int = 1, *, operation: str) -> None:
        self._operation = operation
        self._fetch = fetch
        self._page = page
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
            DecodeError: The service gives the same page again, or goes on far beyond the list's `total`.
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
            DecodeError: The service gives the same page again, or goes on far beyond the list's `total`.
        """
        within("prefetch", prefetch, 0, 1)
        self.total_changed = False
        number, total = self._page, None
        items: tuple[T, ...] = ()
        count = most = beyond = 0
        ahead: asyncio.Future[P] | None = None
        try:
            while True:
                page = await (ahead or self._fetch(number))
                ahead = None
                if items and page.items == items:
                    # A service that does not know `page` would otherwise be read for ever.
                    raise DecodeError(
                        f"Expected page {number} of the list; the service seems to ignore `page`",
                        excerpt=f"page {number - 1} again",
                        operation=self._operation,
                    )
                items = page.items
                if total is not None and page.total is not None and page.total != total:
                    self.total_changed = True
                total = page.total
                more = page.has_more and bool(page.items)
                if total is not None:
                    count, most = count + len(items), max(most, total)
                    beyond += count > most
                if more and beyond > _MORE_THAN_ALL:
                    raise DecodeError(
                        f"Expected the list to end after about {most} items; the service says that more follow",
                        path="$.pagination",
                        excerpt=f"{count} items on {number - self._page + 1} pages",
                        operation=self._operation,
                    )
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
