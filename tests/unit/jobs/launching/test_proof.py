"""A launch is sent again only with a proof that leans on balances and known launches, not on times or spelling."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable
from typing import Any

import attrs
import pytest

import cmsapi
from cmsapi.config import LaunchPolicy
from cmsapi.message import Request, Response
from cmsapi.sandbox import Behaviour, Fault, Limits, Sandbox
from tests.support.jobs import Spoiling, box, client_of
from tests.support.launches import rely_on_books

pytestmark = pytest.mark.looptime

SEARCH = "POST */content-idea-searches"
ANALYSE = "POST */analyze"
# Keywords that a service may write in another way.
UNTIDY = " Été Tents "
LONG = "tents for every kind of weather " * 12

CLOCKS: list[dict[str, Any]] = [
    {"date_ahead": 3},
    {"date_ahead": 10},
    {"date_ahead": -10},
    {"date_ahead": (0, 4)},
    {"date_ahead": (4, 0)},
    {"stamps_ahead": (0, -4)},
    {"stamps_ahead": (-4, 0)},
    {"date_ahead": (2, -2), "stamps_ahead": (-3, 3)},
    {"date_ahead": 3600},
    {"date_ahead": -3600},
    {"stamps_ahead": (0, -900)},
]


def lost(match: str, **how: Any) -> Fault:
    """Lose the answer of the first such request."""
    return Fault(match=match, **{"drop": True, "when": "after", **how})


async def paid_once_or_reported(sandbox: Sandbox, launching: Any) -> str:
    """Launch, and return `job` or `unknown`; whichever it is, one launch was paid."""
    try:
        await launching
        end = "job"
    except cmsapi.LaunchUnknownError:
        end = "unknown"
    await asyncio.sleep(120)
    assert len(sandbox.ledger.launches()) == 1
    return end


@pytest.mark.parametrize("clocks", CLOCKS, ids=str)
async def test_a_search_is_paid_once_whatever_the_clocks_say(clocks: dict[str, Any]) -> None:
    """A charge that is dated before the launch, because two clocks differ, is not taken for another client's."""
    sandbox = box(behaviour=Behaviour(**clocks), rules=[lost(SEARCH)])
    async with client_of(sandbox) as client:
        await client.me()
        assert await paid_once_or_reported(sandbox, client.content_ideas.search(sandbox.workspace_id, "tents")) == (
            "unknown"
        )


@pytest.mark.parametrize("outcome", ["success", "failed"])
@pytest.mark.parametrize("clocks", CLOCKS, ids=str)
async def test_an_analysis_is_paid_once_whatever_the_clocks_say(clocks: dict[str, Any], outcome: Any) -> None:
    """The same for an analysis that has ended before it is looked up."""
    sandbox = box(5.0, behaviour=Behaviour(**clocks), rules=[lost(ANALYSE)])
    sandbox.set_outcome(sandbox.keyword_ids[0], outcome)
    async with client_of(sandbox) as client:
        await client.me()
        await paid_once_or_reported(sandbox, client.keywords.analyze(sandbox.keyword_ids[0]))


@pytest.mark.parametrize("keyword", ["tents", UNTIDY, LONG], ids=["plain", "untidy", "long"])
@pytest.mark.parametrize("ways", [(), ("lower",), ("trimmed",), ("nfc",), ("cut",), ("lower", "trimmed", "nfc", "cut")])
async def test_a_search_is_paid_once_however_usages_are_written(ways: tuple[str, ...], keyword: str) -> None:
    """A charge whose keyword is written in another way is not taken for another client's."""
    sandbox = box(behaviour=Behaviour(usage_keyword=ways), rules=[lost(SEARCH)])
    async with client_of(sandbox) as client:
        await client.me()
        searching = client.content_ideas.search(sandbox.workspace_id, keyword)
        assert await paid_once_or_reported(sandbox, searching) == "unknown"


