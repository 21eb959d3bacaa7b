"""Launches: what follows from each answer, who joins, and what cancelling and closing do; on the sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import pytest

from cmsapi import Client, GenerationSettings, LaunchPolicy, RetryPolicy
from cmsapi.errors import (
    APIError,
    ClientClosedError,
    ConflictError,
    JobError,
    LaunchUnknownError,
    NotSentError,
    OutOfCreditsError,
    ServiceUnavailableError,
)
from cmsapi.jobs.job import Job
from cmsapi.sandbox import Fault, Fixed, Limits, Sandbox
from tests.support.spec import spec

pytestmark = pytest.mark.looptime

Options: TypeAlias = dict[str, Any]
Launching: TypeAlias = Callable[[Client, Sandbox], Awaitable[Job[Any]]]

ANALYSIS, PROMPT, SEARCH, GENERATION, DOCUMENT = KINDS = (
    "analyze_keyword",
    "analyze_prompt",
    "start_content_idea_search",
    "generate_content",
    "create_knowledge_document",
)
WITH_TRACES = (ANALYSIS, PROMPT, GENERATION)
WITHOUT_TRACES = (SEARCH, DOCUMENT)
LAUNCHES: dict[str, Launching] = {
    ANALYSIS: lambda client, sandbox: client.keywords.analyze(sandbox.keyword_ids[0]),
    PROMPT: lambda client, sandbox: client.prompts.analyze(sandbox.prompt_ids[0]),
    SEARCH: lambda client, sandbox: client.content_ideas.search(sandbox.workspace_id, "tea"),
    GENERATION: lambda client, sandbox: client.contents.generate(sandbox.content_ids[0]),
    DOCUMENT: lambda client, sandbox: client.knowledge_documents.create(sandbox.workspace_id, "Prices", text="Low."),
}
DEADLINE = 35
"""Seconds after which no launch is under way any more: the time limit of a request, and a margin."""


@pytest.fixture(params=[-4000.0, 4000.0], ids=["behind", "ahead"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Return a service whose clock is wrong, and whose jobs take known times."""
    durations = dict.fromkeys(("analysis", "prompt", "search", "generation", "knowledge_document"), Fixed(50))
    return Sandbox(durations=durations, clock_skew=request.param)


def client_of(sandbox: Sandbox, **options: Any) -> Client:
    """Return a client with other options than the fixture's."""
    return Client(sandbox.api_key, base_url=sandbox.base_url, transport=sandbox.transport, **options)


def now() -> float:
    """Return the loop time."""
    return asyncio.get_running_loop().time()


def accepted(sandbox: Sandbox) -> int:
    """Return the number of launches that the service has accepted."""
    return len(sandbox.ledger.launches)


def fail(sandbox: Sandbox, operation: str, **fault: Any) -> None:
    """Have the next request of an operation meet a fault, or as many as ``times`` says."""
    sandbox.faults.rules.append(Fault(match=operation, **{"times": 1, **fault}))


@spec("3:search-start", "3:search-success", "3:generation-start", "4.4:generate_content", "4.4.2", "4.4.3")
@spec("4.5:analyze_keyword", "4.5:get_keyword", "4.6:start_content_idea_search", "4.6:get_content_idea_search")
@spec("4.6:list_content_ideas")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_launch_returns_a_job_that_ends(kind: str, client: Client, sandbox: Sandbox) -> None:
    """A launch is one request that the service accepts, and its job is awaited to its end."""
    job = await LAUNCHES[kind](client, sandbox)
    assert job.status == "running"
    await job
    assert job.done()
    assert 50 <= now() <= 61
    assert (accepted(sandbox), sandbox.ledger.count(kind)) == (1, 1)


