"""What a process leaves behind when it ends, and what the next one makes of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import attrs
import pytest

import cmsapi
from cmsapi.config import LaunchPolicy
from cmsapi.runtime.accounts import accounts_of_loop
from cmsapi.sandbox import Behaviour, Fault, Sandbox
from cmsapi.state.entry import Entry, Lease
from tests.support.jobs import box, client_of, polls
from tests.support.launches import leave, open_entries, rely_on_books, sent
from tests.support.memory import ProcessState

pytestmark = pytest.mark.looptime


async def test_a_journal_is_empty_when_all_is_over() -> None:
    """An entry is there from before the launch until its job was seen to end."""
    sandbox = box(30.0, latency=(1.0, 1.0))
    async with client_of(sandbox) as client:
        await client.me()
        launching = asyncio.create_task(client.keywords.analyze(sandbox.keyword_ids[0]))
        await asyncio.sleep(0.5)
        (entry,) = (await open_entries(sandbox)).values()
        assert (entry.kind, entry.target, entry.status) == ("keyword_analysis", sandbox.keyword_ids[0], "sending")
        job = await launching
        (entry,) = (await open_entries(sandbox)).values()
        assert entry.status == "running"
        await job
    assert await open_entries(sandbox) == {}


@pytest.mark.parametrize("refused", ["by the service", "by the limit"])
async def test_what_was_not_launched_leaves_nothing(refused: str) -> None:
    """A launch that was refused, or that never got its turn, is struck out."""
    sandbox = box(30.0)
    async with client_of(sandbox, limits=cmsapi.RateLimits(per_second=1, max_wait=0.1)) as client:
        if refused == "by the limit":
            await client.me()
        with pytest.raises((cmsapi.NotFoundError, cmsapi.RateLimitWaitError)):
            await client.keywords.analyze("kwd_unheard_of")
    assert await open_entries(sandbox) == {}


async def test_running_jobs_are_resumed() -> None:
    """The next client gets every job without a waiter, without a credit, and its result."""
    sandbox = box(60.0)
    async with client_of(sandbox) as client:
        for keyword_id in sandbox.keyword_ids[:3]:
            await client.keywords.analyze(keyword_id)
        await client.content_ideas.search(sandbox.workspace_id, "tents")
        await client.contents.generate(sandbox.content_ids[0])
    async with client_of(sandbox) as client:
        resumed = await client.jobs.resume()
        assert [job.kind for job in resumed.jobs] == ["keyword_analysis"] * 3 + ["idea_search", "generation"]
        assert resumed.unknown == ()
        assert (await client.jobs.resume()).jobs == ()
        *_, ideas, review = await client.jobs.gather(*resumed.jobs)
        assert (ideas.search.keyword, review.generation.status) == ("tents", "review")
        assert [entry.status for entry in (await open_entries(sandbox)).values()] == ["review"]
    assert len(sandbox.ledger.launches()) == 5


async def test_a_launch_that_was_only_intended_is_dropped() -> None:
    """An intent that was never sent is no work; a launch of the same takes its place at once."""
    sandbox = box(30.0)
    keyword_id = sandbox.keyword_ids[0]
    entry = attrs.evolve(sent("keyword_analysis", keyword_id, sandbox), status="intent", served_at=None, facts={})
    async with client_of(sandbox) as client:
        await leave(client, sandbox, f"keyword_analysis {keyword_id}", entry)
        job = await client.keywords.analyze(keyword_id)
        assert asyncio.get_running_loop().time() < 1
        await job
        await leave(client, sandbox, f"keyword_analysis {keyword_id}", entry)
        assert (await client.jobs.resume()).jobs == ()
    assert await open_entries(sandbox) == {}
    assert len(sandbox.ledger.launches()) == 1


async def test_taking_up_a_job_again_keeps_what_is_known_of_it() -> None:
    """A job that may be a colleague's stays one when it is left and resumed in the same process."""
    sandbox = box(300.0)
    content_id = sandbox.content_ids[0]
    async with client_of(sandbox) as client:
        await client.me()
        # The generation before was not read, so that this one may be of another client.
        await leave(client, sandbox, f"generation {content_id}", sent("generation", content_id, sandbox))
        await client.request("POST", f"/v1/contents/{content_id}/atomic", json={"settings": {}})
        (job,) = (await client.jobs.resume()).jobs
        assert job.adopted
        await asyncio.sleep(15)
        (again,) = (await client.jobs.resume()).jobs
        assert again is job
        assert again.adopted


