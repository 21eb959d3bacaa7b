"""Launches that meet: each other, other clients, reviews, and failures that come together; on the sandbox."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cmsapi import Client, LaunchPolicy, RateLimits
from cmsapi.errors import ClientClosedError, CMSError, JobError, LaunchUnknownError
from cmsapi.sandbox import Fault, Limits, Sandbox

pytestmark = pytest.mark.looptime

SEARCH = "start_content_idea_search"


@pytest.fixture
def sandbox() -> Sandbox:
    """Return a service whose clock is wrong, and whose jobs take a minute."""
    return Sandbox(durations=60, clock_skew=4000)


def client_of(sandbox: Sandbox, **options: Any) -> Client:
    """Return a client with other options than the fixture's."""
    return Client(sandbox.api_key, base_url=sandbox.base_url, transport=sandbox.transport, **options)


async def search(client: Client, sandbox: Sandbox, word: str, wait: float = 0.0) -> str:
    """Launch a search after some seconds, and return what came of it."""
    await asyncio.sleep(wait)
    try:
        return (await client.content_ideas.search(sandbox.workspace_id, word)).status
    except CMSError as error:
        return type(error).__name__


async def test_a_search_in_doubt_keeps_the_balance_of_others_unknown(client: Client, sandbox: Sandbox) -> None:
    """A balance that is read while a failed search may have been charged does not let it be repeated."""
    sandbox.faults.rules += [
        Fault(match=SEARCH, times=1, status=500, effect=True),
        Fault(match=SEARCH, times=1, status=502, body="foreign", effect=True),
    ]
    searches = (search(client, sandbox, word, wait) for word, wait in (("a", 0.0), ("b", 0.05), ("c", 0.1)))
    await asyncio.gather(*searches)
    assert [len(sandbox.ledger.launches_of(word)) for word in "abc"] == [1, 1, 1]


async def test_a_search_is_unknown_if_the_balance_cannot_be_read(client: Client, sandbox: Sandbox) -> None:
    """A search that the service has carried out and called failed is named, although ``/v1/me`` fails, too."""
    sandbox.faults.rules += [
        Fault(match=SEARCH, times=1, status=500, effect=True),
        Fault(match="get_me", after=1, status=503),
    ]
    assert await search(client, sandbox, "tea") == "LaunchUnknownError"
    assert [error.target for error in await client.jobs.unknown()] == ["tea"]


async def test_a_document_that_cannot_be_read_shows_nothing(client: Client, sandbox: Sandbox) -> None:
    """After a 500 that was carried out, an unreadable keyword does not let the analysis be repeated."""
    keyword = sandbox.keyword_ids[0]
    sandbox.faults.rules += [
        Fault(match="analyze_keyword", times=1, status=500, effect=True),
        Fault(match="get_keyword", times=5, status=503),
    ]
    await client.keywords.analyze(keyword)
    assert len(sandbox.ledger.launches_of(keyword)) == 1


async def test_a_join_that_decides_launches_no_second_generation(client: Client, sandbox: Sandbox) -> None:
    """A generation whose article waits is decided by the one who joins, and not launched again."""
    content = sandbox.content_ids[0]
    await client.contents.generate(content, on_review="confirm")
    await asyncio.sleep(70)
    review = await (await client.contents.generate(content, on_review="confirm"))
    assert review.decision == "confirm"
    assert len(sandbox.ledger.launches_of(content)) == 1


async def test_callers_at_once_share_the_decision(client: Client, sandbox: Sandbox) -> None:
    """Of two callers at once the one with ``on_review`` has the article decided."""
    content = sandbox.content_ids[0]
    first, _ = await asyncio.gather(
        client.contents.generate(content), client.contents.generate(content, on_review="confirm")
    )
    assert (await first).decision == "confirm"


async def test_a_repeat_of_an_unknown_launch_needs_a_credit(sandbox: Sandbox) -> None:
    """``max_credits`` bounds what ``on_unknown="repeat"`` may pay twice."""
    sandbox.faults.rules.append(Fault(match=SEARCH, times=1, drop="after"))
    async with client_of(sandbox, launch=LaunchPolicy(on_unknown="repeat", max_credits=1)) as client:
        assert await search(client, sandbox, "tea") == "LaunchUnknownError"
    assert len(sandbox.ledger.launches) == 1


async def test_a_refusal_after_503_is_looked_into(client: Client, sandbox: Sandbox) -> None:
    """A 409 to the attempt after a 503 that was carried out adopts the analysis that runs."""
    keyword = sandbox.keyword_ids[0]
    sandbox.faults.rules.append(Fault(match="analyze_keyword", times=1, status=503, effect=True))
    assert (await (await client.keywords.analyze(keyword))).analysis_status == "success"
    assert len(sandbox.ledger.launches_of(keyword)) == 1


