"""The consequences of each response to a launch, and of a missing one; on the sandbox."""

from __future__ import annotations

import asyncio
from typing import Any, TypeAlias

import pytest

from cmsapi import Client, LaunchPolicy, RetryPolicy, Timeouts
from cmsapi.errors import APIError, CMSError, JobError, LaunchUnknownError, NotSentError, ServiceUnavailableError
from cmsapi.sandbox import Sandbox
from tests.support.box import client_of, now
from tests.support.spec import spec
from tests.unit.jobs.launching import (
    ANALYSIS,
    KINDS,
    LAUNCHES,
    SEARCH,
    WITH_TRACES,
    WITHOUT_TRACES,
    accepted,
    fail,
)

pytestmark = pytest.mark.looptime

Options: TypeAlias = dict[str, Any]

DEADLINE = 35
"""Seconds after which no launch is under way any more: the time limit of a request, and a margin."""


@pytest.fixture(params=[-4000.0, 4000.0], ids=["behind", "ahead"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Return a service whose clock is wrong, and whose jobs have a known duration."""
    return Sandbox(durations=50, clock_skew=request.param)


NOT_CARRIED_OUT: dict[str, Options] = {
    "refused": {"refuse": True, "times": 2},
    "gateway 429": {"status": 429, "body": "foreign"},
    **{str(status): {"status": status, "times": 2} for status in (429, 500, 502, 503)},
}


@spec("7.1")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", NOT_CARRIED_OUT.values(), ids=NOT_CARRIED_OUT)
async def test_what_had_no_effect_is_repeated(kind: str, fault: Options, client: Client, sandbox: Sandbox) -> None:
    """A launch that the service has not carried out is sent again, and accepted once."""
    fail(sandbox, kind, **fault)
    job = await LAUNCHES[kind](client, sandbox)
    assert job.status == "running"
    assert accepted(sandbox) == 1
    assert now() < 10


async def test_a_launch_waits_as_long_as_retry_after_says(client: Client, sandbox: Sandbox) -> None:
    """Meanwhile the state contains no launch, so that the process may die without a trace."""
    fail(sandbox, ANALYSIS, status=429, retry_after=77)
    launch = asyncio.ensure_future(LAUNCHES[ANALYSIS](client, sandbox))
    await asyncio.sleep(50)
    assert await client.jobs.resume() == []
    assert (await launch).status == "running"
    assert 77 <= now() <= 79
    assert sandbox.ledger.count(ANALYSIS) == 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("fault", "error"), [({"refuse": True}, NotSentError), ({"status": 503}, ServiceUnavailableError)]
)
async def test_giving_up_leaves_nothing(
    kind: str, fault: Options, error: type[Exception], client: Client, sandbox: Sandbox
) -> None:
    """After the last attempt the error is raised, and the next call launches at once."""
    fail(sandbox, kind, **fault, times=RetryPolicy().max_attempts)
    with pytest.raises(error):
        await LAUNCHES[kind](client, sandbox)
    assert accepted(sandbox) == 0
    before = now()
    await LAUNCHES[kind](client, sandbox)
    assert accepted(sandbox) == 1
    assert now() - before < 2


@spec("7.2")
@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422])
@pytest.mark.parametrize("kind", KINDS)
async def test_a_refusal_is_raised_at_once(kind: str, status: int, client: Client, sandbox: Sandbox) -> None:
    """A launch that the service refuses is sent once, and does not block another."""
    fail(sandbox, kind, status=status)
    with pytest.raises(APIError) as refused:
        await LAUNCHES[kind](client, sandbox)
    assert refused.value.status == status
    assert (accepted(sandbox), sandbox.ledger.count(kind)) == (0, 1)
    await LAUNCHES[kind](client, sandbox)
    assert accepted(sandbox) == 1
    assert now() < 1


@pytest.mark.parametrize("status", [500, 502])
@pytest.mark.parametrize("kind", WITH_TRACES)
async def test_a_launch_behind_a_500_is_adopted(kind: str, status: int, client: Client, sandbox: Sandbox) -> None:
    """If the service fails after it has launched a job, the launch is not sent a second time."""
    fail(sandbox, kind, status=status, effect=True)
    await (await LAUNCHES[kind](client, sandbox))
    assert (accepted(sandbox), sandbox.ledger.count(kind)) == (1, 1)


@pytest.mark.parametrize(
    "look", [{"status": 404}, {"status": 503, "times": 5}, None], ids=["shows nothing", "is unreadable", "is not read"]
)
async def test_a_refusal_of_a_repeat_is_looked_into(look: Options | None, client: Client, sandbox: Sandbox) -> None:
    """A 409 to the repeat of a launch that was carried out refers to that launch, which is adopted."""
    fail(sandbox, ANALYSIS, status=500 if look else 503, effect=True)
    if look:
        fail(sandbox, "get_keyword", **look)
    assert (await (await LAUNCHES[ANALYSIS](client, sandbox))).analysis_status == "success"
    assert sandbox.ledger.count(ANALYSIS, 409) <= 1
    assert accepted(sandbox) == 1


@pytest.mark.parametrize("balance", [{"status": 403, "times": None}, {"status": 503, "times": None, "after": 1}, None])
async def test_a_search_behind_a_500_is_unknown(balance: Options | None, client: Client, sandbox: Sandbox) -> None:
    """A search is not repeated if the balance has fallen, was not known beforehand, or cannot be read."""
    if balance:
        fail(sandbox, "get_me", **balance)
    fail(sandbox, SEARCH, status=500, effect=True)
    with pytest.raises(LaunchUnknownError):
        await LAUNCHES[SEARCH](client, sandbox)
    assert sandbox.ledger.count(SEARCH) == 1
    assert [error.target for error in await client.jobs.unknown()] == ["tea"]


async def test_answered_searches_do_not_count_against_one_that_failed(client: Client, sandbox: Sandbox) -> None:
    """A balance that has fallen only by the answered searches allows another one to be repeated."""
    await LAUNCHES[SEARCH](client, sandbox)
    await LAUNCHES[SEARCH](client, sandbox)
    fail(sandbox, SEARCH, status=500)
    await LAUNCHES[SEARCH](client, sandbox)
    assert accepted(sandbox) == 3


async def test_a_search_that_is_answered_while_the_balance_is_read_explains_no_credit(
    client: Client, sandbox: Sandbox
) -> None:
    """The balance may have been read before that search was accepted, so the credit is another one's."""
    await LAUNCHES[SEARCH](client, sandbox)
    fail(sandbox, SEARCH, status=500, effect=True)
    fail(sandbox, "get_me", slow=5)
    failing = asyncio.create_task(client.content_ideas.search(sandbox.workspace_id, "a"))
    await asyncio.sleep(3)
    await client.content_ideas.search(sandbox.workspace_id, "b")
    with pytest.raises(LaunchUnknownError):
        await failing
    assert [len(sandbox.ledger.launches_of(word)) for word in "ab"] == [1, 1]


async def test_a_search_in_doubt_keeps_the_balance_of_others_unknown(client: Client, sandbox: Sandbox) -> None:
    """A balance that is read while another search may have been charged does not allow a repeat."""
    fail(sandbox, SEARCH, status=500, effect=True)
    fail(sandbox, SEARCH, status=502, body="foreign", effect=True)

    async def search(word: str, wait: float) -> None:
        await asyncio.sleep(wait)
        await client.content_ideas.search(sandbox.workspace_id, word)

    searches = (search(word, wait) for word, wait in (("a", 0.0), ("b", 0.05), ("c", 0.1)))
    results = await asyncio.gather(*searches, return_exceptions=True)
    assert all(result is None or isinstance(result, CMSError) for result in results)
    assert [len(sandbox.ledger.launches_of(word)) for word in "abc"] == [1, 1, 1]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_launch_that_always_fails_is_unknown(kind: str, client: Client, sandbox: Sandbox) -> None:
    """After the last 500 nothing shows that no attempt was carried out."""
    fail(sandbox, kind, status=500, times=None)
    with pytest.raises(LaunchUnknownError) as unknown:
        await LAUNCHES[kind](client, sandbox)
    assert unknown.value.attempts == sandbox.ledger.count(kind) == RetryPolicy().max_attempts


LOST: dict[str, Options] = {
    "dropped": {"drop": "after"},
    "unreadable": {"garbage": True},
    "slow": {"slow": 100},
    **{f"gateway {n}": {"status": n, "body": "foreign", "effect": True} for n in (200, 302, 404, 409, 500, 503, 504)},
}


@pytest.mark.parametrize("fault", LOST.values(), ids=LOST)
@pytest.mark.parametrize("kind", WITH_TRACES)
async def test_a_lost_launch_is_adopted(kind: str, fault: Options, client: Client, sandbox: Sandbox) -> None:
    """A launch without a readable response is looked for once it can no longer be under way, and not repeated."""
    fail(sandbox, kind, **fault)
    job = await LAUNCHES[kind](client, sandbox)
    assert DEADLINE <= now() <= DEADLINE + 2
    await job
    assert now() <= 50 + 11
    assert (accepted(sandbox), sandbox.ledger.count(kind)) == (1, 1)


async def test_a_shorter_timeout_settles_a_lost_launch_sooner(sandbox: Sandbox) -> None:
    """With ``Timeouts(request=10)`` a lost launch is looked for after 15 seconds instead of 35."""
    fail(sandbox, ANALYSIS, drop="after")
    async with client_of(sandbox, timeouts=Timeouts(request=10)) as client:
        await LAUNCHES[ANALYSIS](client, sandbox)
    assert 15 <= now() <= 17


@pytest.mark.parametrize("fault", LOST.values(), ids=LOST)
@pytest.mark.parametrize("kind", WITHOUT_TRACES)
async def test_a_lost_search_is_unknown(kind: str, fault: Options, client: Client, sandbox: Sandbox) -> None:
    """No document shows a search or a new document whose response was lost: it is unknown without further waiting."""
    fail(sandbox, kind, **fault)
    with pytest.raises(LaunchUnknownError) as unknown:
        await LAUNCHES[kind](client, sandbox)
    assert unknown.value.target in ("tea", "Prices")
    assert now() <= 31
    assert (accepted(sandbox), sandbox.ledger.count(kind)) == (1, 1)


@pytest.mark.parametrize("kind", WITH_TRACES)
@pytest.mark.parametrize("fault", [{"drop": "before"}, {"status": 502, "body": "foreign"}])
async def test_absence_proves_nothing(kind: str, fault: Options, client: Client, sandbox: Sandbox) -> None:
    """A document that shows no launch proves nothing; the caller decides, and may launch at once."""
    fail(sandbox, kind, **fault)
    with pytest.raises(LaunchUnknownError) as unknown:
        await LAUNCHES[kind](client, sandbox)
    assert isinstance(unknown.value, JobError)
    assert await client.jobs.status(str(unknown.value.token)) == "unknown"
    assert (accepted(sandbox), sandbox.ledger.count(kind)) == (0, 1)
    assert [(each.target, each.attempts) for each in await client.jobs.unknown()] == [(unknown.value.target, 1)]
    await LAUNCHES[kind](client, sandbox)
    assert accepted(sandbox) == 1


@pytest.mark.parametrize("kind", KINDS)
async def test_an_unknown_launch_is_repeated_once_if_asked_for(kind: str, sandbox: Sandbox) -> None:
    """``on_unknown="repeat"`` launches once more, and a launch that is lost twice is unknown."""
    async with client_of(sandbox, launch=LaunchPolicy(on_unknown="repeat")) as client:
        fail(sandbox, kind, drop="before", times=3)
        with pytest.raises(LaunchUnknownError):
            await LAUNCHES[kind](client, sandbox)
        assert sandbox.ledger.count(kind) == 2
        await LAUNCHES[kind](client, sandbox)
    assert (accepted(sandbox), sandbox.ledger.count(kind)) == (1, 4)


async def test_a_repeat_of_an_unknown_launch_needs_a_credit(sandbox: Sandbox) -> None:
    """``max_credits`` limits what ``on_unknown="repeat"`` may pay for twice."""
    fail(sandbox, SEARCH, drop="after")
    async with client_of(sandbox, launch=LaunchPolicy(on_unknown="repeat", max_credits=1)) as client:
        with pytest.raises(LaunchUnknownError):
            await LAUNCHES[SEARCH](client, sandbox)
    assert accepted(sandbox) == 1
