"""Lists page by page (specification 1, conventions 3 and 4)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from hypothesis import given, strategies as st

import cmsapi
from cmsapi import errors
from cmsapi.sandbox import Sandbox
from tests.support.script import KEY, Script, answer

pytestmark = pytest.mark.looptime


def page(items: Sequence[str], has_more: Any, total: int = 9) -> cmsapi.Response:
    """Make an answer with a page of members."""
    place = {"total": total, "page": 1, "limit": 2, "hasMore": has_more}
    return answer(200, {"data": [{"id": each} for each in items], "pagination": place})


def client_of(*pages: cmsapi.Response) -> tuple[cmsapi.Client, Script]:
    """Give a client whose service has some pages."""
    service = Script(*pages)
    return cmsapi.Client(KEY, base_url="https://pages.example.com", transport=service), service


async def test_items_pages_and_the_first_page() -> None:
    """`async for` gives items, `pages()` pages, `await` the first page; each starts anew."""
    pages = page(["a", "b"], has_more=True), page(["c"], has_more=False)
    client, service = client_of(*pages, *pages, pages[0])
    async with client:
        users = client.users.list(limit=2)
        assert [user.id async for user in users] == ["a", "b", "c"]
        numbered = [(each.number, len(each), each.has_more) async for each in users.pages()]
        assert numbered == [(1, 2, True), (2, 1, False)]
        first = await users
    assert ([user.id for user in first], first[0].id, first[-1:][0].id) == (["a", "b"], "a", "b")
    assert (first.total, first.limit, first.has_more, bool(users.total_changed)) == (9, 2, True, False)
    asked = [request.url.partition("?")[2] for request in service.requests]
    assert asked == [f"page={number}&limit=2" for number in (1, 2, 1, 2, 1)]


async def test_nothing_is_sent_before_it_is_read() -> None:
    """A paginator costs nothing until it is used, and stops asking when its reader stops."""
    client, service = client_of(page(["a", "b"], has_more=True))
    async with client:
        users = client.users.list(limit=2)
        assert service.requests == []
        async for _ in users:
            break
        assert len(service.requests) == 1


async def test_an_empty_page_ends_the_list() -> None:
    """`hasMore` is trusted, but not on an empty page: that would never end."""
    client, service = client_of(page(["a"], has_more=True), page([], has_more=True))
    async with client:
        assert [user.id async for user in client.users.list(limit=2)] == ["a"]
    assert len(service.requests) == 2


async def test_has_more_decides_and_not_the_arithmetic() -> None:
    """A short page may have a successor, and a full one may be the last, whatever `total` says."""
    client, _ = client_of(page(["a"], has_more=True, total=1), page(["b", "c"], has_more=False, total=1))
    async with client:
        assert [user.id async for user in client.users.list(limit=2)] == ["a", "b", "c"]


async def test_a_list_that_moves_says_so() -> None:
    """When `total` changes on the way, items may be doubled or missing, and the paginator tells."""
    still = page(["a"], has_more=True), page(["b"], has_more=False)
    client, _ = client_of(page(["a"], has_more=True), page(["b"], has_more=False, total=10), *still)
    async with client:
        users = client.users.list(limit=2)
        assert [user.id async for user in users] == ["a", "b"]
        assert users.total_changed
        assert [user.id async for user in users] == ["a", "b"]
        assert not users.total_changed


@pytest.mark.parametrize("limit", [0, 101, -1, 2.0, "25", True, None])
async def test_the_limit_is_checked_before_sending(limit: Any) -> None:
    """A page holds 1 to 100 items (specification 8), and the error names the parameter."""
    client, service = client_of()
    async with client:
        with pytest.raises(errors.ArgumentError) as caught:
            client.contents.list("ws_1", limit=limit)
        assert caught.value.parameter == "limit"
        with pytest.raises(errors.ArgumentError) as caught:
            client.contents.list("ws_1", page=0 if limit == 0 else limit if not isinstance(limit, int) else -3)
        assert caught.value.parameter == "page"
    assert service.requests == []


@pytest.mark.parametrize("envelope", [{}, {"data": None}, {"data": {}}, {"data": [{"id": 7}]}, {"data": [7]}, 7, None])
async def test_an_envelope_of_another_shape_is_an_error(envelope: Any) -> None:
    """What is not a page is a decode error that names the operation."""
    client, _ = client_of(answer(200, envelope) if envelope is not None else cmsapi.Response(200, {}, b"null"))
    async with client:
        with pytest.raises(errors.DecodeError) as caught:
            await client.contents.list("ws_1")
    assert caught.value.operation == "list_contents"


@given(count=st.integers(0, 30), limit=st.integers(1, 12))
async def test_all_pages_make_the_whole_list(count: int, limit: int) -> None:
    """Whatever the page size is, the items are those of the service, once each, in its order."""
    sandbox = Sandbox(keywords=1, contents=1)
    async with cmsapi.Client(
        sandbox.api_key,
        base_url=sandbox.base_url,
        transport=sandbox.transport,
        limits=cmsapi.RateLimits(max_wait=3600),
    ) as client:
        for number in range(min(count, 15)):
            await client.contents.create(sandbox.workspace_id, f"Draft {number}")
        whole = [content.id for content in await client.contents.list(sandbox.workspace_id, limit=100)]
        read = [content.id async for content in client.contents.list(sandbox.workspace_id, limit=limit)]
        assert read == whole
        first = await client.contents.list(sandbox.workspace_id, page=2, limit=limit)
        assert [content.id for content in first] == whole[limit : 2 * limit]


async def test_a_page_that_comes_again_is_an_error() -> None:
    """A service that ignores the page number is not read for ever."""
    client, service = client_of(*[page(["a", "b"], has_more=True)] * 3)
    async with client:
        with pytest.raises(errors.DecodeError, match="page 2"):
            [user async for user in client.users.list(limit=2)]
    assert len(service.requests) == 2


@pytest.mark.parametrize("prefetch", [0, 1])
@pytest.mark.parametrize("fresh", [True, False], ids=["new items", "two pages in turn"])
async def test_a_list_without_end_is_an_error(prefetch: int, fresh: bool) -> None:
    """A list that goes on far beyond its `total` is given up after some pages, not read for all of the hour."""
    pages = [page([f"{number}" if fresh else "ab"[number % 2]], has_more=True, total=1) for number in range(99)]
    client, service = client_of(*pages)
    async with client:
        with pytest.raises(errors.DecodeError, match="end after about 1 items") as caught:
            await _all(client.users.list().items(prefetch=prefetch))
    assert (caught.value.operation, caught.value.path) == ("list_users", "$.pagination")
    assert len(service.requests) == 12


async def test_a_list_that_grows_while_it_is_read_is_read_to_its_end() -> None:
    """All of a list is read whose `total` grows or shrinks with each page, or is somewhat too small."""
    growing = [page([f"{number}"], has_more=number < 99, total=number + 2) for number in range(100)]
    shrinking = [page([f"{number}"], has_more=number < 59, total=60 - number) for number in range(60)]
    estimated = [page([f"{number}"], has_more=number < 59, total=50) for number in range(60)]
    client, _ = client_of(*growing, *shrinking, *estimated)
    async with client:
        for expected in (100, 60, 60):
            assert len([user async for user in client.users.list()]) == expected


def three_pages(takes: float = 0.0) -> tuple[cmsapi.Client, Script]:
    """Give a client whose service has three pages of two."""
    pages = [page(["a", "b"], has_more=True), page(["c", "d"], has_more=True), page(["e"], has_more=False)]
    service = Script(*pages, takes=takes)
    return cmsapi.Client(KEY, base_url="https://pages.example.com", transport=service), service


async def test_the_next_page_is_read_while_this_one_is_worked_on() -> None:
    """With prefetch each page but the first is there when it is needed, and never more than one is asked for ahead."""
    loop = asyncio.get_running_loop()
    spent = {}
    for prefetch in (0, 1):
        client, service = three_pages(takes=1.0)
        async with client:
            began, asked = loop.time(), []
            async for each in client.users.list(limit=2).pages(prefetch=prefetch):
                await asyncio.sleep(5.0)
                asked.append(len(service.requests) - each.number)
            spent[prefetch] = loop.time() - began
            assert asked == [prefetch, prefetch, 0]
    assert spent == {0: pytest.approx(18.0, abs=0.1), 1: pytest.approx(16.0, abs=0.1)}


@pytest.mark.parametrize("prefetch", [0, 1])
async def test_prefetching_changes_nothing_but_the_time(prefetch: int) -> None:
    """The items are the same, in the same order, for the same number of requests."""
    client, service = three_pages()
    async with client:
        users = client.users.list(limit=2)
        assert [user.id async for user in users.items(prefetch=prefetch)] == ["a", "b", "c", "d", "e"]
    assert len(service.requests) == 3


async def test_a_page_asked_for_ahead_is_called_off() -> None:
    """Who stops early leaves no request behind: it has ended when the iteration is closed."""
    client, service = three_pages(takes=1.0)
    async with client:
        async with contextlib.aclosing(client.users.list(limit=2).items(prefetch=1)) as users:
            async for _ in users:
                # Long enough for the next request to leave.
                await asyncio.sleep(0.5)
                break
        assert len(service.requests) == 2
        assert len(asyncio.all_tasks()) == 1


async def test_who_is_cancelled_takes_the_request_along() -> None:
    """A reader that is cancelled while it waits for a page leaves no task behind."""
    client, _ = three_pages(takes=60.0)
    async with client:
        reader = asyncio.create_task(_all(client.users.list(limit=2).items(prefetch=1)))
        await asyncio.sleep(90.0)
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        assert len(asyncio.all_tasks()) == 1


async def test_an_error_of_the_next_page_waits_for_its_turn() -> None:
    """A failed request for the next page raises after the items of this page, and not if the loop stops before."""
    refused = answer(404, {"error": {"code": "not_found", "message": "gone"}})
    client, _ = client_of(page(["a", "b"], has_more=True), refused, page(["a", "b"], has_more=True), refused)
    async with client:
        users = client.users.list(limit=2).items(prefetch=1)
        seen = []
        for _ in range(2):
            seen.append((await anext(users)).id)
            await asyncio.sleep(1.0)
        assert seen == ["a", "b"]
        with pytest.raises(errors.NotFoundError):
            await anext(users)
        async with contextlib.aclosing(client.users.list(limit=2).pages(prefetch=1)) as pages:
            async for _ in pages:
                await asyncio.sleep(1.0)
                break


@pytest.mark.parametrize("prefetch", [-1, 2, True, None])
async def test_no_more_than_one_page_is_asked_for_ahead(prefetch: Any) -> None:
    """Another number is refused before anything is sent, and the error names the parameter."""
    client, service = three_pages()
    async with client:
        with pytest.raises(errors.ArgumentError) as caught:
            await anext(client.users.list().items(prefetch=prefetch))
    assert (caught.value.parameter, service.requests) == ("prefetch", [])


async def _all(users: AsyncIterator[Any]) -> list[Any]:
    return [user async for user in users]
