"""Call operations for resources and jobs: an operation by name in, a model out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import attrs

from cmsapi.api.arguments import within
from cmsapi.api.envelope import Pagination
from cmsapi.api.model import Model
from cmsapi.api.operations import OperationTable
from cmsapi.api.pagination import Page, Paginator
from cmsapi.api.wire.converter import Converter
from cmsapi.api.wire.drift import DriftKind
from cmsapi.errors import DecodeError
from cmsapi.ratelimit.limiter import RateLimiter
from cmsapi.transport.call import CallOptions, Exchange
from cmsapi.transport.pipeline import Pipeline
from cmsapi.transport.protocol import RequestBuilder
from cmsapi.transport.urls import expand

M = TypeVar("M", bound=Model)

# The size of pages by default (specification 8; the service's own default is 25).
LARGEST_PAGE = 100
NO_PARAMETERS: Mapping[str, str] = {}
_INTERACTIVE = CallOptions()


class ResponseObserver(Protocol):
    """Take note of the documents that calls have read."""

    def read(self, document: Model, sent_at: float) -> None:
        """Take note of one document, which was asked for at a loop time."""
        ...

    def listed(self, documents: Sequence[Model], path: Mapping[str, str], number: int | None, sent_at: float) -> None:
        """Take note of one page of a list, and of its number if it is one of the largest pages."""
        ...


@attrs.define
class OperationCaller:
    """Call operations.

    Args:
        operations: The table in force.
        builder: Builds requests of the account.
        pipeline: Sends them.
        converter: Reads the answers.
        open: Returns the limiter of the account; raises when the client must not be used (any more, or from here).
        observer: Takes note of every document that is read, or None.
    """

    operations: OperationTable
    builder: RequestBuilder
    pipeline: Pipeline
    converter: Converter
    open: Callable[[], RateLimiter]
    observer: ResponseObserver | None = None

    async def exchange(
        self,
        operation: str,
        path: Mapping[str, str] = NO_PARAMETERS,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        options: CallOptions | None = None,
    ) -> Exchange:
        """Call an operation and return the answer as it came.

        Args:
            operation: Name in the table.
            path: Path parameters by their names in the template.
            query: Query parameters; None values are left out.
            body: JSON body by wire name.
            options: What the call asks of the pipeline; by default it is an interactive one.
        """
        limiter = self.open()
        row = self.operations[operation]
        request = self.builder.build(row.method, expand(row.path, path), query, body)
        if options is None:
            options = CallOptions(sent=tuple(body)) if body else _INTERACTIVE
        exchange = await self.pipeline.send(row, request, options, limiter)
        if row.success and exchange.status not in row.success:
            self.converter.drift.note(DriftKind.STATUS, f"{operation} {exchange.status}")
        return exchange

    async def call(
        self,
        model: type[M],
        operation: str,
        path: Mapping[str, str] = NO_PARAMETERS,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        options: CallOptions | None = None,
    ) -> M:
        """Call an operation that answers with one resource; the arguments are those of `exchange`."""
        exchange = await self.exchange(operation, path, query=query, body=body, options=options)
        document = self.read(operation, exchange, model)
        if self.observer is not None:
            self.observer.read(document, exchange.sent_at)
        return document

    async def call_for_list(self, model: type[M], operation: str, path: Mapping[str, str]) -> list[M]:
        """Call an operation that answers with a list without pages."""
        items, _ = self._read_page(operation, await self.exchange(operation, path), model)
        return items

    def paginate(
        self,
        model: type[M],
        operation: str,
        path: Mapping[str, str] = NO_PARAMETERS,
        *,
        limit: int,
        first: int = 1,
        query: Mapping[str, Any] | None = None,
        options: CallOptions | None = None,
    ) -> Paginator[M]:
        """Read an operation that answers with pages; sends nothing by itself.

        Raises:
            ArgumentError: `limit` is not 1 to 100, or `first` is below 1 (specification 8).
        """
        within("limit", limit, 1, LARGEST_PAGE)
        within("first", first, 1)

        async def fetch(number: int) -> Page[M]:
            return await self.page(model, operation, path, number=number, limit=limit, query=query, options=options)

        return Paginator(fetch, first, operation=operation)

    async def page(
        self,
        model: type[M],
        operation: str,
        path: Mapping[str, str] = NO_PARAMETERS,
        *,
        number: int,
        limit: int,
        query: Mapping[str, Any] | None = None,
        options: CallOptions | None = None,
    ) -> Page[M]:
        """Read one page of a list; one request."""
        asked = {**(query or {}), "page": number, "limit": limit}
        exchange = await self.exchange(operation, path, query=asked, options=options)
        items, place = self._read_page(operation, exchange, model)
        if self.observer is not None:
            # On pages of another size the items have other places.
            self.observer.listed(items, path, number if limit == LARGEST_PAGE else None, exchange.sent_at)
        return Page(
            items=tuple(items),
            number=number,
            limit=limit,
            total=place.total if place else None,
            has_more=bool(place and place.has_more),
        )

    def read(self, operation: str, exchange: Exchange, model: type[M]) -> M:
        """Read an answer into a model; an error names the operation."""
        try:
            return self.converter.structure(exchange.document, model)
        except DecodeError as error:
            self._complete(error, operation, exchange)
            raise

    def _read_page(self, operation: str, exchange: Exchange, model: type[M]) -> tuple[list[M], Pagination | None]:
        try:
            return self.converter.structure_page(exchange.document, model)
        except DecodeError as error:
            self._complete(error, operation, exchange)
            raise

    def _complete(self, error: DecodeError, operation: str, exchange: Exchange) -> None:
        error.operation, error.attempts = operation, exchange.attempts
        error.excerpt = self.builder.conceal(error.excerpt)
        if (hint := self.operations[operation].hint) is not None:
            error.add_note(hint)
