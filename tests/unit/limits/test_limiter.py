"""Both limits, as seen by a service that counts on arrival."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given, settings, strategies as st

from cmsapi import ClientClosedError, NotSentError, OutcomeUnknownError, RateLimitPaused, RateLimits, RateLimitWaitError
from cmsapi.limits.limiter import Limiter, Priority
from cmsapi.messages import Response
from tests.support.spec import spec
from tests.support.strict import StrictService, virtually

SECONDS = st.floats(0.001, 3, allow_nan=False).map(lambda value: round(value, 3))


@spec("8:hourly", "8:burst", "8.1")
@given(
    latencies=st.lists(st.tuples(SECONDS, SECONDS), min_size=1, max_size=30),
    pauses=st.lists(st.sampled_from([0.0, 0.0, 0.0, 0.3, 1.0, 400.0]), min_size=20, max_size=80),
    per_second=st.integers(1, 6),
    per_hour=st.integers(3, 40),
)
@settings(max_examples=60)
def test_no_latency_breaks_a_limit(
    latencies: list[tuple[float, float]], pauses: list[float], per_second: int, per_hour: int
) -> None:
    """Whatever the latencies and the pattern of arrivals, a strict service refuses nothing."""
    service = StrictService(per_second, per_hour, lambda number: latencies[number % len(latencies)])

    async def main() -> None:
        async with service.client() as client, asyncio.TaskGroup() as group:
            for pause in pauses:
                await asyncio.sleep(pause)
                group.create_task(client.request("GET", "/v1/me"))

    virtually(main())
    assert service.refused == 0
    assert len(service.accepted) == len(pauses)


def test_two_saturated_hours_use_both_limits() -> None:
    """Two saturated hours get almost all that the service allows, the first thousand in little over a minute."""
    draw = random.Random(7)
    service = StrictService(latency=lambda number: (draw.uniform(0.02, 0.2), draw.uniform(0.02, 0.2)))

    async def main() -> None:
        async with service.client() as client:

            async def caller() -> None:
                while True:
                    await client.request("GET", "/v1/me")

            callers = [asyncio.create_task(caller()) for _ in range(40)]
            await asyncio.sleep(7200)
            for task in callers:
                task.cancel()

    virtually(main())
    in_time = [at for at in service.accepted if at < 7200]
    assert (service.refused, len(in_time) >= 1990, in_time[999] <= 65) == (0, True, True)


@pytest.mark.looptime
async def test_the_first_request_goes_alone() -> None:
    """While the state of the hour is unknown, a hundred callers send one request, and cause no 429."""
    service = StrictService(used=tuple(-3500.0 + index * 3 for index in range(995)))
    async with service.client() as client:
        calls = [asyncio.create_task(client.request("GET", "/v1/me")) for _ in range(100)]
        await asyncio.sleep(0.08)
        alone = len(service.arrivals)
        await asyncio.gather(*calls)
    assert (alone, service.refused) == (1, 0)


@pytest.mark.looptime
async def test_after_a_failed_first_request_the_next_goes_alone_too() -> None:
    """A first request without a response reveals nothing, so the next one goes alone."""

    async def fail_twice(number: int) -> Response | None:
        if number <= 2:
            raise OutcomeUnknownError("lost")
        return None

    service = StrictService(answer=fail_twice)
    async with service.client() as client:
        calls = [asyncio.create_task(client.request("POST", "/v1/x")) for _ in range(30)]
        results = await asyncio.gather(*calls, return_exceptions=True)
    assert sum(isinstance(result, OutcomeUnknownError) for result in results) == 2
    assert service.arrivals[0] < service.arrivals[1] < service.arrivals[2] < service.arrivals[3]
    assert service.refused == 0


@pytest.mark.looptime
async def test_closing_refuses_what_waits_for_the_limits() -> None:
    """A call that waits for the hourly limit ends when the client is closed, and nothing is sent."""
    service = StrictService()
    client = service.client(limits=RateLimits(per_hour=1))
    await client.request("GET", "/v1/me")
    call = asyncio.create_task(client.request("GET", "/v1/me"))
    await asyncio.sleep(1)
    await client.aclose()
    with pytest.raises(ClientClosedError):
        await call
    assert len(service.arrivals) == 1


@pytest.mark.looptime
async def test_a_used_hour_is_waited_out() -> None:
    """If others have used up the hour, requests wait until theirs leave it, and at most the first is refused."""
    service = StrictService(used=tuple(-3590.0 + index for index in range(1000)))
    async with service.client() as client:
        await asyncio.gather(*(client.request("GET", "/v1/me") for _ in range(50)))
    assert service.refused <= 1
    assert len(service.accepted) == 50


@pytest.mark.looptime
async def test_a_colleague_with_a_third_of_the_hour() -> None:
    """Another program that uses a third of the hour costs its share, and at most a refusal per request."""
    service = StrictService(per_hour=300, used=tuple(-3600.0 + 36 * index for index in range(100)))

    async def colleague() -> None:
        while True:
            await asyncio.sleep(36)
            service.judge(asyncio.get_running_loop().time(), ours=False)

    other = asyncio.create_task(colleague())
    async with service.client() as client:
        await asyncio.gather(*(client.request("GET", "/v1/me") for _ in range(400)))
    other.cancel()
    assert sum(at < 3590 for at in service.accepted) >= 190
    assert service.refused <= 100


@spec("8.2")
@pytest.mark.looptime
async def test_remaining_that_says_nothing_is_left_is_believed_until_it_rises() -> None:
    """After ``X-RateLimit-Remaining: 0`` nothing is sent for ``X-RateLimit-Reset`` seconds, then one request asks."""
    told = {"x-ratelimit-limit": "1000", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "30"}

    async def answer(number: int) -> Response | None:
        left = "0" if number < 3 else "500"
        return Response(200, {**told, "x-ratelimit-remaining": left}, b"{}")

    service = StrictService(answer=answer, latency=lambda number: (0.0, 0.0))
    async with service.client() as client:
        await asyncio.gather(*(client.request("GET", "/v1/me") for _ in range(10)))
    assert service.arrivals == pytest.approx([0, 31, 62] + [62] * 7, abs=0.01)


@spec("8.4", "7:429")
@pytest.mark.looptime
async def test_a_429_pauses_every_request_of_the_key() -> None:
    """After a 429 no caller sends anything before ``Retry-After`` has passed."""
    refusal = Response(429, {"retry-after": "40"}, b'{"error": {"code": "rate_limited", "message": ""}}')

    async def answer(number: int) -> Response | None:
        return refusal if number == 2 else None

    service = StrictService(answer=answer)
    async with service.client() as client, service.client() as other:
        await client.request("GET", "/v1/me")
        first = asyncio.create_task(client.request("GET", "/v1/me"))
        await asyncio.sleep(0.2)
        await other.request("GET", "/v1/me")
        await first
    assert service.arrivals[2] >= 40


@pytest.mark.looptime
async def test_who_waits_goes_by_priority_and_then_by_arrival() -> None:
    """Calls precede launches, launches results, and results polls; equals go in order of arrival."""
    limiter = Limiter(RateLimits(per_second=1))
    order: list[str] = []

    async def use(name: str, priority: Priority) -> None:
        async with limiter.acquire(priority) as permit:
            order.append(name)
            permit.success = True

    await use("first", Priority.CALL)
    names = [("poll", Priority.POLL), ("result", Priority.RESULT), ("launch", Priority.LAUNCH), ("call", Priority.CALL)]
    async with asyncio.TaskGroup() as group:
        for name, priority in [*names, ("second call", Priority.CALL)]:
            group.create_task(use(name, priority))
    assert order == ["first", "call", "second call", "launch", "result", "poll"]


@given(cancelled=st.sets(st.integers(0, 11)), instants=st.lists(st.integers(0, 40), min_size=12, max_size=12))
def test_a_cancelled_waiter_hands_its_turn_on(cancelled: set[int], instants: list[int]) -> None:
    """Whichever waiter is cancelled, and whenever, all others are served and no token is lost."""
    served: list[int] = []

    async def main() -> None:
        limiter = Limiter(RateLimits(per_second=1))

        async def use(number: int) -> None:
            async with limiter.acquire() as permit:
                served.append(number)
                permit.success = True

        tasks = [asyncio.create_task(use(number)) for number in range(12)]
        loop = asyncio.get_running_loop()
        for number in cancelled:
            loop.call_at(instants[number] / 4, tasks[number].cancel)
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(1.5)
        began = loop.time()
        await use(99)
        assert loop.time() == began

    virtually(main())
    assert set(range(12)) - cancelled <= set(served)


@pytest.mark.looptime
async def test_a_waiter_cancelled_just_when_its_turn_comes_hands_it_on() -> None:
    """A waiter that is cancelled in the very loop turn that serves it does not keep the token."""
    limiter = Limiter(RateLimits(per_second=1))
    served: list[str] = []

    async def use(name: str) -> None:
        async with limiter.acquire() as permit:
            served.append(name)
            permit.success = True

    await use("first")
    doomed, next_one = asyncio.create_task(use("doomed")), asyncio.create_task(use("next"))
    await asyncio.sleep(0)
    asyncio.get_running_loop().call_at(1.0, lambda: asyncio.get_running_loop().call_soon(doomed.cancel))
    await asyncio.wait([doomed, next_one])
    assert "next" in served
    assert asyncio.get_running_loop().time() < 2.5


@pytest.mark.looptime
@pytest.mark.parametrize("copy", [False, True])
async def test_a_long_wait_is_refused_at_once_if_asked_for(copy: bool) -> None:
    """With ``max_wait`` on a client or a copy, the error of a request that would wait longer says how long."""
    service = StrictService(per_hour=5)
    async with service.client(limits=RateLimits(per_hour=5, max_wait=None if copy else 60)) as client:
        client = client.with_options(max_wait=60) if copy else client
        for _ in range(5):
            await client.request("GET", "/v1/me")
        began = asyncio.get_running_loop().time()
        with pytest.raises(RateLimitWaitError) as refused:
            await client.request("GET", "/v1/me")
        assert asyncio.get_running_loop().time() == began
        await asyncio.sleep(refused.value.retry_after)
        await client.request("GET", "/v1/me")
    assert service.refused == 0


@pytest.mark.looptime
async def test_polls_leave_a_part_of_the_hour_to_everything_else() -> None:
    """If only the reserve is left, a poll waits and a call does not."""
    limiter = Limiter(RateLimits(per_hour=10, reserve=2, per_second=100))
    for _ in range(8):
        async with limiter.acquire() as permit:
            permit.success = True
    poll = asyncio.create_task(limiter.acquire(Priority.POLL).__aenter__())
    await asyncio.sleep(0.1)
    async with limiter.acquire(Priority.CALL):
        assert not poll.done()
    await poll
    assert asyncio.get_running_loop().time() >= 3600


@pytest.mark.looptime
async def test_a_request_that_was_not_sent_costs_nothing_of_the_hour() -> None:
    """Connections that fail use up neither window."""

    async def refuse(number: int) -> Response | None:
        raise NotSentError("no connection")

    service = StrictService(answer=refuse)
    async with service.client() as client:
        with pytest.raises(NotSentError):
            await client.request("GET", "/v1/me")
        assert client.rate_limit.used == 0


@pytest.mark.looptime
async def test_clients_of_one_key_share_the_count_also_one_after_the_other() -> None:
    """A new client for each web request does not start with a fresh hour; a new key does."""
    service = StrictService(per_second=5, per_hour=12)
    for _ in range(3):
        async with service.client() as client, service.client() as twin:
            await asyncio.gather(*(each.request("GET", "/v1/me") for each in (client, twin) for _ in range(2)))
    async with service.client() as client, service.client("sk_other") as other:
        await asyncio.sleep(2)
        assert (client.rate_limit.free, other.rate_limit.free) == (0, 12)


@pytest.mark.looptime
async def test_a_service_without_limits_needs_no_waits() -> None:
    """`RateLimits.unlimited` holds nothing back."""
    service = StrictService(per_second=10**6, per_hour=10**6, latency=lambda number: (0.0, 0.0))
    async with service.client(limits=RateLimits.unlimited()) as client:
        await client.request("GET", "/v1/me")
        await asyncio.gather(*(client.request("GET", "/v1/me") for _ in range(2000)))
        assert asyncio.get_running_loop().time() < 1


@spec("8.3")
@pytest.mark.looptime
async def test_unlimited_paths_pass_no_limiter() -> None:
    """``/health``, ``/openapi.json`` and ``/docs`` neither wait nor count."""
    service = StrictService()
    async with service.client(limits=RateLimits(per_hour=1)) as client:
        await client.request("GET", "/v1/me")
        for path in ("/health", "/openapi.json", "/docs"):
            await client.request("GET", path)
        assert client.rate_limit.used == 1
        assert asyncio.get_running_loop().time() < 1


@pytest.mark.looptime
async def test_other_limits_for_the_same_key_are_refused() -> None:
    """Two clients of one key cannot disagree about its limits."""
    service = StrictService()
    async with service.client() as client:
        await client.request("GET", "/v1/me")
        with pytest.raises(ValueError, match="limits"):
            await service.client(limits=RateLimits(per_hour=500)).request("GET", "/v1/me")


@pytest.mark.looptime
async def test_answers_that_overtake_leave_nothing_to_others() -> None:
    """If responses arrive in a different order than their requests, a key's only user still has its whole hour."""
    service = StrictService(per_hour=60, latency=lambda number: (0.05, 3.0 - number % 10 * 0.3))
    async with service.client() as client:
        await client.request("GET", "/v1/me")
        await asyncio.gather(*(client.request("GET", "/v1/me") for _ in range(18)))
        assert (client.rate_limit.others, client.rate_limit.free) == (0, 41)


@pytest.mark.looptime
async def test_a_long_pause_reaches_the_hooks_of_who_waits() -> None:
    """A wait for the hourly limit is announced once, to a client that waits."""
    seen: list[object] = []
    service = StrictService(per_hour=2)
    async with service.client(hooks=[seen.append]) as client:
        await asyncio.gather(*(client.request("GET", "/v1/me") for _ in range(4)))
    assert len([event for event in seen if isinstance(event, RateLimitPaused)]) == 1


@pytest.mark.parametrize("seed", range(3))
def test_requests_that_arrive_in_another_order_use_no_more_than_is_left(seed: int) -> None:
    """With a third of the hour used by others, bursts that arrive in any order use up the rest without a refusal."""
    rng = random.Random(seed)

    def latency(number: int) -> tuple[float, float]:
        there = rng.uniform(0.01, 0.1)
        return there, 0.11 - there

    service = StrictService(latency=latency, used=(-1.0,) * 333)

    async def main() -> None:
        async with service.client() as client:
            await asyncio.gather(*(client.request("GET", "/v1/me") for _ in range(900)))

    virtually(main())
    assert service.refused == 0
