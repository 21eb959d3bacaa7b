"""Lists page by page (specification 1, conventions 3 and 4)."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, strategies as st

import cmsapi
from cmsapi import errors
from cmsapi.sandbox import Sandbox
from tests.support.script import KEY, Script, answer, refusal

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


async def test_a_second_empty_page_ends_the_list() -> None:
    """`hasMore` is trusted, but not on two empty pages in a row: that would never end."""
    client, service = client_of(page(["a"], has_more=True), page([], has_more=True), page([], has_more=True))
    async with client:
        assert [user.id async for user in client.users.list(limit=2)] == ["a"]
    assert len(service.requests) == 3


@pytest.mark.parametrize("prefetch", [0, 1])
async def test_an_empty_page_in_the_middle_is_no_end(prefetch: int) -> None:
    """A service may leave out all items of a page, such as those the key must not see, and say that more follow."""
    client, _ = client_of(
        page([], has_more=True), page(["a"], has_more=True), page([], has_more=True), page(["b"], has_more=False)
    )
    async with client:
        assert [user.id async for user in client.users.list(limit=2).items(prefetch=prefetch)] == ["a", "b"]


@pytest.mark.parametrize("status", [400, 404, 422])
async def test_a_refused_page_after_an_empty_one_ends_the_list(status: int) -> None:
    """What follows an empty page need not be there, whatever the service says."""
    client, _ = client_of(page(["a"], has_more=True), page([], has_more=True), answer(status, {"error": {}}))
    async with client:
        assert [user.id async for user in client.users.list(limit=2)] == ["a"]


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


@pytest.mark.parametrize(
    "envelope", [{}, {"data": None}, {"data": {}}, {"data": [{"id": 7.5}]}, {"data": [7]}, 7, None]
)
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


def listing(items: Sequence[int], **place: Any) -> cmsapi.Response:
    """Make an answer with a page that says just this of its place."""
    return answer(200, {"data": [{"id": f"usr_{each}"} for each in items], "pagination": place})


@pytest.mark.parametrize("has_more", [None, "true", 1, {}], ids=repr)
async def test_without_has_more_the_total_decides(has_more: Any) -> None:
    """A list that says only how long it is, is read to its end, with no request more than that takes."""
    cuts = (0, 100, 200, 300), (0, 25, 50, 75, 100, 125, 130)
    for said in ({}, {"hasMore": has_more}):
        for starts in cuts:
            parts = [range(*cut) for cut in itertools.pairwise(starts)]
            client, service = client_of(*[listing(each, total=starts[-1], **said) for each in parts])
            async with client:
                assert len([user async for user in client.users.list()]) == starts[-1]
                assert len(service.requests) == len(parts)
                assert [each.where for each in client.statistics.drift if each.where == "Pagination.hasMore"]


@pytest.mark.parametrize("envelope", ["no pagination", "an empty one", "odd values", "another type"])
async def test_without_has_more_and_total_a_short_page_ends_the_list(envelope: str) -> None:
    """A full page may have a successor; a short page, an empty one and the same page again have none."""
    odd = {"total": "many", "page": None, "limit": -1, "hasMore": None}
    place = {"no pagination": None, "an empty one": {}, "odd values": odd, "another type": [7]}[envelope]

    def part(*items: int) -> cmsapi.Response:
        return answer(200, {"data": [{"id": f"usr_{each}"} for each in items], "pagination": place})

    for parts, requests in (
        ((part(1, 2), part(3, 4), part(5)), 3),
        ((part(1, 2), part(3, 4), part()), 3),
        ((part(1, 2), part(3, 4), refusal(404, "not_found")), 3),
        ((part(1, 2), part(1, 2)), 2),
        # More than was asked for: the service does not page the list.
        ((part(1, 2, 3),), 1),
    ):
        client, service = client_of(*parts)
        async with client:
            ids = [user.id async for user in client.users.list(limit=2)]
        assert (len(ids), len(set(ids))) == (len(set(ids)), len(ids))
        assert len(service.requests) == requests


async def test_a_page_by_hand_says_whether_another_follows() -> None:
    """A program that asks for page after page goes by `has_more`, also where the service tells only a total."""
    client, _ = client_of(listing([1, 2], total=5), listing([3, 4], total=5), listing([5], total=5))
    async with client:
        found = [await client.users.list(page=number, limit=2) for number in (1, 2, 3)]
    assert [page.has_more for page in found] == [True, True, False]


class Endless:
    """Be a list without end: each page has new items, and says that another follows."""

    def __init__(self, total: Callable[[int], Any] = lambda _: None, size: int = 100, wraps: int = 10**9) -> None:
        self.total, self.size, self.wraps, self.requests = total, size, wraps, 0

    async def send(self, _: cmsapi.Request) -> cmsapi.Response:
        """Answer with the next page."""
        first = self.requests % self.wraps * self.size
        self.requests += 1
        return listing(range(first, first + self.size), hasMore=True, total=self.total(self.requests))


@pytest.mark.parametrize(
    ("endless", "requests"),
    [
        (Endless(), 101),
        (Endless(lambda _: 0), 11),
        (Endless(lambda _: 50), 11),
        (Endless(lambda number: 100 * number + 100), 103),
        (Endless(size=1), 1001),
        (Endless(wraps=3), 4),
    ],
    ids=["no total", "none in all", "few in all", "always one page more", "one a page", "from the beginning again"],
)
async def test_no_list_is_read_for_ever(endless: Endless, requests: int) -> None:
    """A list without end is an error after a known number of pages, which says how to read on."""
    limits = cmsapi.RateLimits.unlimited()
    client = cmsapi.Client(KEY, base_url="https://endless.example.com", transport=endless, limits=limits)
    async with client:
        with pytest.raises(errors.DecodeError) as caught:
            await _all(client.users.list().items())
    assert (endless.requests, caught.value.operation) == (requests, "list_users")
    if endless.wraps > 3:
        assert f"`page={requests + 1}`" in str(caught.value)


async def test_an_absurd_total_is_no_announcement() -> None:
    """A list that says that it has more items than anyone can read is ended like one that says nothing."""

    async def fetch(number: int) -> cmsapi.Page[int]:
        items = range(number * 10_000, number * 10_000 + 10_000)
        return cmsapi.Page(items, number, 10_000, total=10**12 if number == 1 else None, has_more=True)

    with pytest.raises(errors.DecodeError) as caught:
        await _all(cmsapi.Paginator[int, cmsapi.Page[int]](fetch, operation="list_users").items())
    assert caught.value.excerpt == "1020000 items on 102 pages"


@pytest.mark.parametrize("prefetch", [0, 1])
@pytest.mark.parametrize(
    ("make", "announced", "expected"),
    [
        (lambda: Script(*[listing(range(at, at + 25), hasMore=False, total=25) for at in (0, 25)]), 50, (50, 2)),
        (lambda: Script(*[listing(range(at, at + 25), hasMore=False) for at in (0, 25)]), 60, (50, 3)),
        (lambda: Script(listing(range(7), hasMore=False), listing([], hasMore=False)), 50, (7, 2)),
        (lambda: Script(listing(range(7), hasMore=False), refusal(404, "not_found")), 50, (7, 2)),
        (lambda: Script(listing([])), 50, (0, 1)),
        (lambda: Endless(size=20), 50, (60, 3)),
        (lambda: Endless(lambda _: 10, size=20), 50, (60, 3)),
        (lambda: Script(*[listing(range(at, at + 25), hasMore=at == 0, total=50) for at in (0, 25)]), 20, (50, 2)),
    ],
    ids=["cut", "cut, too few", "short", "short, refused", "empty", "endless", "endless, small total", "more in all"],
)
async def test_an_announced_number_ends_a_list(
    make: Callable[[], Any], announced: int, expected: tuple[int, int], prefetch: int
) -> None:
    """A list whose length another document tells is read until it is there or nothing new comes.

    Of what pages say only a larger total counts.
    """
    service = make()
    async with cmsapi.Client(KEY, base_url="https://announced.example.com", transport=service) as client:

        async def fetch(number: int) -> cmsapi.Page[cmsapi.ContentIdea]:
            return await client.content_ideas.list("srch_1", page=number)

        ideas = cmsapi.Paginator[cmsapi.ContentIdea, cmsapi.Page[cmsapi.ContentIdea]](
            fetch, operation="list_content_ideas", announced=announced
        )
        found = [idea.id async for idea in ideas.items(prefetch=prefetch)]
        assert (len(set(found)), len(found)) == (expected[0], expected[0])
    sent = service.requests if isinstance(service, Endless) else len(service.requests)
    assert sent == expected[1]


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
    """A reader that stops early leaves no request behind: it has ended when the iteration is closed."""
    client, service = three_pages(takes=1.0)
    async with client:
        async with contextlib.aclosing(client.users.list(limit=2).items(prefetch=1)) as users:
            async for _ in users:
                # Long enough for the next request to leave.
                await asyncio.sleep(0.5)
                break
        assert len(service.requests) == 2
        assert len(asyncio.all_tasks()) == 1


async def test_a_cancelled_reader_cancels_its_request() -> None:
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