@spec("4.6:credit", "8.6")
async def test_each_search_costs_one_credit(client: Client, sandbox: Sandbox) -> None:
    """Two searches for one keyword, also at the same time, are two jobs and two credits."""
    before = sandbox.credits["contentIdeasSearches"]
    jobs = await asyncio.gather(*(LAUNCHES[SEARCH](client, sandbox) for _ in range(2)))
    assert len({job.id for job in jobs}) == 2
    assert sandbox.credits["contentIdeasSearches"] == before - 2


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
    """After a 429 the next attempt comes no earlier than the service asks."""
    fail(sandbox, ANALYSIS, status=429, retry_after=77)
    await LAUNCHES[ANALYSIS](client, sandbox)
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
    """A launch that the service refuses is sent once, and stands in the way of no other one."""
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
    """A service that fails after it has launched is not asked a second time."""
    fail(sandbox, kind, status=status, effect=True)
    job = await LAUNCHES[kind](client, sandbox)
    await job
    assert (accepted(sandbox), sandbox.ledger.count(kind)) == (1, 1)


@pytest.mark.parametrize("known", [True, False])
async def test_a_search_behind_a_500_is_unknown(known: bool, client: Client, sandbox: Sandbox) -> None:
    """A search is not repeated if the balance has fallen, or is not known from before."""
    if not known:
        fail(sandbox, "get_me", status=403, times=None)
    fail(sandbox, SEARCH, status=500, effect=known)
    with pytest.raises(LaunchUnknownError):
        await LAUNCHES[SEARCH](client, sandbox)
    assert sandbox.ledger.count(SEARCH) == 1


async def test_answered_searches_do_not_count_against_one_that_failed(client: Client, sandbox: Sandbox) -> None:
    """A balance that has fallen by the answered searches only allows the repeat of another one."""
    await LAUNCHES[SEARCH](client, sandbox)
    await LAUNCHES[SEARCH](client, sandbox)
    fail(sandbox, SEARCH, status=500)
    await LAUNCHES[SEARCH](client, sandbox)
    assert accepted(sandbox) == 3


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
    """A launch without a readable answer is looked for when it cannot be under way any more, and not repeated."""
    fail(sandbox, kind, **fault)
    job = await LAUNCHES[kind](client, sandbox)
    assert DEADLINE <= now() <= DEADLINE + 2
    await job
    assert now() <= 50 + 11
    assert (accepted(sandbox), sandbox.ledger.count(kind)) == (1, 1)


@pytest.mark.parametrize("fault", LOST.values(), ids=LOST)
@pytest.mark.parametrize("kind", WITHOUT_TRACES)
async def test_a_lost_search_is_unknown(kind: str, fault: Options, client: Client, sandbox: Sandbox) -> None:
    """No document shows a search or a new document whose answer was lost: it is unknown without a further wait."""
    fail(sandbox, kind, **fault)
    with pytest.raises(LaunchUnknownError) as unknown:
        await LAUNCHES[kind](client, sandbox)
    assert unknown.value.target in ("tea", "Prices")
    assert now() <= 31
    assert (accepted(sandbox), sandbox.ledger.count(kind)) == (1, 1)


@pytest.mark.parametrize("kind", WITH_TRACES)
@pytest.mark.parametrize("fault", [{"drop": "before"}, {"status": 502, "body": "foreign"}])
async def test_absence_proves_nothing(kind: str, fault: Options, client: Client, sandbox: Sandbox) -> None:
    """That a document shows no launch proves nothing; the caller decides, and may launch at once."""
    fail(sandbox, kind, **fault)
    with pytest.raises(LaunchUnknownError) as unknown:
        await LAUNCHES[kind](client, sandbox)
    assert (accepted(sandbox), sandbox.ledger.count(kind)) == (0, 1)
    assert [error.target for error in await client.jobs.unknown()] == [unknown.value.target]
    await LAUNCHES[kind](client, sandbox)
    assert accepted(sandbox) == 1


async def test_a_refusal_of_a_second_attempt_is_looked_into(client: Client, sandbox: Sandbox) -> None:
    """A 409 to the repeat of a launch that was carried out is about that launch, which is adopted."""
    fail(sandbox, ANALYSIS, status=500, effect=True)
    fail(sandbox, "get_keyword", status=404)
    job = await LAUNCHES[ANALYSIS](client, sandbox)
    assert now() >= DEADLINE
    await job
    assert sandbox.ledger.count(ANALYSIS, 409) == 1
    assert accepted(sandbox) == 1


