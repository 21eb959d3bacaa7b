"""Launches: who joins them, what they cost, and the effects of cancelling and closing; on the sandbox."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import zlib
from pathlib import Path

import pytest

from cmsapi import Client, GenerationSettings, LaunchPolicy, Timeouts
from cmsapi.errors import (
    APIError,
    ClientClosedError,
    ConflictError,
    DeadlineError,
    JobError,
    LaunchUnknownError,
    OutOfCreditsError,
)
from cmsapi.sandbox import Limits, Sandbox
from tests.support.box import client_of, now
from tests.support.spec import spec
from tests.unit.jobs.launching import (
    ANALYSIS,
    DOCUMENT,
    GENERATION,
    KINDS,
    LAUNCHES,
    PROMPT,
    SEARCH,
    WITH_TRACES,
    accepted,
    fail,
)

pytestmark = pytest.mark.looptime


@pytest.fixture
def full() -> Sandbox:
    """Return a service whose hour others have used up."""
    return Sandbox(durations=60, limits=Limits(used=1000, used_age=0), clock_skew=4000)


@spec("3:search-start", "3:search-success", "3:generation-start", "4.4:generate_content", "4.4.2", "4.4.3")
@spec("4.5:analyze_keyword", "4.5:get_keyword", "4.6:start_content_idea_search", "4.6:get_content_idea_search")
@spec("4.6:list_content_ideas")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_launch_returns_a_job_that_ends(kind: str, client: Client, sandbox: Sandbox) -> None:
    """A launch is one request that the service accepts, and its job can be awaited to its end."""
    job = await LAUNCHES[kind](client, sandbox)
    assert job.status == "running"
    await job
    assert job.done()
    assert 60 <= now() <= 71
    assert (accepted(sandbox), sandbox.ledger.count(kind)) == (1, 1)


@spec("4.6:credit", "8.6")
async def test_each_search_costs_one_credit(client: Client, sandbox: Sandbox) -> None:
    """Two searches for one keyword, even at the same time, are two jobs and cost two credits."""
    before = sandbox.credits["contentIdeasSearches"]
    jobs = await asyncio.gather(*(LAUNCHES[SEARCH](client, sandbox) for _ in range(2)))
    assert len({job.id for job in jobs}) == 2
    assert sandbox.credits["contentIdeasSearches"] == before - 2


@pytest.mark.parametrize("kind", [ANALYSIS, PROMPT, SEARCH, GENERATION])
async def test_a_balance_of_zero_has_an_error_of_its_own(kind: str, client: Client, sandbox: Sandbox) -> None:
    """A launch that the service refuses for lack of credits raises `OutOfCreditsError`."""
    sandbox.credits = dict.fromkeys(("analysis", "aiWriting", "contentIdeasSearches"), 0)
    with pytest.raises(OutOfCreditsError):
        await LAUNCHES[kind](client, sandbox)
    assert sandbox.ledger.count(kind) == 1


async def test_max_credits_bounds_the_launches_of_a_client(sandbox: Sandbox) -> None:
    """Unknown launches count toward ``max_credits``, refused ones and joins do not; a launch beyond it is unsent."""
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
    """Two simultaneous launches and one while the job runs share a job; after its end a launch starts a new one."""
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
    await asyncio.sleep(70)
    await LAUNCHES[kind](client, sandbox)
    assert accepted(sandbox) == 2


async def test_a_join_that_decides_launches_no_second_generation(client: Client, sandbox: Sandbox) -> None:
    """Whoever joins a generation whose article is in review decides on it, and launches nothing."""
    content = sandbox.content_ids[0]
    await client.contents.generate(content, on_review="confirm")
    await asyncio.sleep(70)
    review = await (await client.contents.generate(content, on_review="confirm"))
    assert review.decision == "confirm"
    assert accepted(sandbox) == 1


async def test_callers_at_once_share_the_decision(client: Client, sandbox: Sandbox) -> None:
    """If one of two simultaneous callers passes ``on_review``, it decides on the article."""
    content = sandbox.content_ids[0]
    first, _ = await asyncio.gather(
        client.contents.generate(content), client.contents.generate(content, on_review="confirm")
    )
    assert (await first).decision == "confirm"


@spec("4.4:customInstructions")
@pytest.mark.parametrize("delay", [0, 20], ids=["at once", "while it runs"])
async def test_a_generation_with_other_settings_is_refused(delay: float, client: Client, sandbox: Sandbox) -> None:
    """Settings that differ from those of the generation under way raise an error instead of being ignored."""
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
async def test_cancelling_a_launch_that_waits_for_the_hour_costs_nothing(kind: str, full: Sandbox) -> None:
    """While others have used the hour, a cancelled launch is never sent."""
    async with client_of(full) as client:
        launching = asyncio.ensure_future(LAUNCHES[kind](client, full))
        await asyncio.sleep(600)
        launching.cancel()
        await asyncio.sleep(7200)
        assert launching.cancelled()
        assert accepted(full) == 0
        await LAUNCHES[kind](client, full)
        assert accepted(full) == 1


async def test_a_launch_goes_on_for_those_who_are_not_cancelled(full: Sandbox) -> None:
    """If one of two callers that wait for a launch is cancelled, the other still gets its job."""
    async with client_of(full) as client:
        first, second = (asyncio.ensure_future(LAUNCHES[ANALYSIS](client, full)) for _ in range(2))
        await asyncio.sleep(600)
        first.cancel()
        await (await second)
    assert first.cancelled()
    assert accepted(full) == 1


async def test_a_launch_that_is_being_cancelled_is_not_joined(full: Sandbox) -> None:
    """A caller that arrives in the loop turn in which the only other one is cancelled launches on its own."""
    async with client_of(full) as client:
        first = asyncio.ensure_future(LAUNCHES[ANALYSIS](client, full))
        await asyncio.sleep(60)
        first.cancel()
        assert (await LAUNCHES[ANALYSIS](client, full)).status == "running"


@pytest.mark.parametrize("kind", WITH_TRACES)
async def test_a_launch_that_was_sent_goes_on_when_its_caller_is_cancelled(kind: str, sandbox: Sandbox) -> None:
    """A second call returns the job of a launch whose caller was cancelled while the response was under way."""
    sandbox.faults.latency = 4.0
    async with client_of(sandbox) as client:
        launching = asyncio.ensure_future(LAUNCHES[kind](client, sandbox))
        await asyncio.sleep(7 if kind == GENERATION else 3)
        launching.cancel()
        await asyncio.sleep(0.5)
        job = await LAUNCHES[kind](client, sandbox)
        assert now() < 35
        await job
    assert launching.cancelled()
    assert (accepted(sandbox), sandbox.ledger.count(kind)) == (1, 1)


async def test_a_launch_that_may_have_been_accepted_outlives_its_caller(client: Client, sandbox: Sandbox) -> None:
    """A caller that is cancelled after a 500 leaves a launch that continues and can be joined."""
    fail(sandbox, ANALYSIS, status=500)
    caller = asyncio.ensure_future(LAUNCHES[ANALYSIS](client, sandbox))
    await asyncio.sleep(0.1)
    caller.cancel()
    await asyncio.sleep(5)
    assert (await LAUNCHES[ANALYSIS](client, sandbox)).status == "running"
    assert accepted(sandbox) == 1


async def test_a_launch_goes_on_after_the_deadline_of_its_caller(sandbox: Sandbox) -> None:
    """`Timeouts.deadline` releases the caller while a lost launch is settled, and the job is found later."""
    fail(sandbox, ANALYSIS, drop="after")
    async with client_of(sandbox, timeouts=Timeouts(deadline=20)) as client:
        with pytest.raises(DeadlineError) as over:
            await LAUNCHES[ANALYSIS](client, sandbox)
        assert over.value.sent
        assert now() == pytest.approx(20)
        await asyncio.sleep(20)
        assert [job.target for job in await client.jobs.resume()] == [sandbox.keyword_ids[0]]
    assert accepted(sandbox) == 1


async def test_closing_waits_for_a_launch_that_was_sent(sandbox: Sandbox) -> None:
    """A launch under way gets its response before the client is closed."""
    client = client_of(sandbox)
    fail(sandbox, ANALYSIS, slow=10)
    launching = asyncio.ensure_future(LAUNCHES[ANALYSIS](client, sandbox))
    await asyncio.sleep(1)
    await client.aclose()
    assert now() == pytest.approx(10)
    assert (await launching).status == "running"


async def test_closing_refuses_a_launch_that_waits(full: Sandbox) -> None:
    """It ends at once and is never sent; another client's launch for the same target continues."""
    async with client_of(full) as stays:
        leaves = client_of(full)
        refused, launched = (asyncio.ensure_future(LAUNCHES[ANALYSIS](client, full)) for client in (leaves, stays))
        await asyncio.sleep(60)
        await leaves.aclose()
        with pytest.raises(ClientClosedError):
            await refused
        assert now() == pytest.approx(60)
        assert (await launched).status == "running"
        await asyncio.sleep(7200)
    assert accepted(full) == 1