@pytest.mark.parametrize("how", ["resume", "launch"])
@pytest.mark.parametrize("happened", [True, False])
@pytest.mark.parametrize("kind", ["keyword_analysis", "generation", "idea_search"])
async def test_a_launch_whose_process_died_is_looked_up(kind: str, happened: bool, how: str) -> None:
    """Who takes over waits until the launch can no longer arrive; then it is adopted, sent, or told as unknown."""
    sandbox = box(90.0)
    await rely_on_books(sandbox)
    async with client_of(sandbox) as client:
        target = {
            "keyword_analysis": sandbox.keyword_ids[0],
            "generation": sandbox.content_ids[0],
            "idea_search": "tents",
        }[kind]
        facts: dict[str, Any] = {"baseline": None} if kind == "generation" else {}
        if kind == "idea_search":
            facts = {"workspace": sandbox.workspace_id}
        await client.me()
        entry = sent(kind, target, sandbox, **facts)
        await leave(client, sandbox, f"{kind} {target}", entry)
        path = {
            "keyword_analysis": f"/v1/keywords/{target}/analyze",
            "generation": f"/v1/contents/{target}/atomic",
            "idea_search": f"/v1/workspaces/{sandbox.workspace_id}/content-idea-searches",
        }[kind]
        if happened:
            body = {"generation": {"settings": {}}, "idea_search": {"keyword": "tents"}}.get(kind)
            await client.request("POST", path, json=body)
        if how == "launch" and kind == "keyword_analysis":
            job = await client.keywords.analyze(target)
            await job
            assert asyncio.get_running_loop().time() >= 5
        else:
            resumed = await client.jobs.resume()
            assert len(resumed.jobs) == (happened and kind != "idea_search")
            # Usages do not name articles, and nothing lists searches.
            unknown = kind == ("idea_search" if happened else "generation")
            assert [error.kind for error in resumed.unknown] == [kind] * unknown
            assert not any(job.adopted for job in resumed.jobs)
            await client.jobs.gather(*resumed.jobs)
        launched_here = how == "launch" and kind == "keyword_analysis" and not happened
    assert len(sandbox.ledger.launches()) == happened + launched_here
    assert [entry.status for entry in (await open_entries(sandbox)).values()] in ([], ["review"])


async def test_a_colleagues_generation_is_adopted_as_such() -> None:
    """A new generation that a colleague has paid for is followed, and no hook decides on it."""
    sandbox = box(30.0)
    content_id = sandbox.content_ids[0]
    async with client_of(sandbox) as client:
        await client.me()
        settings = "digest that is compared"
        entry = attrs.evolve(sent("generation", content_id, sandbox, baseline="gen_before"), settings=settings)
        await leave(client, sandbox, f"generation {content_id}", entry)
        sandbox.supersede_generation(content_id)
        (job,) = (await client.jobs.resume()).jobs
        assert job.adopted
        review = await job
        assert review.decision is None


async def test_charges_that_nothing_explains_are_not_taken_for_proof() -> None:
    """When the balance does not agree with the usages a launch is reported, not repeated."""
    sandbox = box(30.0)
    keyword_id = sandbox.keyword_ids[0]
    async with client_of(sandbox) as client:
        await (await client.keywords.analyze(sandbox.keyword_ids[1]))
        await leave(client, sandbox, f"keyword_analysis {keyword_id}", sent("keyword_analysis", keyword_id, sandbox))
        sandbox.set_credits(analysis=sandbox.credits.analysis + 5)
        with pytest.raises(cmsapi.LaunchUnknownError) as caught:
            await client.keywords.analyze(keyword_id)
        assert "do not add up" in caught.value.evidence["found"]
        assert await open_entries(sandbox) == {}
    assert len(sandbox.ledger.launches(keyword_id)) == 0


