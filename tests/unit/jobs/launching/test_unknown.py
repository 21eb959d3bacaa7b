"""What callers are told of a launch that may have happened."""

from __future__ import annotations

import asyncio
import json
import time
from datetime import UTC, datetime
from typing import Any

import attrs
import pytest

import cmsapi
from cmsapi.config import LaunchPolicy
from cmsapi.sandbox import Fault, Sandbox
from tests.support.jobs import Spoiling, box, changed, client_of
from tests.support.launches import leave, open_entries, posts, sent

pytestmark = pytest.mark.looptime


@pytest.mark.parametrize(("asked", "told"), [(-3600.0, 3600.0), (100.0, 0.0)], ids=["an hour ago", "by a fast clock"])
async def test_a_doubt_tells_when_the_launch_was_asked_for(asked: float, told: float) -> None:
    """The evidence has the time on the service's clock; a clock that ran ahead does not put it into the future."""
    sandbox = box(30.0)
    prompt_id = sandbox.prompt_ids[0]
    async with client_of(sandbox) as client:
        await client.me()
        entry = attrs.evolve(sent("prompt_analysis", prompt_id, sandbox), asked_at=time.time() + asked)
        await leave(client, sandbox, f"prompt_analysis {prompt_id}", entry)
        with pytest.raises(cmsapi.LaunchUnknownError) as caught:
            await client.prompts.analyze(prompt_id)
        evidence = caught.value.evidence
        assert sandbox.now() - datetime.fromisoformat(evidence["asked_at"]).timestamp() == pytest.approx(told, abs=0.9)
    assert datetime.fromisoformat(evidence["asked_at"]).tzinfo is UTC
    assert (evidence["operation"], evidence["said"]) == (
        "analyze_prompt",
        "the process that sent it ended before its answer",
    )
    assert "usages do not tell which prompt_analysis" in evidence["found"]


async def test_a_function_that_decides_is_shown_the_doubt() -> None:
    """`on_unknown` gets the error that is raised when it does not wish the launch to be repeated."""
    heard: list[Any] = []

    def decide(error: cmsapi.LaunchUnknownError) -> str:
        heard.append(error)
        return "raise"

    sandbox = box(30.0)
    prompt_id = sandbox.prompt_ids[0]
    async with client_of(sandbox, launch=LaunchPolicy(on_unknown=decide)) as client:
        await client.me()
        await leave(client, sandbox, f"prompt_analysis {prompt_id}", sent("prompt_analysis", prompt_id, sandbox))
        with pytest.raises(cmsapi.LaunchUnknownError) as caught:
            await client.prompts.analyze(prompt_id)
    (error,) = heard
    assert (error.kind, error.target, error.evidence) == (
        caught.value.kind,
        prompt_id,
        caught.value.evidence,
    )
    assert sandbox.ledger.launches() == []


async def test_no_function_decides_on_what_cannot_be_repeated() -> None:
    """After the last attempt there is nothing to decide, so that `on_unknown` is not called."""
    asked: list[Any] = []

    def decide(error: cmsapi.LaunchUnknownError) -> str:
        asked.append(error)
        return "repeat"

    sandbox = box(30.0, rules=[Fault(match="POST */prompts/*/analyze", drop=True, times=None)])
    policy = LaunchPolicy(on_unknown=decide, settle=1.0)
    async with client_of(sandbox, launch=policy, retry=cmsapi.RetryPolicy(max_attempts=2)) as client:
        with pytest.raises(cmsapi.LaunchUnknownError):
            await client.prompts.analyze(sandbox.prompt_ids[0])
    assert len(asked) == 1


SEARCH = "POST */content-idea-searches"


