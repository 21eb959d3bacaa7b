"""Lists are read completely, page by page, whatever their form."""

from __future__ import annotations

import asyncio
import json

import pytest

from cmsapi.messages import Response
from tests.unit.transport.scripted import Scripted

pytestmark = pytest.mark.looptime


def page(*ids: str, more: bool = False) -> Response:
    """Return a response with one page."""
    data = [{"id": each} for each in ids]
    pagination = {"total": 3, "page": 1, "limit": 2, "hasMore": more}
    return Response(200, {}, json.dumps({"data": data, "pagination": pagination}).encode())


async def test_an_iteration_covers_all_pages() -> None:
    """``async for`` requests each page once and yields its items in order."""
    service = Scripted(page("a", "b", more=True), page("c"))
    async with service.client() as client:
        assert [each.id async for each in client.keywords.list("p", limit=2)] == ["a", "b", "c"]
    assert ["page=1" in service.requests[0].url, "page=2" in service.requests[1].url] == [True, True]
    assert len(service.requests) == 2


async def test_an_await_is_one_page() -> None:
    """``await`` returns the first page, with its information about the list."""
    service = Scripted(page("a", "b", more=True))
    async with service.client() as client:
        first = await client.keywords.list("p")
    assert ([each.id for each in first], first.total, first.has_more) == (["a", "b"], 3, True)
    assert len(service.requests) == 1


async def test_pages_come_one_by_one() -> None:
    """``pages()`` yields the pages."""
    async with Scripted(page("a", "b", more=True), page("c")).client() as client:
        assert [len(each) async for each in client.keywords.list("p").pages()] == [2, 1]


@pytest.mark.parametrize("body", [b'[{"id": "a"}]', b'{"data": [{"id": "a"}]}'], ids=["bare", "data"])
async def test_a_whole_list_is_one_page(body: bytes) -> None:
    """A bare list, and one without pagination, are read as a single page."""
    service = Scripted(Response(200, {}, body))
    async with service.client() as client:
        assert [each.id async for each in client.keywords.list("p")] == ["a"]
    assert len(service.requests) == 1


async def test_an_empty_page_ends_a_list() -> None:
    """An empty page that claims more does not cause an endless loop."""
    service = Scripted(page("a", more=True), page(more=True))
    async with service.client() as client:
        assert [each.id async for each in client.keywords.list("p")] == ["a"]
    assert len(service.requests) == 2


async def test_a_cancelled_step_loses_nothing() -> None:
    """After a cancelled ``anext`` the next call yields the item that was due."""
    service = Scripted(page("a", more=True), None, page("b"))
    async with service.client() as client:
        items = aiter(client.keywords.list("p"))
        assert (await anext(items)).id == "a"
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(items), 1)
        assert (await anext(items)).id == "b"
