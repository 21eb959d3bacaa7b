"""Call operations for resources and jobs: an operation by name in, a model out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import attrs

from cmsapi.api.arguments import within
from cmsapi.api.identifiers import IdentifierPrefixes
from cmsapi.api.model import Model
from cmsapi.api.operations import OperationTable
from cmsapi.api.page import Page
from cmsapi.api.pagination import P, Paginator, has_more, total_of
from cmsapi.api.wire.converter import Converter
from cmsapi.api.wire.drift import DriftKind
from cmsapi.config import WordMap
from cmsapi.errors import DecodeError
from cmsapi.ratelimit.limiter import RateLimiter
from cmsapi.transport.answers import read_request_id, text_without_key
from cmsapi.transport.call import Call, CallOptions
from cmsapi.transport.pipeline import Pipeline
from cmsapi.transport.requests import RequestBuilder, expand

M = TypeVar("M", bound=Model)
R = TypeVar("R")
T = TypeVar("T")

# The size of pages by default (specification 8; the service's own default is 25).
LARGEST_PAGE = 100
NO_PARAMETERS: Mapping[str, str] = {}
_INTERACTIVE = CallOptions()

#: Takes note of documents of one class, the loop time at which they were asked for, and of a list its path parameters
#: and the number of the page, if that is one of the largest pages.
Observe: TypeAlias = Callable[[Sequence[Model], float, Mapping[str, str] | None, int | None], None]


@attrs.define
class OperationCaller:
    """Call operations of the table in force.

    `open` returns the limiter of the account, or raises when the client must not be used (any more, or from here).
    `observe` is called with every document that is read. `words` says what words of the service mean that this package
    does not list, as the table says which routes it has.
    """

    operations: OperationTable
    builder: RequestBuilder
    pipeline: Pipeline
    converter: Converter
    open: Callable[[], RateLimiter]
    observe: Observe | None = None
    identifiers: IdentifierPrefixes = attrs.field(factory=IdentifierPrefixes)
    words: WordMap = attrs.field(factory=dict)

    async def exchange(
        self,
        operation: str,
        path: Mapping[str, str] = NO_PARAMETERS,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        options: CallOptions = _INTERACTIVE,
    ) -> Call:
        """Call an operation of the table by its name, and return the call with its answer as it came."""
        self._check_identifiers(path)
        if body is not None:
            self._check_identifiers({name: value for name, value in body.items() if name.endswith("Id")})
        limiter, row = self.open(), self.operations.rows[operation]
        request = self.builder.build(row.method, expand(row.path, path), query, body)
        call = await self.pipeline.send(row, request, options, limiter)
        if row.success and call.status not in row.success:
            self.converter.drift.note(DriftKind.STATUS, f"{operation} {call.status}")
        return call

    async def call(
        self,
        model: type[M],
        operation: str,
        path: Mapping[str, str] = NO_PARAMETERS,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        options: CallOptions = _INTERACTIVE,
    ) -> M:
        """Call an operation that answers with one resource; the arguments are those of `exchange`."""
        call = await self.exchange(operation, path, query=query, body=body, options=options)
        document = self.read(call, model)
        if operation not in self.identifiers.learned:
            self.identifiers.learn(self.operations, operation, path, (document,))
        if self.observe is not None:
            self.observe((document,), call.sent_at, None, None)
        return document

    def list_whole(self, model: type[M], operation: str, path: Mapping[str, str], whole: type[P]) -> Paginator[M, P]:
        """Read an operation that answers with a list without pages, as one page; sends nothing by itself."""

        async def fetch(_: int) -> P:
            call = await self.exchange(operation, path)
            items = self._read(call, self.converter.structure_page, model)[0]
            if operation not in self.identifiers.learned:
                self.identifiers.learn(self.operations, operation, path, items)
            return whole(items, model=model)

        return Paginator(fetch, operation=operation)

    def paginate(
        self,
        model: type[M],
        operation: str,
        path: Mapping[str, str] = NO_PARAMETERS,
        *,
        page: int = 1,
        limit: int,
        query: Mapping[str, Any] | None = None,
        options: CallOptions = _INTERACTIVE,
        announced: int | None = None,
    ) -> Paginator[M, Page[M]]:
        """Read an operation that answers with pages; sends nothing by itself.

        Where another document announces the number of items, `announced` ends the list quietly in place of what its
        pages say, unless these know of more: it is read on until they are there, or until a page brings no new ones.

        Raises:
            ArgumentError: `limit` is not 1 to 100, or `page` is below 1 (specification 8).
        """
        within("page", page, 1)
        within("limit", limit, 1, LARGEST_PAGE)

        async def fetch(number: int) -> Page[M]:
            return await self.page(model, operation, path, number=number, limit=limit, query=query, options=options)

        return Paginator(fetch, page, operation=operation, announced=announced)

    async def page(
        self,
        model: type[M],
        operation: str,
        path: Mapping[str, str] = NO_PARAMETERS,
        *,
        number: int,
        limit: int,
        query: Mapping[str, Any] | None = None,
        options: CallOptions = _INTERACTIVE,
    ) -> Page[M]:
        """Read one page of a list; one request."""
        asked = {**(query or {}), "page": number, "limit": limit}
        call = await self.exchange(operation, path, query=asked, options=options)
        items, place = self._read(call, self.converter.structure_page, model)
        if operation not in self.identifiers.learned:
            self.identifiers.learn(self.operations, operation, path, items)
        if self.observe is not None and items:
            # On pages of another size the items have other places.
            self.observe(items, call.sent_at, path, number if limit == LARGEST_PAGE else None)
        return Page(
            items,
            number=number,
            limit=limit,
            total=total_of(place),
            has_more=has_more(place, number, limit, len(items)),
            model=model,
            pagination=place,
        )

    def read(self, call: Call, model: type[M]) -> M:
        """Read the answer to a call into a model; an error names the operation."""
        return self._read(call, self.converter.structure_resource, model)

    def _check_identifiers(self, named: Mapping[str, Any]) -> None:
        """Warn of identifiers that begin like those of another parameter."""
        for parameter, identifier in named.items():
            if isinstance(identifier, str):
                other = self.identifiers.parameters.get(identifier.partition("_")[0])
                if other is not None and other != parameter:
                    self.identifiers.warn(parameter, identifier, other)

    def _read(self, call: Call, structure: Callable[[Any, type[T]], R], model: type[T]) -> R:
        try:
            return structure(call.document, model)
        except DecodeError as error:
            error.operation, error.attempts = call.operation.name, call.attempts
            error.request_id = read_request_id(call.headers, call.request)
            error.excerpt = text_without_key(error.excerpt, call.request)
            if call.operation.hint is not None:
                error.add_note(call.operation.hint)
            raise