@pytest.mark.parametrize("status", [403, 409, 422, 429, 502])
async def test_a_repetition_that_fails_leaves_the_first_attempt_in_doubt(status: int) -> None:
    """What is said to a launch that was repeated in doubt says nothing about the attempt before it."""
    sandbox = box(
        rules=[
            Fault(match=SEARCH, drop=True, when="after"),
            Fault(match=SEARCH, status=status, retry_after=1, times=None),
        ]
    )
    async with client_of(sandbox, launch=LaunchPolicy(on_unknown="repeat")) as client:
        with pytest.raises(cmsapi.LaunchUnknownError) as caught:
            await client.content_ideas.search(sandbox.workspace_id, "tents")
        assert caught.value.evidence["sent"] == (5 if status == 502 else 1)
        assert ("credits may have been charged" in str(caught.value)) is (status == 502)
        assert caught.value.evidence["found"].startswith("its credit was charged")
        assert await client.jobs.journal() == []
    assert len(sandbox.ledger.launches()) == 1


@pytest.mark.parametrize(("most", "sent"), [(1, 1), (2, 2), (3, 3), (None, 3)])
async def test_a_launch_that_is_repeated_in_doubt_spends_no_more_than_is_allowed(most: int | None, sent: int) -> None:
    """`LaunchPolicy(max_credits=)` bounds the repeats of one launch, too; each may cost a credit of its own."""
    sandbox = box(30.0, rules=[Fault(match=SEARCH, drop=True, when="after", times=2)])
    policy = LaunchPolicy(on_unknown="repeat", max_credits=most, settle=1.0)
    async with client_of(sandbox, launch=policy) as client:
        searching = client.content_ideas.search(sandbox.workspace_id, "tents")
        if sent < 3:
            with pytest.raises(cmsapi.LaunchUnknownError) as caught:
                await searching
            assert caught.value.evidence["sent"] == sent
        else:
            await searching
        assert len(sandbox.ledger.launches()) == sent
        if most is not None:
            with pytest.raises(cmsapi.OutOfCreditsError):
                await client.content_ideas.search(sandbox.workspace_id, "boots")
    assert len(sandbox.ledger.launches()) == sent


@pytest.mark.parametrize(("status", "left"), [(403, 1), (502, 0)])
async def test_a_refused_repeat_gives_its_credit_back(status: int, left: int) -> None:
    """A repeat that the service refuses costs nothing; the attempt in doubt before it counts all the same."""
    rules = [Fault(match=SEARCH, drop=True, when="after"), Fault(match=SEARCH, status=status)]
    sandbox = box(30.0, rules=rules)
    policy = LaunchPolicy(on_unknown="repeat", max_credits=2, settle=1.0)
    async with client_of(sandbox, launch=policy) as client:
        with pytest.raises(cmsapi.LaunchUnknownError):
            await client.content_ideas.search(sandbox.workspace_id, "tents")
        for _ in range(left):
            await client.content_ideas.search(sandbox.workspace_id, "boots")
        with pytest.raises(cmsapi.OutOfCreditsError):
            await client.content_ideas.search(sandbox.workspace_id, "maps")


async def test_a_killed_repetition_leaves_the_first_attempt_in_doubt() -> None:
    """The doubt is in the journal, so that the next process does not take it for nothing either."""
    sandbox = box()
    keyword_id = sandbox.keyword_ids[0]
    async with client_of(sandbox) as client:
        await client.me()
        entry = sent("keyword_analysis", keyword_id, sandbox, doubt="it may be charged")
        await leave(client, sandbox, f"keyword_analysis {keyword_id}", entry)
        with pytest.raises(cmsapi.LaunchUnknownError) as caught:
            await client.keywords.analyze(keyword_id)
    assert caught.value.evidence["found"] == "it may be charged"
    assert sandbox.ledger.launches() == []