@pytest.mark.parametrize("ways", [{"usage_country": "lower"}, {"usage_keyword": ("lower", "cut")}], ids=str)
async def test_a_failed_analysis_is_paid_once_however_usages_are_written(ways: dict[str, Any]) -> None:
    """A failed analysis shows no time, so that its charge alone tells of it, in whatever case."""
    sandbox = box(5.0, behaviour=Behaviour(**ways), rules=[lost(ANALYSE)])
    sandbox.set_outcome(sandbox.keyword_ids[0], "failed")
    async with client_of(sandbox) as client:
        await client.me()
        await paid_once_or_reported(sandbox, client.keywords.analyze(sandbox.keyword_ids[0]))


@pytest.mark.parametrize("told", [{}, {"drop": True, "when": "after"}, {"status": 504, "when": "after"}], ids=str)
@pytest.mark.parametrize(
    ("request_timeout", "late"), [(1.0, 8.0), (2.0, 12.0), (5.0, 12.0), (30.0, 40.0), (30.0, 55.0), (0.1, 59.0)]
)
async def test_a_short_timeout_does_not_shorten_the_doubt(
    request_timeout: float, late: float, told: dict[str, Any]
) -> None:
    """What a service does up to a minute after it has got a request is waited for, however patient the client is."""
    sandbox = box(300.0, rules=[Fault(match="POST *", late=late, **told)])
    timeouts = cmsapi.Timeouts(request=request_timeout)
    async with client_of(sandbox, timeouts=timeouts) as client:
        await client.me()
        await paid_once_or_reported(sandbox, client.content_ideas.search(sandbox.workspace_id, "tents"))
    sandbox = box(300.0, rules=[Fault(match="POST *", late=late, **told)])
    async with client_of(sandbox, timeouts=timeouts) as client:
        assert await paid_once_or_reported(sandbox, client.keywords.analyze(sandbox.keyword_ids[0])) == "job"


async def test_the_settle_time_begins_when_the_launch_leaves() -> None:
    """A slow connection takes nothing from the time in which a launch may take effect."""
    sandbox, late = box(300.0), list[asyncio.Task[Response]]()

    class SlowToConnect:
        async def send(self, request: Request) -> Response:
            return await self.send_aware(request, lambda: None)

        async def send_aware(self, request: Request, departing: Callable[[], None]) -> Response:
            if request.method == "POST" and not late:
                await asyncio.sleep(4.5)
                departing()
                late.append(asyncio.create_task(self.arrive(request)))
                raise cmsapi.OutcomeUnknownError("No whole answer came back.")
            departing()
            return await sandbox.transport.send(request)

        async def arrive(self, request: Request) -> Response:
            await asyncio.sleep(2.0)
            return await sandbox.transport.send(request)

    async with client_of(sandbox, transport=SlowToConnect(), launch=LaunchPolicy(settle=5.0)) as client:
        await paid_once_or_reported(sandbox, client.content_ideas.search(sandbox.workspace_id, "tents"))


@pytest.mark.parametrize("how", [{"drop": True}, {"status": 502}, {"status": 503}], ids=str)
@pytest.mark.parametrize("behaviour", [{}, *CLOCKS[:3], {"usage_keyword": ("nfc",)}, {"order": "oldest"}], ids=str)
async def test_what_did_not_happen_is_sent_again(behaviour: dict[str, Any], how: dict[str, Any]) -> None:
    """A launch that failed before its effect is found absent among others, whatever clocks and usages are like."""
    rules = [Fault(match=match, when="before", between=(100.0, 1e9), **how) for match in (SEARCH, ANALYSE)]
    sandbox = box(30.0, behaviour=Behaviour(**behaviour), rules=rules)
    await rely_on_books(sandbox)
    async with client_of(sandbox) as client:
        await client.me()
        for number in range(3):
            await client.content_ideas.search(sandbox.workspace_id, f"Caps {number}")
            await client.keywords.analyze(sandbox.keyword_ids[number])
        await asyncio.sleep(100.0)
        await client.content_ideas.search(sandbox.workspace_id, "Tents")
        await client.keywords.analyze(sandbox.keyword_ids[5])
    assert len(sandbox.ledger.launches()) == 8