@pytest.mark.parametrize("wish", ["repeat", "callable", "coroutine"])
async def test_a_policy_may_repeat_what_is_unknown(wish: str) -> None:
    """`on_unknown` decides, from the error, whether to risk paying twice."""
    heard: list[cmsapi.LaunchUnknownError] = []

    def decide(error: cmsapi.LaunchUnknownError) -> str:
        heard.append(error)
        return "repeat"

    async def decide_later(error: cmsapi.LaunchUnknownError) -> str:
        return decide(error)

    sandbox = box(30.0)
    prompt_id = sandbox.prompt_ids[0]
    on_unknown: Any = {"repeat": "repeat", "callable": decide, "coroutine": decide_later}[wish]
    async with client_of(sandbox, launch=LaunchPolicy(on_unknown=on_unknown)) as client:
        await client.me()
        await leave(client, sandbox, f"prompt_analysis {prompt_id}", sent("prompt_analysis", prompt_id, sandbox))
        await (await client.prompts.analyze(prompt_id))
    assert len(heard) == (wish != "repeat")
    assert len(sandbox.ledger.launches()) == 1


async def test_clients_of_one_state_join_each_other() -> None:
    """A launch of what another client runs is not paid again, and only one of them polls the job."""
    sandbox = box(60.0)
    keyword_id = sandbox.keyword_ids[0]
    async with client_of(sandbox) as client, client_of(sandbox) as other:
        job = await client.keywords.analyze(keyword_id)
        waiting = asyncio.create_task(job.wait())
        joined = await other.keywords.analyze(keyword_id)
        assert (await joined).id == (await waiting).id
        assert joined is not job
        single = [entry.at for entry in polls(sandbox, "keyword_analysis")]
    gaps = [later - earlier for earlier, later in pairwise(single)]
    assert all(gap >= 5 for gap in gaps[:-1])
    assert len(sandbox.ledger.launches()) == 1


async def test_a_job_that_its_launcher_does_not_wait_for_is_polled_by_who_does() -> None:
    """A client that launched and does not wait leaves the polls to another one within seconds."""
    sandbox = box(30.0)
    async with client_of(sandbox) as client, client_of(sandbox) as other:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        joined = await other.keywords.analyze(sandbox.keyword_ids[0])
        async with asyncio.timeout(60):
            await joined
        assert not job.done()
        await job
    assert await open_entries(sandbox) == {}


async def test_articles_that_wait_are_found_again() -> None:
    """`jobs.reviews` has the articles without a decision, and a decision there ends them."""
    sandbox = box(30.0)
    first, second, third = sandbox.content_ids[:3]
    async with client_of(sandbox) as client:
        await client.jobs.gather(*[await client.contents.generate(each) for each in (first, second)])
        await client.contents.generate(third)
    async with client_of(sandbox) as client:
        reviews = await client.jobs.reviews()
        assert [review.content_id for review in reviews] == [first, second]
        await reviews[0].confirm()
        sandbox.cancel_elsewhere(second)
        await asyncio.sleep(60)
        (left,) = await client.jobs.reviews()
        assert left.content_id == third
        await left.cancel()
        assert await client.jobs.reviews() == []
    assert await open_entries(sandbox) == {}


async def test_a_decided_article_is_no_answer_to_a_new_launch() -> None:
    """After a decision elsewhere the next client generates anew."""
    sandbox = box(30.0)
    content_id = sandbox.content_ids[0]
    async with client_of(sandbox) as client:
        first = await client.contents.generate(content_id)
        await first
    sandbox.confirm_elsewhere(content_id)
    async with client_of(sandbox) as client:
        assert (await client.contents.generate(content_id)).id != first.id


async def test_the_settings_are_compared_across_clients() -> None:
    """A generation with other settings than the one that another client runs is refused."""
    sandbox = box(30.0)
    content_id = sandbox.content_ids[0]
    async with client_of(sandbox) as client, client_of(sandbox) as other:
        job = await client.contents.generate(content_id)
        with pytest.raises(cmsapi.JobError, match="with other settings"):
            await other.contents.generate(content_id, cmsapi.GenerationSettings(fact_checking_enabled=True))
        assert (await other.contents.generate(content_id)).id == job.id
    assert len(sandbox.ledger.launches()) == 1