@pytest.mark.parametrize("next_one", ["resume", "launch"])
async def test_a_doubt_that_was_taken_over_outlives_a_repeat_that_was_not_sent(next_one: str) -> None:
    """A repeat of a dead process's launch may be called back before it is sent; the next client tells the doubt."""
    sandbox = box()
    prompt_id = sandbox.prompt_ids[0]
    calls: list[asyncio.Task[Any]] = []

    def decide(_: object) -> str:
        calls.extend(asyncio.create_task(client.keywords.get(sandbox.keyword_ids[0])) for _ in range(30))
        return "repeat"

    policy, limits = LaunchPolicy(on_unknown=decide, baseline="none"), cmsapi.RateLimits(per_second=1)
    async with client_of(sandbox, launch=policy, limits=limits) as client:
        await client.me()
        await leave(client, sandbox, f"prompt_analysis {prompt_id}", sent("prompt_analysis", prompt_id, sandbox))
        launching = asyncio.create_task(client.prompts.analyze(prompt_id))
        await asyncio.sleep(20.0)
        assert calls
        launching.cancel()
        await asyncio.gather(launching, *calls, return_exceptions=True)
    async with client_of(sandbox) as client:
        if next_one == "resume":
            assert [error.target for error in (await client.jobs.resume()).unknown] == [prompt_id]
        else:
            with pytest.raises(cmsapi.LaunchUnknownError):
                await client.prompts.analyze(prompt_id)
    assert sandbox.ledger.launches() == []


async def test_a_repeat_in_doubt_is_not_sent_without_a_caller() -> None:
    """A caller that leaves while the repeat is put off pays for no second launch; the first stays in the journal."""
    rules = [Fault(match=SEARCH, drop=True, when="after"), Fault(match=SEARCH, status=429, retry_after=100)]
    sandbox = box(30.0, rules=rules)
    policy = LaunchPolicy(on_unknown="repeat", settle=1.0, max_credits=2)
    async with client_of(sandbox, launch=policy) as client:
        launching = asyncio.create_task(client.content_ideas.search(sandbox.workspace_id, "tents"))
        await asyncio.sleep(50.0)
        assert posts(sandbox) == 2
        launching.cancel()
        await asyncio.sleep(300.0)
        assert posts(sandbox) == 2
        (unknown,) = (await client.jobs.resume()).unknown
        assert unknown.evidence["sent"] == 1
        # Only the attempt in doubt counts as a credit that is spent.
        await client.content_ideas.search(sandbox.workspace_id, "boots")
        with pytest.raises(cmsapi.OutOfCreditsError):
            await client.content_ideas.search(sandbox.workspace_id, "maps")


async def test_attempts_of_an_earlier_process_count() -> None:
    """Who repeats what a dead process has sent is told of all attempts."""
    sandbox = box(rules=[Fault(match="POST */prompts/*/analyze", status=504, times=None)])
    prompt_id = sandbox.prompt_ids[0]
    async with client_of(sandbox, launch=LaunchPolicy(on_unknown="repeat")) as client:
        await client.me()
        await leave(client, sandbox, f"prompt_analysis {prompt_id}", sent("prompt_analysis", prompt_id, sandbox))
        with pytest.raises(cmsapi.LaunchUnknownError) as caught:
            await client.prompts.analyze(prompt_id)
    assert caught.value.evidence["sent"] == 6


async def test_a_search_that_stays_open_is_left_to_resume() -> None:
    """Another search of the same keyword would be paid for on its own, so that no error advises one."""
    sandbox = box(rules=[Fault(match=SEARCH, drop=True, when="after")])
    async with client_of(sandbox) as client:
        await client.me()
        sandbox.add_fault(Fault(match="GET *", status=503, times=None))
        with pytest.raises(cmsapi.LaunchUnknownError) as caught:
            await client.content_ideas.search(sandbox.workspace_id, "tents")
        assert "jobs.resume" in caught.value.evidence["open"]
        assert "next launch" not in caught.value.evidence["open"]
        sandbox.clear_faults()
        resumed = await client.jobs.resume()
    assert [each.target for each in resumed.unknown] == ["tents"]