@pytest.mark.parametrize("kind", ["search", "analysis"])
async def test_what_did_not_happen_is_told_in_the_middle_of_a_fan_out(kind: str) -> None:
    """Launches that are charged while the balance and the usages are read leave no doubt about the lost ones."""
    rules = [Fault(match="POST *", drop=True, times=None, probability=0.3)]
    sandbox = box(30.0, rules=rules, latency=(0.02, 0.2), limits=Limits.unlimited(), keywords=50)
    async with client_of(sandbox, limits=cmsapi.RateLimits.unlimited()) as client:

        async def search(number: int) -> cmsapi.Job[Any]:
            return await client.content_ideas.search(sandbox.workspace_id, f"{number:03} tents")

        async def analyse(number: int) -> cmsapi.Job[Any]:
            return await client.keywords.analyze(sandbox.keyword_ids[number])

        outcomes = [each async for each in client.jobs.map(search if kind == "search" else analyse, range(50))]
    assert len(outcomes) == 50
    assert not [each for each in outcomes if isinstance(each.error, cmsapi.LaunchUnknownError)]
    assert len(sandbox.ledger.launches()) == sum(each.error is None for each in outcomes)


async def test_what_is_launched_without_a_balance_is_not_found_absent() -> None:
    """Who does not want the balance to be read before a launch has no proof afterwards that it did not happen."""
    sandbox = box(rules=[lost(SEARCH, when="before")])
    async with client_of(sandbox, launch=LaunchPolicy(baseline="none")) as client:
        with pytest.raises(cmsapi.LaunchUnknownError) as caught:
            await client.content_ideas.search(sandbox.workspace_id, "tents")
    assert caught.value.evidence["found"].startswith("the balance was not read before the launch")
    assert [entry.operation for entry in sandbox.ledger][:1] == ["start_content_idea_search"]


async def test_the_balance_is_read_once_before_many_launches() -> None:
    """A fan-out reads the balance before its first launch, and again after a hundred."""
    sandbox = box(5.0, keywords=150, limits=Limits.unlimited())
    async with client_of(sandbox, limits=cmsapi.RateLimits.unlimited()) as client:
        await asyncio.gather(*(client.keywords.analyze(each) for each in sandbox.keyword_ids))
    operations = [entry.operation for entry in sandbox.ledger]
    assert operations[0] == "get_me"
    assert operations.count("get_me") == 2


async def test_a_balance_that_cannot_be_read_keeps_no_launch_back() -> None:
    """Without it the launch is sent all the same, and adopted when the service shows it."""
    sandbox = box(300.0, rules=[Fault(match="GET /v1/me", status=403, times=None), lost(ANALYSE)])
    async with client_of(sandbox) as client:
        await client.keywords.analyze(sandbox.keyword_ids[0])
    assert len(sandbox.ledger.launches()) == 1


async def test_a_stranger_with_our_key_leaves_it_unknown() -> None:
    """A charge of our own user that no launch known here explains may be the lost one's."""
    sandbox = box(rules=[lost(SEARCH, when="before")])
    async with client_of(sandbox) as client:
        await client.me()
        sandbox.clear_faults()
        path = f"/v1/workspaces/{sandbox.workspace_id}/content-idea-searches"
        await client.request("POST", path, json={"keyword": "boots"})
        sandbox.add_fault(lost(SEARCH, when="before"))
        with pytest.raises(cmsapi.LaunchUnknownError):
            await client.content_ideas.search(sandbox.workspace_id, "tents")


async def test_a_colleague_leaves_it_unknown() -> None:
    """What another user of the organisation seems to have paid may be the lost launch under another name."""
    sandbox = box(rules=[lost(SEARCH, when="before", between=(10.0, 1e9))])
    async with client_of(sandbox) as client, client_of(sandbox, api_key=sandbox.member_key) as colleague:
        await client.me()
        await colleague.content_ideas.search(sandbox.workspace_id, "tents")
        await asyncio.sleep(20.0)
        with pytest.raises(cmsapi.LaunchUnknownError):
            await client.content_ideas.search(sandbox.workspace_id, "tents")
    assert len(sandbox.ledger.launches()) == 1


