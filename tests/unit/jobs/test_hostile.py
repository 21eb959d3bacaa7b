"""Fan-outs against services that are nasty where the specification is silent: paid once, complete, and in time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import cmsapi
from tests.support import hostile

pytestmark = pytest.mark.looptime

COUNT = 12
EVERYTHING = ("keyword", "search", "generation")
# A poll that fails again and again is put off for up to two minutes each time.
RETRIED = 600.0
# The services, what is launched on them, and how late the latest result may be, in seconds.
SERVICES: list[tuple[type[hostile.Service], tuple[str, ...], float]] = [
    (hostile.Service, EVERYTHING, 15.0),
    (hostile.Shouting, EVERYTHING, 15.0),
    (hostile.CountsSeconds, EVERYTHING, 15.0),
    (hostile.Jumping, ("keyword",), 180.0),
    (hostile.FrozenList, ("keyword",), 240.0),
    (hostile.Portal, EVERYTHING, RETRIED),
    (hostile.PortalAfter, EVERYTHING, RETRIED),
    (hostile.SuccessfulFailures, EVERYTHING, RETRIED),
    (hostile.Maintenance, ("keyword", "search"), 680.0),
    (hostile.Grumbling, EVERYTHING, RETRIED),
    (hostile.ShowsLate, EVERYTHING, 30.0),
    (hostile.LosesAnswers, EVERYTHING, RETRIED),
    (hostile.CountsTooMany, EVERYTHING, 120.0),
    (hostile.AsksForYears, EVERYTHING, 3700.0),
]


@pytest.mark.parametrize(
    ("make", "kind", "latest"),
    [
        pytest.param(make, kind, latest, id=f"{make.__name__}-{kind}")
        for make, kinds, latest in SERVICES
        for kind in kinds
    ],
)
async def test_a_fan_out_on_a_hostile_service(make: type[hostile.Service], kind: str, latest: float) -> None:
    """Each item has one outcome, is paid once or reported, and its result comes after its end and in time."""
    service = make()
    targets = [f"{chr(ord('a') + number)}_tents" for number in range(COUNT)]
    ends: dict[str, float] = {}
    async with cmsapi.Client("sk_test", base_url="https://hostile.example", transport=service) as client:

        async def launch(target: str) -> cmsapi.Job[Any]:
            if kind == "keyword":
                return await client.keywords.analyze(target)
            if kind == "generation":
                return await client.contents.generate(target)
            return await client.content_ideas.search("wsp_1", target)

        if kind == "keyword":
            await client.keywords.list("pag_1")
        async with asyncio.timeout(7200):
            outcomes = [(hostile.now(), each) async for each in client.jobs.map(launch, targets)]
    assert sorted(outcome.item for _, outcome in outcomes) == targets
    for at, outcome in outcomes:
        paid = service.paid(outcome.item)
        if outcome.error is not None:
            assert paid == 0 or (paid == 1 and isinstance(outcome.error, cmsapi.LaunchUnknownError))
            continue
        assert paid == 1
        ends[outcome.item] = next(each.ends_at for each in service.launches if each.target == outcome.item)
        assert 0.0 <= at - ends[outcome.item] <= latest
    assert len(ends) >= COUNT / 2
    assert len(service.requests) <= COUNT * 60


async def test_an_unreadable_answer_before_a_launch() -> None:
    """An error of the read before a launch says that nothing was sent or charged."""
    service = hostile.UnreadableGenerations()
    async with cmsapi.Client("sk_test", base_url="https://hostile.example", transport=service) as client:
        with pytest.raises(cmsapi.DecodeError) as caught:
            await client.contents.generate("cnt_1")
    assert "This launch was not sent, and nothing was charged for it." in caught.value.__notes__
    assert service.paid("cnt_1") == 0


async def test_an_article_that_an_empty_answer_hid() -> None:
    """An answer with nothing in it does not say that there was none: an article of before passes for no new one."""
    service = hostile.HidesTheGeneration()
    async with cmsapi.Client("sk_test", base_url="https://hostile.example", transport=service) as client:
        with pytest.raises(cmsapi.LaunchUnknownError):
            await client.contents.generate("cnt_1")


async def test_a_search_that_stays_pending_with_its_ideas() -> None:
    """A lone search whose state never says that it is over gives its ideas after some minutes, and not after a day."""
    service = hostile.ForgetsTheEnd()
    async with cmsapi.Client("sk_test", base_url="https://hostile.example", transport=service) as client:
        ideas = await (await client.content_ideas.search("wsp_1", "tents"))
    assert len(ideas) == hostile.IDEAS
    assert hostile.now() < 800.0


async def test_ideas_that_move_while_they_are_read() -> None:
    """An idea that stands on two pages counts once, so that the one that was missed is waited for."""
    service = hostile.MovesIdeas()
    async with cmsapi.Client("sk_test", base_url="https://hostile.example", transport=service) as client:
        ideas = await (await client.content_ideas.search("wsp_1", "tents"))
    assert [idea.id for idea in ideas] == ["idea_0", "idea_1", "idea_2"]
    assert ideas.complete


async def test_a_generation_by_another_identifier() -> None:
    """It may be a colleague's, so that it ends the job; the error says that it may be the same, and how to get it."""
    service = hostile.RenamesGenerations()
    async with cmsapi.Client("sk_test", base_url="https://hostile.example", transport=service) as client:
        job = await client.contents.generate("cnt_1")
        with pytest.raises(cmsapi.JobSupersededError, match="or job_0 by another id") as caught:
            await job
        assert "client.jobs.watch('generation', 'cnt_1') follows it" in str(caught.value)
        review = await client.jobs.watch("generation", "cnt_1")
    assert review.generation.id == "gen_job_0"
    assert service.paid("cnt_1") == 1


async def test_a_launch_that_is_not_repeated_after_a_failure_with_effect() -> None:
    """As the documentation advises: one attempt is paid once, and the service shows the job a minute later."""
    service = hostile.FailsWithEffect()
    async with cmsapi.Client("sk_test", base_url="https://hostile.example", transport=service) as client:
        once = client.with_options(retry=cmsapi.RetryPolicy(max_attempts=1))
        with pytest.raises(cmsapi.InternalServerError):
            await once.keywords.analyze("kwd_1")
        await asyncio.sleep(60)
        assert (await client.keywords.get("kwd_1")).analysis_status is not None
    assert service.paid("kwd_1") == 1