@pytest.mark.parametrize("kind", KINDS)
async def test_an_unknown_launch_is_repeated_once_if_asked_for(kind: str, sandbox: Sandbox) -> None:
    """``on_unknown="repeat"`` launches once more, and what is lost twice is unknown."""
    async with client_of(sandbox, launch=LaunchPolicy(on_unknown="repeat")) as client:
        fail(sandbox, kind, drop="before", times=3)
        with pytest.raises(LaunchUnknownError):
            await LAUNCHES[kind](client, sandbox)
        assert sandbox.ledger.count(kind) == 2
        await LAUNCHES[kind](client, sandbox)
    assert (accepted(sandbox), sandbox.ledger.count(kind)) == (1, 4)


@pytest.mark.parametrize("kind", [ANALYSIS, PROMPT, SEARCH, GENERATION])
async def test_a_balance_of_zero_has_an_error_of_its_own(kind: str, client: Client, sandbox: Sandbox) -> None:
    """A launch that the service refuses for want of credits raises `OutOfCreditsError`."""
    sandbox.credits = dict.fromkeys(("analysis", "aiWriting", "contentIdeasSearches"), 0)
    with pytest.raises(OutOfCreditsError):
        await LAUNCHES[kind](client, sandbox)
    assert sandbox.ledger.count(kind) == 1


async def test_max_credits_bounds_the_launches_of_a_client(sandbox: Sandbox) -> None:
    """Unknown launches count in ``max_credits``, refused ones and joins do not; a launch beyond it is not sent."""
    async with client_of(sandbox, launch=LaunchPolicy(max_credits=2)) as client:
        fail(sandbox, ANALYSIS, status=422)
        with pytest.raises(APIError):
            await LAUNCHES[ANALYSIS](client, sandbox)
        fail(sandbox, SEARCH, drop="after")
        with pytest.raises(LaunchUnknownError):
            await LAUNCHES[SEARCH](client, sandbox)
        for kind in (ANALYSIS, ANALYSIS, DOCUMENT):
            await LAUNCHES[kind](client, sandbox)
        with pytest.raises(OutOfCreditsError):
            await LAUNCHES[PROMPT](client, sandbox)
    assert sandbox.ledger.count(PROMPT) == 0
    assert accepted(sandbox) == 3


@pytest.mark.parametrize("kind", WITH_TRACES)
async def test_launches_for_one_target_share_a_job(kind: str, client: Client, sandbox: Sandbox) -> None:
    """Two launches at once and one while the job runs are one; after its end there is a new one."""
    jobs = await asyncio.gather(*(LAUNCHES[kind](client, sandbox) for _ in range(2)))
    await asyncio.sleep(20)
    jobs.append(await LAUNCHES[kind](client, sandbox))
    assert accepted(sandbox) == 1
    reviews = await asyncio.gather(*jobs)
    if kind == GENERATION:
        await reviews[0].cancel()
    await LAUNCHES[kind](client, sandbox)
    assert accepted(sandbox) == 2


@pytest.mark.parametrize("kind", [ANALYSIS, PROMPT])
async def test_a_job_that_has_ended_unseen_is_not_joined(kind: str, client: Client, sandbox: Sandbox) -> None:
    """A launch after the end of a job that nothing has waited for is a new one."""
    await LAUNCHES[kind](client, sandbox)
    await asyncio.sleep(60)
    await LAUNCHES[kind](client, sandbox)
    assert accepted(sandbox) == 2


@spec("4.4:customInstructions")
@pytest.mark.parametrize("delay", [0, 20], ids=["at once", "while it runs"])
async def test_a_generation_with_other_settings_is_refused(delay: float, client: Client, sandbox: Sandbox) -> None:
    """Settings that differ from those of the generation under way are an error and not ignored."""
    content = sandbox.content_ids[0]
    first = asyncio.create_task(client.contents.generate(content, GenerationSettings(custom_instructions="Be brief.")))
    await asyncio.sleep(delay)
    with pytest.raises(JobError):
        await client.contents.generate(content, GenerationSettings(custom_instructions="Be long."))
    same = await client.contents.generate(content, GenerationSettings(custom_instructions="Be brief."))
    assert same.id == (await first).id
    assert accepted(sandbox) == 1