async def test_credits_that_were_bought_meanwhile_leave_it_unknown() -> None:
    """A balance that went up and down again agrees with nothing."""
    sandbox = box(rules=[lost(SEARCH)])
    async with client_of(sandbox) as client:
        await client.me()
        searching = asyncio.create_task(client.content_ideas.search(sandbox.workspace_id, "tents"))
        await asyncio.sleep(5.0)
        sandbox.set_credits(content_ideas_searches=sandbox.credits.content_ideas_searches + 1)
        assert await paid_once_or_reported(sandbox, searching) == "unknown"


@pytest.mark.parametrize(
    ("status", "shown"),
    [(404, {"error": {"code": "not_found", "message": "none"}}), (200, {"id": "gen_before", "status": "applied"})],
    ids=["none", "the one before"],
)
async def test_a_generation_that_is_shown_no_more_is_paid_once(status: int, shown: dict[str, Any]) -> None:
    """A service that does not show a generation once it has failed was paid for it all the same."""
    sandbox = box(5.0, rules=[lost("POST */atomic")])

    def as_before(request: Request, response: Response) -> Response:
        if request.method != "GET" or not request.url.endswith("/generation"):
            return response
        return attrs.evolve(response, status=status, body=json.dumps(shown).encode())

    async with client_of(sandbox, transport=Spoiling(sandbox, as_before)) as client:
        with pytest.raises(cmsapi.LaunchUnknownError):
            await client.contents.generate(sandbox.content_ids[0])
    assert len(sandbox.ledger.launches()) == 1


@pytest.mark.parametrize("kind", ["search", "analysis"])
@pytest.mark.parametrize("earlier", [False, True], ids=["no usage before", "one before"])
async def test_a_credit_that_was_given_back_just_before_leaves_it_unknown(kind: str, earlier: bool) -> None:
    """The charge of the lost launch then leads to the balance that was read, as one from before it does."""
    sandbox = box(5.0)
    sandbox.set_outcome(sandbox.keyword_ids[1], "failed")
    async with client_of(sandbox) as client:
        if earlier:
            await client.content_ideas.search(sandbox.workspace_id, "boots")
            await client.keywords.analyze(sandbox.keyword_ids[0])
            await asyncio.sleep(1000.0)
        await client.me()
        paid, credits_ = len(sandbox.ledger.launches()), sandbox.credits
        sandbox.set_credits(content_ideas_searches=credits_.content_ideas_searches + 1, analysis=credits_.analysis + 1)
        sandbox.add_fault(lost("POST *"))
        if kind == "search":
            launching: Any = client.content_ideas.search(sandbox.workspace_id, "tents")
        else:
            launching = client.keywords.analyze(sandbox.keyword_ids[1])
        with pytest.raises(cmsapi.LaunchUnknownError):
            await launching
    assert len(sandbox.ledger.launches()) == paid + 1


async def test_a_list_without_end_is_read_for_a_while() -> None:
    """Usages that never end are given up after some pages, and the launch is unknown."""
    sandbox = box(rules=[lost(SEARCH)])
    numbers = itertools.count()

    def endless(request: Request, response: Response) -> Response:
        if "credit-usages" not in request.url:
            return response
        document = json.loads(response.body)
        for usage in document["data"]:
            usage["id"] += str(next(numbers))
        document["pagination"].update(hasMore=True, total=10**9)
        return attrs.evolve(response, body=json.dumps(document).encode())

    async with client_of(sandbox, transport=Spoiling(sandbox, endless)) as client:
        await client.me()
        with pytest.raises(cmsapi.LaunchUnknownError):
            await client.content_ideas.search(sandbox.workspace_id, "tents")
    assert sandbox.ledger.count(operation="list_credit_usages") <= 30


async def test_the_error_counts_what_was_sent() -> None:
    """After a second attempt it says how many launches were sent, and how many credits they may have cost."""
    sandbox = box(rules=[lost(SEARCH, when="before"), lost(SEARCH)])
    await rely_on_books(sandbox)
    async with client_of(sandbox) as client:
        await client.me()
        with pytest.raises(cmsapi.LaunchUnknownError) as caught:
            await client.content_ideas.search(sandbox.workspace_id, "tents")
    assert caught.value.evidence["sent"] == 2
    assert "up to 2 credits may have been charged" in str(caught.value)