def fails(error: BaseException, later: bool) -> Any:
    """Make a function, sync or async, that raises instead of deciding."""

    def decide(_: cmsapi.LaunchUnknownError) -> str:
        raise error

    async def decide_later(_: cmsapi.LaunchUnknownError) -> str:
        raise error

    return decide_later if later else decide


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("error", [asyncio.CancelledError(), ValueError("no idea")])
async def test_a_function_that_fails_to_decide_repeats_nothing(error: BaseException, later: bool) -> None:
    """The doubt about money is raised and recorded as without a function, with a note on what the function raised."""
    sandbox = box(30.0, rules=[Fault(match="POST */prompts/*/analyze", drop=True, when="after")])
    policy = LaunchPolicy(on_unknown=fails(error, later), baseline="none", settle=1.0)
    prompt_id = sandbox.prompt_ids[0]
    spoiling = Spoiling(sandbox, changed(f"/v1/prompts/{prompt_id}", analysisStatus=None, lastAnalyzedAt=None))
    async with client_of(sandbox, launch=policy, transport=spoiling) as client:
        with pytest.raises(cmsapi.LaunchUnknownError) as caught:
            await client.prompts.analyze(prompt_id)
        assert any(type(error).__name__ in note for note in caught.value.__notes__)
        assert "open" not in caught.value.evidence
        assert await client.jobs.journal() == []
    assert len(sandbox.ledger.launches()) == 1


UNUSABLE = ["", ".", "..", None, 7.5, True, "absent"]


def named(identifier: object) -> Spoiling:
    """Make a sandbox that answers each launch of a search with this identifier."""
    sandbox = box(30.0)

    def spoil(request: cmsapi.Request, response: cmsapi.Response) -> cmsapi.Response:
        if request.method != "POST" or response.status >= 300:
            return response
        document = json.loads(response.body) | {"id": identifier}
        if identifier == "absent":
            del document["id"]
        return attrs.evolve(response, body=json.dumps(document).encode())

    return Spoiling(sandbox, spoil)


@pytest.mark.parametrize("on_unknown", ["raise", "repeat"])
@pytest.mark.parametrize("identifier", UNUSABLE)
async def test_a_search_with_an_unusable_identifier_is_told_at_once(identifier: object, on_unknown: Any) -> None:
    """The service has taken it, and its credit counts; no request can ask for it, and it is not sent again."""
    spoiling = named(identifier)
    sandbox = spoiling.sandbox
    policy = LaunchPolicy(on_unknown=on_unknown, max_credits=1)
    async with client_of(sandbox, transport=spoiling, launch=policy) as client:
        began = asyncio.get_running_loop().time()
        with pytest.raises(cmsapi.LaunchUnknownError, match="its credit counts as spent") as caught:
            await client.content_ideas.search(sandbox.workspace_id, "tents")
        assert asyncio.get_running_loop().time() - began < 5.0
        shown = {None: "null", "absent": "null"}.get(identifier, repr(identifier))  # type: ignore[call-overload]
        assert caught.value.evidence["unusable_id"] == shown
        assert await client.jobs.journal() == []
        with pytest.raises(cmsapi.OutOfCreditsError):
            await client.content_ideas.search(sandbox.workspace_id, "boots")
    assert len(sandbox.ledger.launches()) == 1


async def test_a_batch_never_repeats_a_search_with_an_unusable_identifier() -> None:
    """The item ends as unknown, also in the next runs, and its credit counts for the fan-out."""
    spoiling = named("..")
    sandbox = spoiling.sandbox
    runs: list[dict[str, type[Exception] | None]] = []
    told: list[str] = []
    for _ in range(3):
        async with client_of(sandbox, transport=spoiling) as client, client.jobs.batch("ideas") as batch:

            async def search(keyword: str, client: cmsapi.Client = client) -> Any:
                return await client.content_ideas.search(sandbox.workspace_id, keyword)

            outcomes = [outcome async for outcome in batch.map(search, ["tents", "boots"], max_credits=1)]
            runs.append({outcome.item: type(outcome.error) if outcome.error else None for outcome in outcomes})
            told += [str(outcome.error) for outcome in outcomes if outcome.item == "tents"]
    unknown, refused = cmsapi.LaunchUnknownError, cmsapi.OutOfCreditsError
    assert runs == [{"tents": unknown, "boots": refused}, *[{"tents": unknown, "boots": unknown}] * 2]
    assert ["named it '..'" in text for text in told] == [True] * 3
    assert len(sandbox.ledger.launches()) == 2


