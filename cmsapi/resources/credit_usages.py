"""What credits were spent on (specification 2.7 and 4.7)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, date, datetime

from cmsapi.api.arguments import moment, optional_text
from cmsapi.api.models.credit_usage import CreditType, CreditUsage
from cmsapi.api.pagination import Paginator
from cmsapi.api.wire.mismatch import excerpt
from cmsapi.errors import ArgumentError
from cmsapi.resources.credit_report import CreditReport
from cmsapi.resources.resource import Resource
from cmsapi.transport.caller import LARGEST_PAGE


class CreditUsages(Resource):
    """Read credit usage entries of the organisation."""

    def list(
        self,
        type: CreditType | str,  # noqa: A002  the service's own word
        *,
        q: str | None = None,
        limit: int = LARGEST_PAGE,
        first: int = 1,
    ) -> Paginator[CreditUsage]:
        """List the entries of one credit type, newest first; one request a page.

        Args:
            type: `"analysis"`, `"ai_writing"` or `"content_idea_search"`; the service takes one a request.
            q: Text to search for.
            limit: Entries a page, 1 to 100.
            first: Number of the page to begin with.

        Raises:
            ArgumentError: `type` is not one of the three.
        """
        words = [word.value for word in CreditType]
        if type not in words:
            raise ArgumentError(f"type must be one of {', '.join(words)}, got {excerpt(type)}.", parameter="type")
        query = {"type": str(type), "q": optional_text("q", q)}
        return self._caller.paginate(CreditUsage, "list_credit_usages", limit=limit, first=first, query=query)

    def list_all(self, *, q: str | None = None, limit: int = LARGEST_PAGE) -> AsyncIterator[CreditUsage]:
        """Merge the entries of all three types, newest first; at least three requests.

        The service's lists are expected newest first. One that turns out to come oldest first is read whole before
        its first entry is given.

        Args:
            q: Text to search for.
            limit: Entries a page, 1 to 100.
        """
        return _merged([_newest_first(self.list(word, q=q, limit=limit)) for word in CreditType])

    async def report(
        self,
        *,
        since: datetime | date | str | None = None,
        until: datetime | date | str | None = None,
        q: str | None = None,
    ) -> CreditReport:
        """Add up what was spent, per type, day and workspace; at least three requests, one more for each 100 entries.

        Args:
            since: Only entries from this moment on; the lists are read no further than that. An aware datetime, a
                date (its first moment in UTC), or an ISO 8601 string of either.
            until: Only entries before this moment.
            q: Text to search for.

        Returns:
            The report, with `.by_type`, `.by_day`, `.by_workspace`, `.total`, `.plot()` and `.to_pandas()`.

        Raises:
            ArgumentError: `since` or `until` is no time, or has no offset.
        """
        begin, end = moment("since", since), moment("until", until)
        entries = []
        async for usage in self.list_all(q=q):
            if begin is not None and _age(usage) < begin:
                break
            if end is None or _age(usage) < end:
                entries.append(usage)
        return CreditReport(tuple(entries), begin, end)


async def _merged(streams: Sequence[AsyncIterator[CreditUsage]]) -> AsyncIterator[CreditUsage]:
    heads = [await anext(stream, None) for stream in streams]
    while newest := max((head for head in heads if head is not None), key=_age, default=None):
        place = next(index for index, head in enumerate(heads) if head is newest)
        heads[place] = await anext(streams[place], None)
        yield newest


async def _newest_first(usages: Paginator[CreditUsage]) -> AsyncIterator[CreditUsage]:
    gathered: list[CreditUsage] = []
    async for page in usages.pages():
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
