"""A service that refuses with 429: what it asks for is waited for or refused at once, and endless 429s are few."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
from datetime import UTC, datetime, timedelta

import attrs
import pytest

import cmsapi
from cmsapi import errors
from cmsapi.message import Request, Response
from cmsapi.sandbox import Limits, Sandbox
from tests.support.connecting import Connect
from tests.support.jobs import box, client_of
from tests.support.script import Script, answer, refusal

pytestmark = pytest.mark.looptime

YEARS = 10**9


def too_many(retry_after: object = None) -> Response:
    """Make a 429."""
    return refusal(429, "rate_limited", {} if retry_after is None else {"Retry-After": str(retry_after)})


@attrs.define
class Refusing:
    """Carry requests to a sandbox, and refuse all with 429 while it is told to.

    Args:
        sandbox: The service.
        retry_after: What each refusal asks for, None for nothing.
        refuses: Whether it refuses now.
    """

    sandbox: Sandbox
    retry_after: int | None = None
    refuses: bool = False
    refused: list[float] = attrs.field(factory=list)

    async def send(self, request: Request) -> Response:
        """Answer one request after a moment."""
        await asyncio.sleep(0.05)
        if not self.refuses:
            return await self.sandbox.transport.send(request)
        self.refused.append(asyncio.get_running_loop().time())
        return too_many(self.retry_after)


# Longer than a call waits


@pytest.mark.parametrize(("setting", "asked"), [(None, 3_601), (None, YEARS), (10.0, 11), (0.0, 1)])
async def test_a_longer_retry_after_is_an_error_at_once(connect: Connect, setting: float | None, asked: int) -> None:
    """A call does not wait longer than the setting, or an hour, and its error says when to try again."""
    service = Script(too_many(asked), answer())
    client = connect(service, retry=cmsapi.RetryPolicy(max_retry_after=setting))
    began, now = asyncio.get_running_loop().time(), datetime.now(UTC)
    with pytest.raises(errors.RateLimitedError) as caught:
        await client.me()
    assert (caught.value.retry_after, caught.value.attempts, len(service.requests)) == (asked, 1, 1)
    assert asyncio.get_running_loop().time() == began
    assert f"{asked:,} s" in str(caught.value)
    (told,) = re.findall(r"until (\S+ \S+) UTC", str(caught.value))
    then = datetime.fromisoformat(told).replace(tzinfo=UTC)
    assert abs(then - now - timedelta(seconds=asked)) < timedelta(seconds=60)


@pytest.mark.parametrize("status", [429, 503])
async def test_what_the_setting_allows_is_waited_for(connect: Connect, status: int) -> None:
    """A larger setting waits for longer than an hour, and never for less than was asked."""
    service = Script(refusal(status, headers={"Retry-After": "200000"}), answer())
    client = connect(service, retry=cmsapi.RetryPolicy(max_retry_after=200_000))
    await client.me()
    assert service.times[1] - service.times[0] >= 200_000


async def test_other_callers_are_refused_as_well(connect: Connect) -> None:
    """A call that waits already, and one that comes, fail at once; after an hour, the longest window, one tries."""
    service = Script(answer(), too_many(100_000), answer(), takes=0.1)
    client = connect(service)
    await client.me()
    # The second is full: most of these wait when the refusal comes.
    calls = await asyncio.gather(*(client.me() for _ in range(60)), return_exceptions=True)
    assert {type(call) for call in calls if isinstance(call, BaseException)} == {
        errors.RateLimitedError,
        errors.RateLimitWaitError,
    }
    sent = len(service.requests)
    assert sent < 25
    began = asyncio.get_running_loop().time()
    with pytest.raises(errors.RateLimitWaitError, match=r"(100,00\d|99,99\d) s") as caught:
        await client.me()
    assert re.search(r"until \S+ \S+ UTC", str(caught.value))
    assert caught.value.available_in == pytest.approx(100_000, abs=60)
    assert asyncio.get_running_loop().time() == began
    await asyncio.sleep(3_500)
    with pytest.raises(errors.RateLimitWaitError):
        await client.me()
    assert len(service.requests) == sent
    await asyncio.sleep(110)
    await client.me()


async def test_a_patient_copy_waits_while_others_are_refused(connect: Connect) -> None:
    """The bound belongs to a call: a copy with a larger one waits for the pause of all, which ends after an hour."""
    service = Script(too_many(5_000), answer())
    client = connect(service)
    patient = client.with_options(retry=cmsapi.RetryPolicy(max_retry_after=6_000))
    with pytest.raises(errors.RateLimitedError):
        await client.me()
    waiting = asyncio.create_task(patient.me())
    with pytest.raises(errors.RateLimitWaitError):
        await client.me()
    await waiting
    assert service.times[1] - service.times[0] == pytest.approx(3_600)


async def test_jobs_outlive_a_pause_of_hours() -> None:
    """A pause that no call waits for ends no job: it is not polled for an hour, and its result comes then."""
    sandbox = box(30.0)
    service = Refusing(sandbox, retry_after=20_000)
    async with client_of(sandbox, transport=service) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        service.refuses = True
        with pytest.raises(cmsapi.JobWaitTimeoutError, match="last poll has failed, with RateLimitedError: 429"):
            await job.wait(timeout=600)
        assert len(service.refused) == 1
        polls = job.status.polls
        service.refuses = False
        waiting = asyncio.create_task(job.wait())
        await asyncio.sleep(2_900)
        with pytest.raises(errors.RateLimitWaitError):
            await client.me()
        assert job.status.polls <= polls + 3
        await waiting
        assert 3_600 <= asyncio.get_running_loop().time() <= 3_900


# Refusals without end


async def test_endless_refusals_are_few(connect: Connect) -> None:
    """A hundred tasks that ask every ten seconds, as polls do, get fewer than a hundred 429s in 20,000 s."""
    service = Script(answer(), too_many(), takes=0.1)
    client = connect(service, retry=cmsapi.RetryPolicy(max_attempts=1))

    async def ask(after: float) -> None:
        await asyncio.sleep(after)
        while True:
            with contextlib.suppress(errors.RateLimitedError):
                await client.me()
            await asyncio.sleep(10)

    asking = [asyncio.create_task(ask(number / 10)) for number in range(100)]
    await asyncio.sleep(20_000)
    assert 60 < len(service.times) < 100
    assert max(later - sooner for sooner, later in itertools.pairwise(service.times)) < 400
    for each in asking:
        each.cancel()
    await asyncio.gather(*asking, return_exceptions=True)


async def test_running_jobs_back_off() -> None:
    """Running jobs keep to the same pauses: after half an hour of 429s no more than fifty polls were sent in vain."""
    sandbox = Sandbox(durations=10**6, limits=Limits.unlimited())
    service = Refusing(sandbox)
    async with client_of(sandbox, transport=service, seed=1) as client:
        jobs = [await client.keywords.analyze(keyword_id) for keyword_id in sandbox.keyword_ids]
        waiting = [asyncio.create_task(job.wait()) for job in jobs]
        await asyncio.sleep(60)
        service.refuses = True
        await asyncio.sleep(1_800)
        assert 10 < len(service.refused) < 50
        assert not any(job.done() for job in jobs)
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


@pytest.mark.parametrize("seed", range(3))
async def test_work_resumes_soon_after_refusals(seed: int) -> None:
    """Ten minutes of 429 end: within three minutes more all jobs are seen to be finished."""
    sandbox = Sandbox(durations=300, limits=Limits.unlimited(), keywords=40)
    service = Refusing(sandbox)
    loop = asyncio.get_running_loop()
    async with client_of(sandbox, transport=service, seed=seed) as client:
        jobs = [await client.keywords.analyze(keyword_id) for keyword_id in sandbox.keyword_ids]
        waiting = [asyncio.create_task(job.wait()) for job in jobs]
        await asyncio.sleep(30)
        service.refuses = True
        await asyncio.sleep(600)
        service.refuses, ended = False, loop.time()
        await asyncio.gather(*waiting)
        assert loop.time() - ended < 180


async def test_a_lone_refusal_is_forgotten(connect: Connect) -> None:
    """A 429 with answers before and after it pauses all calls for a moment only, however often that happens."""
    steps = [step for _ in range(50) for step in (answer(), too_many())]
    service = Script(*steps, answer())
    client = connect(service)
    for _ in range(50):
        await client.me()
    assert max(later - sooner for sooner, later in itertools.pairwise(service.times)) < 1.0


async def test_refusals_at_one_time_are_one(connect: Connect) -> None:
    """Many requests that were under way together and refused make no longer pause than one."""
    service = Script(*[too_many()] * 19, answer(), takes=0.5)
    client = connect(service, limits=cmsapi.RateLimits.unlimited())
    await asyncio.gather(*(client.me() for _ in range(19)))
    assert asyncio.get_running_loop().time() < 3.0


async def test_one_request_at_a_time_finds_out(connect: Connect) -> None:
    """After several refusals in a row one call tries while the others wait; its success lets all of them go."""
    service = Script(*[too_many()] * 6, answer(), takes=1.0)
    client = connect(service, limits=cmsapi.RateLimits.unlimited(), retry=cmsapi.RetryPolicy(max_attempts=9))
    first = asyncio.create_task(client.me())
    await asyncio.sleep(5)
    others = [asyncio.create_task(client.me()) for _ in range(10)]
    await asyncio.gather(first, *others)
    probes = service.times[2:7]
    assert all(later - sooner >= 1.0 for sooner, later in itertools.pairwise(probes))
    assert service.times[-1] - probes[-1] < 2.0