@pytest.mark.parametrize("how", ["launch", "resume"])
async def test_what_is_shown_late_is_found_by_the_next_launch(how: str) -> None:
    """A launch that stayed unknown is looked at again, and its job is waited for instead of being paid again."""
    rules = [Fault(match="POST */analyze", drop=True, when="after"), Fault(match="GET */keywords/*", status=404)]
    sandbox = box(300.0, rules=rules)
    keyword_id = sandbox.keyword_ids[0]
    async with client_of(sandbox) as client:
        with pytest.raises(cmsapi.LaunchUnknownError):
            await client.keywords.analyze(keyword_id)
        if how == "launch":
            job = await client.keywords.analyze(keyword_id)
        else:
            (job,) = (await client.jobs.resume()).jobs
        assert job.target == keyword_id
        await job
        assert (await client.jobs.resume()).jobs == ()
    assert len(sandbox.ledger.launches()) == 1


async def test_what_is_not_shown_is_launched_anew() -> None:
    """After a doubt the next launch is sent, and `jobs.resume` leaves the doubt as it is."""
    sandbox = box(30.0, rules=[Fault(match="POST */analyze", drop=True)])
    async with client_of(sandbox) as client:
        with pytest.raises(cmsapi.LaunchUnknownError):
            await client.prompts.analyze(sandbox.prompt_ids[0])
        resumed = await client.jobs.resume()
        assert (resumed.jobs, resumed.unknown) == ((), ())
        await (await client.prompts.analyze(sandbox.prompt_ids[0]))
    assert len(sandbox.ledger.launches()) == 1


def shown_late(seconds: float) -> Sandbox:
    """Make a sandbox that loses the answer to a launch which took effect, and does not show the keyword at first."""
    rules = [Fault(match="POST */analyze", drop=True, when="after"), Fault(match="GET */keywords/*", status=404)]
    return box(seconds, rules=rules)


@pytest.mark.parametrize("status", [409, 422, 429])
async def test_a_doubt_outlives_a_launch_that_was_refused(status: int) -> None:
    """A launch that follows a doubt and is not taken changes nothing: the one after it finds the first, if it shows."""
    sandbox = shown_late(30.0)
    keyword_id = sandbox.keyword_ids[0]
    async with client_of(sandbox, retry=cmsapi.RetryPolicy(max_attempts=1)) as client:
        with pytest.raises(cmsapi.LaunchUnknownError):
            await client.keywords.analyze(keyword_id)
        await asyncio.sleep(60.0)
        sandbox.add_fault(Fault(match="GET */keywords/*", status=404))
        sandbox.add_fault(Fault(match="POST */analyze", status=status))
        with pytest.raises(cmsapi.APIError):
            await client.keywords.analyze(keyword_id)
        await (await client.keywords.analyze(keyword_id))
    assert len(sandbox.ledger.launches()) == 1


async def test_a_doubt_outlives_a_launch_with_other_settings_that_was_refused() -> None:
    """Other settings are other work, and what was refused does not take the place of the launch in doubt."""
    rules = [Fault(match="POST */atomic", drop=True, when="after")]
    sandbox = box(30.0, rules=rules)
    content_id, checked = sandbox.content_ids[0], cmsapi.GenerationSettings(fact_checking_enabled=True)
    async with client_of(sandbox) as client:
        await client.me()
        sandbox.add_fault(Fault(match="GET */generation", status=404, times=None))
        with pytest.raises(cmsapi.LaunchUnknownError):
            await client.contents.generate(content_id)
        sandbox.clear_faults()
        sandbox.add_fault(Fault(match="POST */atomic", status=422))
        with pytest.raises(cmsapi.ValidationError):
            await client.contents.generate(content_id, checked)
        await (await client.contents.generate(content_id))
    assert len(sandbox.ledger.launches()) == 1


