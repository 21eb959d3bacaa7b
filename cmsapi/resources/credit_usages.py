"""What credits were spent on (specification 2.7 and 4.7)."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Sequence
from datetime import UTC, date, datetime
from typing import Literal, TypeAlias

from cmsapi.api.arguments import in_order, moment, one_of, optional_text, within
from cmsapi.api.models.credit_usage import CreditType, CreditUsage
from cmsapi.api.page import Page
from cmsapi.api.pagination import Paginator
from cmsapi.resources.credit_report import CreditReport
from cmsapi.resources.resource import Resource
from cmsapi.transport.caller import LARGEST_PAGE

TypeWord: TypeAlias = Literal["analysis", "ai_writing", "content_idea_search"]
_Usages: TypeAlias = Paginator[CreditUsage, Page[CreditUsage]]


class CreditUsages(Resource):
    """Read credit usage entries of the organisation."""

    def list(
        self,
        type: CreditType | TypeWord | None = None,  # noqa: A002  the service's own word
        *,
        q: str | None = None,
        page: int = 1,
        limit: int = LARGEST_PAGE,
    ) -> Paginator[CreditUsage, Page[CreditUsage]]:
        """List the entries of one credit type, or of all three, newest first; one request a page and type, no credit.

        The service takes one type a request. Without a type its three lists are read and merged, at least three
        requests, and a later page costs the requests of the pages before it as well. The service's lists are expected
        newest first. One that turns out to come oldest first is read whole before its first entry is given.

        Args:
            type: `"analysis"`, `"ai_writing"` or `"content_idea_search"`; None for all of them.
            q: Text to search for.
            page: Number of the page to begin with.
            limit: Entries a page, 1 to 100.

        Raises:
            ArgumentError: `type` is not one of the three.
        """
        if type is None:
            within("page", page, 1)
            return _Merged([self.list(word, q=q, limit=limit) for word in CreditType], page, limit)
        one_of("type", type, CreditType)
        query = {"type": str(type), "q": optional_text("q", q)}
        return self._caller.paginate(CreditUsage, "list_credit_usages", page=page, limit=limit, query=query)

    async def report(
        self,
        *,
        since: date | datetime | str | None = None,
        until: date | datetime | str | None = None,
        q: str | None = None,
    ) -> CreditReport:
        """Add up what was spent, per type, day and workspace; at least three requests, no credit.

        Each further 100 entries of a type take one more request.

        Args:
            since: Only entries from this moment on; the lists are read no further than that. An aware datetime, a date,
                which means its first moment in UTC, or either as a text in ISO 8601.
            until: Only entries before this moment.
            q: Text to search for.

        Returns:
            The report, with `.by_type`, `.by_day`, `.by_workspace`, `.total`, `.plot()` and `.to_pandas()`.

        Raises:
            ArgumentError: `since` or `until` is no time, has no offset, or they are in the wrong order.
        """
        begin, end = moment("since", since), moment("until", until)
        in_order("since", begin, end)
        entries = []
        async for usage in self.list(q=q):
            if begin is not None and _age(usage) < begin:
                break
            if end is None or _age(usage) < end:
                entries.append(usage)
        return CreditReport(tuple(entries), begin, end)


class _Merged(_Usages):
    """Merge lists of entries, newest first, and divide the result into pages."""

    __slots__ = ("_limit", "_lists")

    def __init__(self, lists: Sequence[_Usages], page: int, limit: int) -> None:
        super().__init__(self._read, page, operation="list_credit_usages")
        self._lists, self._limit = lists, limit

    async def _read(self, number: int) -> Page[CreditUsage]:
        async with contextlib.aclosing(self.pages()) as pages:
            return await anext(pages)

    async def pages(self, *, prefetch: int = 0) -> AsyncGenerator[Page[CreditUsage], None]:
        number = 1
        entries: list[CreditUsage] = []
        totals: dict[_Usages, int | None] = {}

        def page(*, has_more: bool) -> Page[CreditUsage]:
            self.total_changed = any(each.total_changed for each in self._lists)
            total = None if None in totals.values() else sum(filter(None, totals.values()))
            return Page(entries, number, self._limit, total, has_more, CreditUsage)

        async with contextlib.aclosing(_merge([_newest_first(each, prefetch, totals) for each in self._lists])) as all_:
            async for usage in all_:
                if len(entries) == self._limit:
                    if number >= self._page:
                        yield page(has_more=True)
                    number, entries = number + 1, []
                entries.append(usage)
        if number < self._page:
            number, entries = self._page, []
        yield page(has_more=False)


async def _merge(streams: Sequence[AsyncGenerator[CreditUsage, None]]) -> AsyncGenerator[CreditUsage, None]:
    async with contextlib.AsyncExitStack() as stack:
        for stream in streams:
            stack.push_async_callback(stream.aclose)
        heads = [await anext(stream, None) for stream in streams]
        while newest := max((head for head in heads if head is not None), key=_age, default=None):
            yield newest
            place = next(index for index, head in enumerate(heads) if head is newest)
            heads[place] = await anext(streams[place], None)


async def _newest_first(
    usages: _Usages, prefetch: int, totals: dict[_Usages, int | None]
) -> AsyncGenerator[CreditUsage, None]:
    gathered: list[CreditUsage] = []
    async with contextlib.aclosing(usages.pages(prefetch=prefetch)) as pages:
        async for page in pages:
            totals[usages] = page.total
            gathered += page
            if gathered:
                first, last = _age(gathered[0]), _age(gathered[-1])
                # Oldest first, or too little of it to tell.
                if first < last or (first == last and page.has_more):
                    continue
            for usage in gathered:
                yield usage
            gathered = []
    for usage in sorted(gathered, key=_age, reverse=True):
        yield usage


def _age(usage: CreditUsage) -> datetime:
    return _LONG_AGO if usage.created_at is None else usage.created_at


_LONG_AGO = datetime.min.replace(tzinfo=UTC)
