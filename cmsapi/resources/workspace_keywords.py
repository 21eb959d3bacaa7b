"""The keywords of a workspace: those of each of its pages, as one list."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable
from typing import TypeAlias

from cmsapi.api.models.keyword import Keyword
from cmsapi.api.models.web_page import WebPage
from cmsapi.api.page import Page
from cmsapi.api.pagination import Paginator

KeywordList: TypeAlias = Paginator[Keyword, Page[Keyword]]


class WorkspaceKeywords(KeywordList):
    """Read the keywords of page after page of a website, and divide them into pages of a list.

    Args:
        web_pages: The pages of the website.
        list_keywords: Lists the keywords of one of them, by its identifier.
        page: Number of the page of the list to begin with.
        limit: Keywords a page of the list.
    """

    __slots__ = ("_limit", "_list_keywords", "_web_pages")

    def __init__(
        self,
        web_pages: Paginator[WebPage, Page[WebPage]],
        list_keywords: Callable[[str], KeywordList],
        *,
        page: int,
        limit: int,
    ) -> None:
        super().__init__(self._read, page, operation="list_keywords")
        self._web_pages, self._list_keywords, self._limit = web_pages, list_keywords, limit

    async def _read(self, _: int) -> Page[Keyword]:
        async with contextlib.aclosing(self.pages()) as pages:
            return await anext(pages)

    async def pages(self, *, prefetch: int = 0) -> AsyncGenerator[Page[Keyword], None]:
        """Read page after page, as `Paginator.pages` does."""
        self.total_changed = False
        number = 1
        keywords: list[Keyword] = []
        async with contextlib.aclosing(self._keywords(prefetch)) as found:
            async for keyword in found:
                if len(keywords) == self._limit:
                    if number >= self._page:
                        yield self._page_of(keywords, number, has_more=True)
                    number, keywords = number + 1, []
                keywords.append(keyword)
        if number < self._page:
            number, keywords = self._page, []
        yield self._page_of(keywords, number, has_more=False)

    def _page_of(self, keywords: list[Keyword], number: int, *, has_more: bool) -> Page[Keyword]:
        return Page(keywords, number, self._limit, None, has_more, Keyword)

    async def _keywords(self, prefetch: int) -> AsyncGenerator[Keyword, None]:
        async with contextlib.aclosing(self._web_pages.items(prefetch=prefetch)) as web_pages:
            async for web_page in web_pages:
                of_page = self._list_keywords(web_page.id)
                async with contextlib.aclosing(of_page.items(prefetch=prefetch)) as keywords:
                    async for keyword in keywords:
                        yield keyword
                        self.total_changed: bool = self.total_changed or of_page.total_changed
        self.total_changed = self.total_changed or self._web_pages.total_changed