async def test_a_doubt_outlives_a_resume_that_was_cancelled() -> None:
    """A program that ends while it asks again for what stayed unknown leaves that to the next one."""
    sandbox = shown_late(30.0)
    keyword_id = sandbox.keyword_ids[0]
    async with client_of(sandbox) as client:
        with pytest.raises(cmsapi.LaunchUnknownError):
            await client.keywords.analyze(keyword_id)
        sandbox.add_fault(Fault(match="GET */keywords/*", slow=20.0))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(10.0):
                await client.jobs.resume()
        (job,) = (await client.jobs.resume()).jobs
        await job
    assert len(sandbox.ledger.launches()) == 1


async def test_the_launch_after_a_doubt_takes_its_place() -> None:
    """Once another launch has happened, the one in doubt answers no later one."""
    rules = [Fault(match="POST */analyze", drop=True), Fault(match="GET */keywords/*", status=404)]
    sandbox = box(30.0, rules=rules)
    async with client_of(sandbox) as client:
        with pytest.raises(cmsapi.LaunchUnknownError):
            await client.keywords.analyze(sandbox.keyword_ids[0])
        for _ in range(2):
            await (await client.keywords.analyze(sandbox.keyword_ids[0]))
        assert (await client.jobs.resume()).jobs == ()
    assert len(sandbox.ledger.launches()) == 2


async def test_an_unusable_identifier_is_kept_although_no_caller_waits() -> None:
    """The next process knows that the service has taken the launch, so that no evidence of it is no proof."""
    spoiling = named(None)
    sandbox = spoiling.sandbox
    sandbox.add_fault(Fault(match=SEARCH, slow=5.0))
    async with client_of(sandbox, transport=spoiling) as client:
        launching = asyncio.create_task(client.content_ideas.search(sandbox.workspace_id, "tents"))
        await asyncio.sleep(3.0)
        launching.cancel()
        await asyncio.sleep(10.0)
        (left,) = (await open_entries(sandbox)).values()
        assert left.facts["unusable_id"] == "null"
        (unknown,) = (await client.jobs.resume()).unknown
        assert unknown.evidence["unusable_id"] == "null"


async def test_what_tells_of_a_launch_of_a_dead_process_outlives_its_repeat() -> None:
    """A repeat that is called back before it is sent leaves the time of the first attempt, by which it is found."""
    sandbox = box(30.0)
    keyword_id = sandbox.keyword_ids[0]
    calls: list[asyncio.Task[Any]] = []

    def decide(_: object) -> str:
        calls.extend(asyncio.create_task(client.pages.get(sandbox.page_ids[0])) for _ in range(30))
        return "repeat"

    policy, limits = LaunchPolicy(on_unknown=decide, baseline="none"), cmsapi.RateLimits(per_second=1)
    async with client_of(sandbox, launch=policy, limits=limits) as client:
        await client.me()
        entry = sent("keyword_analysis", keyword_id, sandbox)
        await client.request("POST", f"/v1/keywords/{keyword_id}/analyze")
        await leave(client, sandbox, f"keyword_analysis {keyword_id}", entry)
        sandbox.add_fault(Fault(match="GET */keywords/*", status=404))
        launching = asyncio.create_task(client.keywords.analyze(keyword_id))
        await asyncio.sleep(20.0)
        assert calls
        launching.cancel()
        await asyncio.gather(launching, *calls, return_exceptions=True)
        await asyncio.sleep(60.0)
    async with client_of(sandbox) as client:
        (job,) = (await client.jobs.resume()).jobs
        await job
    assert len(sandbox.ledger.launches()) == 1