async def test_without_dedupe_each_launch_is_sent(sandbox: Sandbox) -> None:
    """``dedupe="off"`` leaves a second launch to the service, which refuses it."""
    async with client_of(sandbox, launch=LaunchPolicy(dedupe="off")) as client:
        await LAUNCHES[ANALYSIS](client, sandbox)
        with pytest.raises(ConflictError):
            await LAUNCHES[ANALYSIS](client, sandbox)
    assert sandbox.ledger.count(ANALYSIS) == 2


@pytest.mark.parametrize("kind", KINDS)
async def test_cancelling_a_launch_that_waits_for_the_hour_costs_nothing(kind: str) -> None:
    """While others have used the hour, a cancelled launch is never sent."""
    sandbox = Sandbox(limits=Limits(used=1000, used_age=0), clock_skew=-4000)
    async with client_of(sandbox) as client:
        launching = asyncio.ensure_future(LAUNCHES[kind](client, sandbox))
        await asyncio.sleep(600)
        launching.cancel()
        await asyncio.sleep(7200)
        assert launching.cancelled()
        assert accepted(sandbox) == 0
        await LAUNCHES[kind](client, sandbox)
        assert accepted(sandbox) == 1


async def test_a_launch_goes_on_for_those_who_are_not_cancelled() -> None:
    """Of two callers who wait for one launch, the cancelled one takes nothing from the other."""
    sandbox = Sandbox(limits=Limits(used=1000, used_age=0), clock_skew=4000)
    async with client_of(sandbox) as client:
        first, second = (asyncio.ensure_future(LAUNCHES[ANALYSIS](client, sandbox)) for _ in range(2))
        await asyncio.sleep(600)
        first.cancel()
        await (await second)
    assert first.cancelled()
    assert accepted(sandbox) == 1


@pytest.mark.parametrize("kind", WITH_TRACES)
async def test_a_launch_that_was_sent_goes_on_when_its_caller_is_cancelled(kind: str, sandbox: Sandbox) -> None:
    """A second call returns the job of a launch whose caller was cancelled while the answer was under way."""
    sandbox.faults.latency = 4.0
    async with client_of(sandbox) as client:
        launching = asyncio.ensure_future(LAUNCHES[kind](client, sandbox))
        await asyncio.sleep(7 if kind == GENERATION else 3)
        launching.cancel()
        await asyncio.sleep(0.5)
        job = await LAUNCHES[kind](client, sandbox)
        assert now() < DEADLINE
        await job
    assert launching.cancelled()
    assert (accepted(sandbox), sandbox.ledger.count(kind)) == (1, 1)


async def test_closing_waits_for_a_launch_that_was_sent(sandbox: Sandbox) -> None:
    """A launch under way gets its answer before the client is closed."""
    client = client_of(sandbox)
    fail(sandbox, ANALYSIS, slow=10)
    launching = asyncio.ensure_future(LAUNCHES[ANALYSIS](client, sandbox))
    await asyncio.sleep(1)
    await client.aclose()
    assert now() == pytest.approx(10)
    assert (await launching).status == "running"


async def test_closing_refuses_a_launch_that_waits() -> None:
    """A launch that waits for the hour ends with `ClientClosedError`, and is never sent."""
    sandbox = Sandbox(limits=Limits(used=1000, used_age=0))
    client = client_of(sandbox)
    launching = asyncio.ensure_future(LAUNCHES[ANALYSIS](client, sandbox))
    await asyncio.sleep(600)
    await client.aclose()
    assert now() == pytest.approx(600)
    with pytest.raises(ClientClosedError):
        await launching
    await asyncio.sleep(7200)
    assert accepted(sandbox) == 0