async def test_a_failed_analysis_is_not_launched_again() -> None:
    """An analysis that was charged and failed before it could be polled is told by its usage."""
    sandbox = Sandbox(failures=1.0, durations=1.0, behaviour=Behaviour(failed_analysis_timestamp="unchanged"))
    keyword_id = sandbox.keyword_ids[0]
    async with client_of(sandbox) as client:
        await client.me()
        await leave(client, sandbox, f"keyword_analysis {keyword_id}", sent("keyword_analysis", keyword_id, sandbox))
        await client.request("POST", f"/v1/keywords/{keyword_id}/analyze")
        with pytest.raises(cmsapi.LaunchUnknownError) as caught:
            await client.keywords.analyze(keyword_id)
    assert caught.value.evidence["found"].startswith("its credit was charged (usage ")
    assert len(sandbox.ledger.launches()) == 1


@attrs.define
class Slow:
    """Carry requests to a sandbox, and stand still once before the first byte of a launch leaves."""

    sandbox: Sandbox
    seconds: float

    async def send(self, request: cmsapi.Request) -> cmsapi.Response:
        """Carry one request without telling when it leaves."""
        return await self.send_aware(request, lambda: None)

    async def send_aware(self, request: cmsapi.Request, departing: Callable[[], None]) -> cmsapi.Response:
        """Carry one request."""
        if request.method == "POST":
            await asyncio.sleep(self.seconds)
        departing()
        return await self.sandbox.transport.send(request)


@pytest.mark.parametrize("seconds", [4.0, 6.0])
async def test_a_process_that_stood_still_sends_nothing(seconds: float) -> None:
    """Between writing a launch down and its first byte no more than the settle time may pass."""
    sandbox = box(30.0)
    policy = LaunchPolicy(settle=5.0)
    async with client_of(sandbox, transport=Slow(sandbox, seconds), launch=policy) as client:
        if seconds > 5:
            with pytest.raises(cmsapi.LeaseLostError, match="stood still"):
                await client.keywords.analyze(sandbox.keyword_ids[0])
        else:
            await (await client.keywords.analyze(sandbox.keyword_ids[0]))
    assert len(sandbox.ledger.launches()) == (seconds < 5)
    assert await open_entries(sandbox) == {}


