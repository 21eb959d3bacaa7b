"""Books: when launches are booked, what they cost, and what usages look like."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cmsapi.sandbox import Behaviour, Books, Credits, Fixed, Limits, Sandbox
from tests.support.calling import Caller

pytestmark = pytest.mark.looptime

LISTED = "/v1/credit-usages?type=content_idea_search"


class Searches:
    """Launch searches in a sandbox whose jobs take 30 seconds, and read its books."""

    def __init__(self, books: Books, **settings: Any) -> None:
        self.box = Sandbox(books=books, durations=Fixed(30.0), limits=Limits.unlimited(), **settings)
        self.call = Caller(self.box)

    async def launch(self, keyword: str = "Tents") -> int:
        """Launch a search and return the status."""
        path = f"/v1/workspaces/{self.box.workspace_id}/content-idea-searches"
        return (await self.call("POST", path, {"keyword": keyword})).status

    async def usages(self, query: str = "") -> Any:
        """Return the usages of searches."""
        return (await self.call.get(LISTED + query))["data"]

    async def read(self) -> tuple[int, list[int]]:
        """Return what has left the balance, and the amounts of the usages."""
        left = (await self.call.get("/v1/me"))["organization"]["credits"]["contentIdeasSearches"]
        return 10_000 - left, [usage["amount"] for usage in await self.usages("&limit=100")]


async def test_a_launch_may_be_booked_late() -> None:
    """The balance and the usage appear together, and with that moment; the end of the job changes nothing."""
    searches = Searches(Books(booked_after=61.0))
    await searches.launch()
    await asyncio.sleep(60.5)
    assert await searches.read() == (0, [])
    await asyncio.sleep(10.0)
    assert await searches.read() == (1, [1])
    assert (await searches.usages())[0]["createdAt"] == "2026-01-01T00:01:01.000Z"
    assert searches.box.ledger.launches()[0].charged


async def test_a_launch_may_be_booked_at_the_end_of_its_job() -> None:
    """The balance and the usage appear when the job ends, whenever that is and even if its target is deleted."""
    searches = Searches(Books(booked_after="end"))
    box, call = searches.box, searches.call
    await searches.launch()
    await call("POST", f"/v1/contents/{box.content_ids[0]}/atomic", {"settings": {}})
    await call("POST", f"/v1/keywords/{box.keyword_ids[0]}/analyze")
    assert await searches.read() == (0, [])
    box.finish(box.keyword_ids[0], "failed")
    await call("DELETE", f"/v1/contents/{box.content_ids[0]}")
    assert (box.credits.analysis, box.credits.ai_writing) == (9_999, 9_999)
    await asyncio.sleep(31.0)
    assert await searches.read() == (1, [1])


async def test_what_is_not_booked_yet_is_reserved() -> None:
    """No credit buys two launches because the first one is not booked yet."""
    searches = Searches(Books(booked_after=100.0), credits=Credits(content_ideas_searches=1))
    assert [await searches.launch() for _ in range(2)] == [202, 409]
    await asyncio.sleep(101.0)
    assert await searches.launch() == 409


async def test_what_is_booked_late_is_in_order() -> None:
    """What was due since the last request is booked one after the other, each with its own moment."""
    searches = Searches(Books(booked_after=10.0, refunded=1.0, refunded_after=5.0, refund="row"))
    await searches.launch()
    await asyncio.sleep(12.0)
    await searches.launch()
    await asyncio.sleep(50.0)
    assert [
        (usage["createdAt"][17:19], usage["amount"], usage["remainingCredits"]) for usage in await searches.usages()
    ] == [
        ("27", -1, 10_000),
        ("22", 1, 9_999),
        ("15", -1, 10_000),
        ("10", 1, 9_999),
    ]


async def test_a_share_of_the_launches_costs_nothing() -> None:
    """A free launch leaves no trace in the books, and the ledger says so."""
    searches = Searches(Books(free=0.5))
    for _ in range(60):
        await searches.launch()
    spent, amounts = await searches.read()
    assert 15 < spent == len(amounts) < 45
    assert spent == sum(entry.charged for entry in searches.box.ledger)


@pytest.mark.parametrize(("refund", "amounts"), [("balance", [1]), ("row", [-1, 1]), ("deleted", [])])
async def test_credits_may_come_back(refund: Any, amounts: list[int]) -> None:
    """A refund comes some seconds after the usage: in the balance only, as a row, or by deleting the usage."""
    searches = Searches(Books(refunded=1.0, refunded_after=20.0, refund=refund))
    await searches.launch()
    assert await searches.read() == (1, [1])
    await asyncio.sleep(21.0)
    assert await searches.read() == (0, amounts)


@pytest.mark.parametrize(("refund", "amounts"), [("balance", [1]), ("row", [-1, 1]), ("deleted", [])])
async def test_failures_are_refunded_in_the_same_way(refund: Any, amounts: list[int]) -> None:
    """`Behaviour(refunded=True)` gives the credit of a failed job back once, as the books say."""
    behaviour = Behaviour(refunded=True)
    searches = Searches(Books(refund=refund, refunded=1.0), behaviour=behaviour, failures=1.0)
    await searches.launch()
    await asyncio.sleep(100.0)
    assert await searches.read() == (0, amounts)


async def test_a_failure_that_is_not_booked_yet_never_is() -> None:
    """A failed job whose credit would come back is not booked after its end."""
    searches = Searches(Books(booked_after=61.0), behaviour=Behaviour(refunded=True), failures=1.0)
    await searches.launch()
    await asyncio.sleep(100.0)
    assert await searches.read() == (0, [])
    assert await searches.launch() == 202


@pytest.mark.parametrize(
    ("user", "shown"), [("api", {"id": "api", "firstName": "API"}), ("null", None), ("key", "Ada")]
)
async def test_usages_stand_under_an_identity(user: Any, shown: Any) -> None:
    """Usages name the user of the key, an identity of the interface, or null."""
    searches = Searches(Books(user=user))
    await searches.launch()
    (usage,) = await searches.usages()
    assert shown == (usage["user"]["firstName"] if user == "key" else usage["user"])


@pytest.mark.parametrize(
    ("keyword", "written"),
    [
        ("same", "Tents"),
        ("decorated", "content_idea_search Tents (US)"),
        ("upper", "TENTS"),
        ("other", "a keyword"),
        ("null", None),
        ("absent", None),
    ],
)
async def test_usages_write_keywords_as_the_books_say(keyword: Any, written: str | None) -> None:
    """A usage writes the keyword with a decoration, in another case, as another word, as null, or not at all."""
    searches = Searches(Books(keyword=keyword))
    await searches.launch()
    (usage,) = await searches.usages()
    assert written == (usage["keyword"]["keyword"] if usage.get("keyword") else None)
    assert ("keyword" in usage) == (keyword != "absent")


async def test_usages_may_be_refused() -> None:
    """Even an administrator gets a 403 for usages; the balance is shown."""
    searches = Searches(Books(refused=True))
    await searches.launch()
    assert (await searches.call("GET", LISTED)).status == 403
    assert searches.box.credits.content_ideas_searches == 9_999


async def test_pages_of_usages_may_be_small() -> None:
    """A page has no more usages than the books say, and tells its size; other lists are as large as asked for."""
    searches = Searches(Books(page_size=2))
    for _ in range(3):
        await searches.launch()
    page = await searches.call.get(LISTED + "&limit=100")
    assert (len(page["data"]), page["pagination"]["limit"], page["pagination"]["hasMore"]) == (2, 2, True)
    assert len((await searches.call.get(LISTED + "&limit=100&page=2"))["data"]) == 1
    assert len((await searches.call.get("/v1/users"))["data"]) == 5


async def test_usages_may_end_early() -> None:
    """Beyond the last page there is nothing, and that page says so; the total stays true."""
    searches = Searches(Books(pages=2))
    for _ in range(5):
        await searches.launch()
    pages = [await searches.call.get(LISTED + f"&limit=2&page={number}") for number in (1, 2, 3)]
    assert [len(page["data"]) for page in pages] == [2, 2, 0]
    assert [page["pagination"]["hasMore"] for page in pages] == [True, False, False]
    assert pages[0]["pagination"]["total"] == 5


@pytest.mark.parametrize("order", ["newest", "oldest"])
async def test_usages_may_begin_with_the_oldest(order: Any) -> None:
    """Usages are listed from the oldest, whatever the order of other lists."""
    searches = Searches(Books(oldest_first=True), behaviour=Behaviour(order=order))
    for keyword in ("first", "second"):
        await searches.launch(keyword)
    assert [usage["keyword"]["keyword"] for usage in await searches.usages()] == ["first", "second"]


async def test_the_same_seed_gives_the_same_books() -> None:
    """Which launches are free, and which credits come back, depends on the seed alone."""

    async def books(seed: int) -> list[Any]:
        searches = Searches(Books(free=0.3, refunded=0.5, refund="row"), seed=seed)
        for _ in range(20):
            await searches.launch()
        await asyncio.sleep(100.0)
        return [(usage["amount"], usage["remainingCredits"]) for usage in await searches.usages("&limit=100")]

    assert await books(1) == await books(1) != await books(2)


@pytest.mark.parametrize(
    "wrong",
    [
        {"booked_after": -1},
        {"booked_after": "start"},
        {"free": 1.5},
        {"refunded": -0.1},
        {"refunded_after": -1},
        {"refund": "twice"},
        {"user": "colleague"},
        {"keyword": "lower"},
        {"page_size": 0},
        {"pages": 0},
    ],
)
def test_nonsense_is_refused(wrong: dict[str, Any]) -> None:
    """A setting outside its range is refused, and the message names it."""
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Books(**wrong)