async def test_a_launch_that_is_being_cancelled_is_not_joined() -> None:
    """A caller that comes in the turn in which the only other one is cancelled launches by itself."""
    sandbox = Sandbox(durations=60, limits=Limits(used=1000, used_age=0))
    async with client_of(sandbox) as client:
        first = asyncio.ensure_future(client.keywords.analyze(sandbox.keyword_ids[0]))
        await asyncio.sleep(60)
        first.cancel()
        assert (await client.keywords.analyze(sandbox.keyword_ids[0])).status == "running"


async def test_closing_one_client_leaves_launches_of_others() -> None:
    """Of two clients that wait for the hour to launch the same, the one that stays open launches."""
    sandbox = Sandbox(durations=60, limits=Limits(used=1000, used_age=0))
    async with client_of(sandbox) as stays:
        leaves = client_of(sandbox)
        refused = asyncio.ensure_future(leaves.keywords.analyze(sandbox.keyword_ids[0]))
        launched = asyncio.ensure_future(stays.keywords.analyze(sandbox.keyword_ids[0]))
        await asyncio.sleep(60)
        await leaves.aclose()
        with pytest.raises(ClientClosedError):
            await refused
        assert (await launched).status == "running"
    assert len(sandbox.ledger.launches) == 1


async def test_a_launch_that_may_have_been_accepted_outlives_its_caller(client: Client, sandbox: Sandbox) -> None:
    """A caller that is cancelled after a 500 leaves a launch that goes on and can be joined."""
    keyword = sandbox.keyword_ids[0]
    sandbox.faults.rules.append(Fault(match="analyze_keyword", times=1, status=500))
    caller = asyncio.ensure_future(client.keywords.analyze(keyword))
    await asyncio.sleep(0.1)
    caller.cancel()
    await asyncio.sleep(5)
    assert (await client.keywords.analyze(keyword)).status == "running"
    assert len(sandbox.ledger.launches_of(keyword)) == 1


async def test_a_pause_leaves_no_launch_to_settle(client: Client, sandbox: Sandbox) -> None:
    """While a launch waits after a 429, the state knows none: its process may die without a trace."""
    keyword = sandbox.keyword_ids[0]
    sandbox.faults.rules.append(Fault(match="analyze_keyword", times=1, status=429, retry_after=500))
    async with client_of(sandbox, limits=RateLimits()) as client:
        launch = asyncio.ensure_future(client.keywords.analyze(keyword))
        await asyncio.sleep(100)
        assert await client.jobs.resume() == []
        assert (await launch).status == "running"


async def test_tokens_of_earlier_generations_change_no_later_one(client: Client, sandbox: Sandbox) -> None:
    """A generation is awaited as itself, although an older one of the content is attached meanwhile."""
    content = sandbox.content_ids[0]
    first = await client.contents.generate(content, on_review="confirm")
    await first
    second = await client.contents.generate(content)
    client.jobs.attach(first.token)
    assert (await second).decision is None


async def test_the_token_of_an_unknown_launch_says_so(client: Client, sandbox: Sandbox) -> None:
    """`jobs.status` of a launch whose outcome stayed unknown is unknown, and attaching to it makes no job."""
    sandbox.faults.rules.append(Fault(match="analyze_keyword", times=1, drop="before"))
    with pytest.raises(LaunchUnknownError) as unknown:
        await client.keywords.analyze(sandbox.keyword_ids[0])
    assert isinstance(unknown.value, JobError)
    assert await client.jobs.status(str(unknown.value.token)) == "unknown"


async def test_a_lost_decision_is_made_again(client: Client, sandbox: Sandbox) -> None:
    """A decision of ``on_review`` that fails puts the job back into the schedule."""
    sandbox.faults.rules.append(Fault(match="confirm_generation", times=1, drop="before"))
    job = await client.contents.generate(sandbox.content_ids[0], on_review="confirm")
    assert (await job.wait(timeout=600)).decision == "confirm"


async def test_a_decision_that_is_refused_changes_no_record(client: Client, sandbox: Sandbox) -> None:
    """A batch tells the decision that was carried out, and not the one that was refused after it."""
    batch = client.jobs.batch("b")
    (outcome,) = await batch.map(client.contents.generate, sandbox.content_ids[:1])
    await outcome.result().confirm()
    with pytest.raises(CMSError):
        await outcome.result().cancel()
    (again,) = await client.jobs.batch("b").map(client.contents.generate, sandbox.content_ids[:1])
    assert again.result().decision == "confirm"