async def test_a_machine_that_was_suspended_sends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop's clock may stand still with the machine: the wall's clock tells that others may have taken over."""
    sandbox, wall = box(30.0), [time.time()]
    monkeypatch.setattr(time, "time", lambda: wall[0])

    @attrs.frozen
    class Suspended:
        async def send(self, request: cmsapi.Request) -> cmsapi.Response:
            return await self.send_aware(request, lambda: None)

        async def send_aware(self, request: cmsapi.Request, departing: Callable[[], None]) -> cmsapi.Response:
            if request.method == "POST":
                wall[0] += 3600.0
            departing()
            return await sandbox.transport.send(request)

    async with client_of(sandbox, transport=Suspended()) as client:
        with pytest.raises(cmsapi.LeaseLostError, match="stood still"):
            await client.keywords.analyze(sandbox.keyword_ids[0])
    assert sandbox.ledger.launches() == []
    assert await open_entries(sandbox) == {}


async def test_a_conflict_after_a_lost_answer_is_looked_up() -> None:
    """When a launch is sent again and refused because one runs, that one is taken up."""
    sandbox = box(60.0, rules=[Fault(match="POST *analyze", drop=True)])
    await rely_on_books(sandbox)
    keyword_id = sandbox.keyword_ids[0]

    @attrs.frozen
    class Racing:
        async def send(self, request: cmsapi.Request) -> cmsapi.Response:
            again = request.method == "POST" and sandbox.ledger.count(operation="analyze_keyword") == 1
            if again:
                # Another client is faster.
                await sandbox.transport.send(request)
            return await sandbox.transport.send(request)

    async with client_of(sandbox, transport=Racing()) as client:
        job = await client.keywords.analyze(keyword_id)
        await job
    assert len(sandbox.ledger.launches()) == 1


class FarState(ProcessState):
    """A state whose answers take their time, so that two writes may overtake each other."""

    async def release(self, lease: Lease) -> None:
        """Release after a while."""
        await asyncio.sleep(0.1)
        await super().release(lease)

    async def end(self, lease: Lease, outcome: Entry | None = None) -> bool:
        """End after a longer while."""
        await asyncio.sleep(0.2)
        return await super().end(lease, outcome)


async def test_an_end_is_written_without_a_waiter() -> None:
    """The end of a job and the release of its entry without a waiter do not overtake each other."""
    accounts_of_loop().states["memory:"] = FarState(lease_ttl=1000.0)
    sandbox = box(5.0)
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        # Entries without waiters are released every ten seconds.
        await asyncio.sleep(9.95)
        await job.refresh()
        assert job.done()
        await asyncio.sleep(1)
        assert await open_entries(sandbox) == {}


async def test_the_journal_says_what_is_not_over() -> None:
    """Jobs of any process are listed with their batch and a token, the oldest first, and go when they are over."""
    sandbox = box(30.0)
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        search = await client.content_ideas.search(sandbox.workspace_id, "tents")
        async with client.jobs.batch("articles") as batch:
            outcomes = batch.map(client.contents.generate, sandbox.content_ids[:1])
            assert batch.ended == ()
            async for outcome in outcomes:
                assert isinstance(outcome.value, cmsapi.GenerationReview)
        told = [(entry.kind, entry.target, entry.state, entry.batch) for entry in await client.jobs.journal()]
        assert told == [
            ("keyword_analysis", sandbox.keyword_ids[0], "running", None),
            ("idea_search", "tents", "running", None),
            ("generation", sandbox.content_ids[0], "review", "articles"),
        ]
    async with client_of(sandbox) as client:
        first, second, third = await client.jobs.journal()
        assert (first.token, second.token) == (job.token, search.token)
        await client.jobs.gather(*(client.jobs.attach(entry.token) for entry in (first, second) if entry.token))
        (review,) = await client.jobs.reviews()
        await review.confirm()
        assert await client.jobs.journal() == []
        assert third.token is not None


async def test_a_launch_without_an_answer_has_no_token() -> None:
    """What was being sent when its process died is in the journal, and cannot be waited for."""
    sandbox = box()
    async with client_of(sandbox) as client:
        await client.me()
        await leave(client, sandbox, "k", sent("keyword_analysis", sandbox.keyword_ids[0], sandbox))
        (entry,) = await client.jobs.journal()
    assert (entry.state, entry.token) == ("sending", None)


@pytest.mark.parametrize("status", ["sending", "running"])
async def test_the_end_of_an_earlier_job_leaves_a_later_launch_open(status: str) -> None:
    """A token of an earlier analysis of the same is no reason to forget the launch that a dead process left."""
    sandbox = box(30.0)
    prompt_id = sandbox.prompt_ids[0]
    async with client_of(sandbox) as client:
        job = await client.prompts.analyze(prompt_id)
        token = job.token
        await job
        await asyncio.sleep(100.0)
    async with client_of(sandbox) as client:
        await client.me()
        entry = attrs.evolve(sent("prompt_analysis", prompt_id, sandbox), status=status)
        await leave(client, sandbox, f"prompt_analysis {prompt_id}", entry)
        await client.jobs.attach(token)
        await asyncio.sleep(5.0)
        assert [left.status for left in (await open_entries(sandbox)).values()] == [status]


async def test_a_later_launch_is_recovered_as_itself_although_an_earlier_job_is_attached() -> None:
    """The token of an earlier analysis does not stand for the later one: an old result would end that."""
    sandbox = box(30.0)
    prompt_id = sandbox.prompt_ids[0]
    async with client_of(sandbox) as client:
        earlier = await client.prompts.analyze(prompt_id)
        await earlier
        await asyncio.sleep(100.0)
        later = (await client.prompts.analyze(prompt_id)).token
    async with client_of(sandbox) as client:
        attached = client.jobs.attach(earlier.token)
        (recovered,) = (await client.jobs.resume()).jobs
        assert (recovered.token, attached.token) == (later, earlier.token)
        await recovered
        await attached
    assert await open_entries(sandbox) == {}