@pytest.mark.skipif(sys.version_info < (3, 12), reason="needs eager tasks")
async def test_jobs_work_with_eager_tasks(client: Client, sandbox: Sandbox) -> None:
    """With eager tasks, jobs are launched, awaited, fanned out and joined as usual."""
    if sys.version_info >= (3, 12):
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
    assert (await (await LAUNCHES[ANALYSIS](client, sandbox))).analysis_status == "success"
    outcomes = await client.jobs.map(client.keywords.analyze, sandbox.keyword_ids)
    assert all(outcome.ok for outcome in outcomes)
    first, second = await asyncio.gather(*(LAUNCHES[ANALYSIS](client, sandbox) for _ in range(2)))
    assert await first == await second
    assert accepted(sandbox) == len(sandbox.keyword_ids) + 2


def test_a_state_has_neither_key_nor_texts(tmp_path: Path) -> None:
    """The state names jobs and their targets, but never contains the key, a content's text, or instructions."""
    sandbox = Sandbox(durations=0)
    settings = GenerationSettings(custom_instructions="Whisper of the moorland")

    async def main() -> str:
        async with client_of(sandbox, state=f"sqlite:///{tmp_path}/state.db") as client:
            batch, content = client.jobs.batch("b"), sandbox.content_ids[0]
            outcomes = await batch.map(lambda each: client.contents.generate(each, settings), [content])
            return (await outcomes[0].result().confirm()).html or ""

    text = asyncio.run(main())
    with sqlite3.connect(tmp_path / "state.db") as connection:
        results = [zlib.decompress(row[0]) for row in connection.execute("SELECT result FROM cmsapi_launches")]
    connection.close()
    written = b"".join(path.read_bytes() for path in tmp_path.iterdir()) + b"".join(results)
    assert sandbox.content_ids[0].encode() in written
    assert not [each for each in (sandbox.api_key, "moorland", text, text[:40]) if each.encode() in written]
