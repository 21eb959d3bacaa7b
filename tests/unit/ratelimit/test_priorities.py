"""What polls leave to others, and what the limiter tells those who plan ahead, in virtual time."""

from __future__ import annotations

import asyncio
import math
import random

import pytest

from cmsapi.config import RateLimits
from cmsapi.message import Request
from cmsapi.ratelimit.limiter import Priority, RateLimiter
from cmsapi.ratelimit.permits import Permit, Quota
from cmsapi.ratelimit.rate_limit import RateLimit
from cmsapi.ratelimit.request_log import HOUR
from cmsapi.ratelimit.sliding_windows import SlidingWindows
from cmsapi.sandbox import Faults, Sandbox
from cmsapi.transport.answers import read_quota
from tests.support.accounts import limiter_of

pytestmark = pytest.mark.looptime


def limiter_with(per_second: int | None, per_hour: int | None, reserve: int | None = None) -> RateLimiter:
    """Give a limiter whose hour is known to be unused."""
    return RateLimiter(SlidingWindows(per_second, per_hour, reserve=reserve, first_alone=False))


def taken(windows: SlidingWindows, now: float) -> Permit:
    """Take a permit that is free."""
    permit = Permit()
    assert windows.take(permit, now)
    return permit


async def spent(limiter: RateLimiter, count: int, priority: Priority = Priority.INTERACTIVE) -> None:
    """Make requests that are answered at once."""
    for _ in range(count):
        limiter.end(await limiter.acquire(priority), "answered")


@pytest.mark.parametrize(("per_second", "left"), [(20, 2), (10, 1), (9, 0), (1, 0)])
async def test_polls_leave_a_tenth_of_the_second(per_second: int, left: int) -> None:
    """Polls use up all but the last permits of a second, which a person's call takes at once."""
    limiter = limiter_with(per_second, 1000)
    loop = asyncio.get_running_loop()
    began = loop.time()
    polls = [asyncio.create_task(limiter.acquire(Priority.POLL)) for _ in range(per_second + 5)]
    await asyncio.sleep(0)
    assert limiter.snapshot().waiting == {"interactive": 0, "launch": 0, "result": 0, "poll": left + 5}
    for _ in range(left):
        limiter.end(await limiter.acquire(), "answered")
    assert loop.time() == began
    late = asyncio.create_task(limiter.acquire(Priority.LAUNCH))
    await asyncio.sleep(0)
    assert limiter.snapshot().waiting["launch"] == 1
    for poll in polls:
        poll.cancel()
        if poll.done():
            limiter.end(poll.result(), "answered")
    await late


async def test_polls_leave_a_reserve_of_the_hour() -> None:
    """When the hour is short, polls wait for it while launches, results and people go on."""
    limiter = limiter_with(None, 30, reserve=4)
    loop = asyncio.get_running_loop()
    await spent(limiter, 26, Priority.POLL)
    waiting = asyncio.create_task(limiter.acquire(Priority.POLL))
    await asyncio.sleep(10)
    assert not waiting.done()
    assert limiter.expected_wait(Priority.POLL, loop.time()) == pytest.approx(HOUR - 10)
    assert limiter.expected_wait(Priority.RESULT, loop.time()) == 0
    await spent(limiter, 4, Priority.RESULT)
    assert limiter.snapshot().remaining == 0
    began = loop.time()
    await waiting
    # The four of the reserve have to be free again, and one for the poll.
    assert loop.time() - began == pytest.approx(HOUR - 10)


@pytest.mark.parametrize(("per_hour", "default"), [(1000, 10), (500, 5), (100, 1), (30, 0), (1, 0)])
async def test_the_reserve_is_a_hundredth_by_default(per_hour: int, default: int) -> None:
    """Without a setting polls leave 1 % of the hour, which is nothing of a small one."""
    assert limiter_with(20, per_hour).snapshot().reserve == default


async def test_the_reserve_shrinks_with_the_limit_of_the_service() -> None:
    """A service that allows less leaves a reserve in proportion, and never so much that no poll is left."""
    windows = SlidingWindows(20, 1000, reserve=900, first_alone=False)
    windows.answered(taken(windows, 0.0), 0.0, Quota(100, 99, 3600.0))
    assert windows.reserve == 90
    windows.answered(taken(windows, 0.0), 0.0, Quota(1, 0, 3600.0))
    assert windows.reserve == 0


async def test_the_largest_reserve_of_several_clients_holds() -> None:
    """Clients of one account share the limiter, and the most cautious of them decides."""
    limiter = limiter_of("reserves", RateLimits(reserve=0))
    assert limiter.snapshot().reserve == 0
    assert limiter_of("reserves", RateLimits(reserve=50)) is limiter
    limiter_of("reserves", RateLimits(reserve=10))
    assert limiter.snapshot().reserve == 50
    unlimited = limiter_of("none", RateLimits.unlimited())
    assert unlimited.snapshot().reserve == 0


@pytest.mark.parametrize("launches", [0, 300])
async def test_interactive_calls_pass_polls_and_launches(launches: int) -> None:
    """Two hundred calls of a person during endless polls and a batch: none waits longer than 1.5 s and a round trip."""
    sandbox = Sandbox(faults=Faults(latency=(0.02, 0.2)))
    request = Request("GET", f"{sandbox.base_url}/v1/me", {"Authorization": f"Bearer {sandbox.api_key}"})
    limiter = limiter_with(20, 1000, reserve=200)
    rng = random.Random(3)
    loop = asyncio.get_running_loop()

    async def call(priority: Priority) -> float:
        began = loop.time()
        permit = await limiter.acquire(priority)
        waited = loop.time() - began
        permit.stage = "departed"
        answer = await sandbox.transport.send(request)
        limiter.end(permit, "answered", read_quota(answer.headers))
        return waited

    async def poll() -> None:
        while True:
            await call(Priority.POLL)

    polls = [asyncio.create_task(poll()) for _ in range(300)]
    batch = [asyncio.create_task(call(Priority.LAUNCH)) for _ in range(launches)]
    calls = []
    for _ in range(200):
        await asyncio.sleep(rng.expovariate(2))
        calls.append(asyncio.create_task(call(Priority.INTERACTIVE)))
    waits = await asyncio.gather(*calls)
    await asyncio.gather(*batch)
    for task in polls:
        task.cancel()
    assert max(waits) <= 1.5 + 0.4
    assert sandbox.ledger.count(status=200) > 900
    assert sandbox.statistics.rate_limited == 0


async def test_free_counts_who_waits_already() -> None:
    """What is free for new work is what the hour admits, less the reserve and everybody who waits."""
    limiter = limiter_with(20, 100, reserve=10)
    loop = asyncio.get_running_loop()
    assert limiter.free(loop.time()) == 90
    permits = [await limiter.acquire() for _ in range(20)]
    assert limiter.free(loop.time()) == 70
    waiting = [asyncio.create_task(limiter.acquire(priority)) for priority in Priority for _ in range(20)]
    await asyncio.sleep(0)
    assert limiter.free(loop.time()) == -10
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    for permit in permits:
        limiter.end(permit, "answered")
    assert limiter.free(loop.time()) == 70
    await asyncio.sleep(HOUR)
    assert limiter.free(loop.time()) == 90


async def test_what_returns_and_when() -> None:
    """A request comes back an hour after its answer, and one that is in flight not yet."""
    limiter = limiter_with(20, 100)
    loop = asyncio.get_running_loop()
    assert (limiter.first_return(loop.time()), limiter.returning(loop.time(), HOUR)) == (math.inf, 0)
    in_flight = await limiter.acquire()
    assert limiter.first_return(loop.time()) == math.inf
    for _ in range(5):
        await spent(limiter, 3)
        await asyncio.sleep(60)
    now = loop.time()
    assert limiter.first_return(now) == pytest.approx(HOUR - 300)
    spans = [HOUR - 301, HOUR - 299, HOUR - 181, HOUR - 179, HOUR]
    assert [limiter.returning(now, span) for span in spans] == [0, 3, 6, 9, 15]
    limiter.end(in_flight, "answered")
    assert limiter.returning(now, HOUR) == 16
    await asyncio.sleep(HOUR - 200)
    now = loop.time()
    assert [limiter.returning(now, span) for span in (0, 0.5, 41, HOUR)] == [0, 0, 3, 10]


async def test_what_others_used_returns_too() -> None:
    """`Reset` says when the oldest request of the key comes back; the rest of the others' come back within the hour."""
    windows = SlidingWindows(None, 100, first_alone=False)
    windows.answered(taken(windows, 0.0), 0.0, Quota(100, 49, 600.0))
    assert windows.foreign_usage.count == 50
    assert windows.first_return(0.0) == pytest.approx(601)
    assert [windows.returning(0.0, span) for span in (600, 602, HOUR - 1, HOUR)] == [0, 1, 1, 51]


async def waiters(limiter: RateLimiter, *queues: Priority) -> list[asyncio.Task[Permit]]:
    """Let calls wait in queues."""
    tasks = [asyncio.create_task(limiter.acquire(queue)) for queue in queues]
    await asyncio.sleep(0)
    return tasks


async def test_a_lane_waits_for_those_before_it() -> None:
    """A call waits for those in its queue and in the ones that pass it, and the queues can be counted."""
    limiter = limiter_with(1, None)
    loop = asyncio.get_running_loop()
    await asyncio.sleep(100)
    await spent(limiter, 1)
    queues = [Priority.INTERACTIVE] * 2 + [Priority.LAUNCH] * 3 + [Priority.POLL] * 4
    tasks = await waiters(limiter, *queues)
    assert [limiter.expected_wait(queue, loop.time()) for queue in Priority] == [3.0, 6.0, 6.0, 10.0]
    assert limiter.waiting() == [2, 3, 0, 4]
    limiter.pause(8.0)
    assert [limiter.expected_wait(queue, loop.time()) for queue in Priority] == [8.0, 8.0, 8.0, 10.0]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert limiter.waiting() == [0, 0, 0, 0]


async def test_a_person_is_not_kept_waiting_for_when_a_poll_is_due() -> None:
    """A poll that waits for the hour has the limiter sleep for long; a person's call wakes it within the second."""
    limiter = limiter_with(2, 30, reserve=28)
    loop = asyncio.get_running_loop()
    began = loop.time()
    await spent(limiter, 2, Priority.POLL)
    (poll,) = await waiters(limiter, Priority.POLL)
    await spent(limiter, 1)
    assert loop.time() == began + 1.0
    await poll
    assert loop.time() == pytest.approx(began + HOUR)


async def test_a_turn_that_comes_just_before_its_alarm_needs_none() -> None:
    """A call that is served at the time of the limiter's timer leaves the next call to the answer."""
    limiter = limiter_with(1, 1000)
    loop = asyncio.get_running_loop()
    began = loop.time()
    # What was arranged first for a moment happens first.
    loop.call_at(began + 1.0, lambda: limiter.serve(began + 1.0))
    await spent(limiter, 1)
    first, second = await waiters(limiter, Priority.LAUNCH, Priority.LAUNCH)
    permit = await first
    await asyncio.sleep(5.0)
    assert not second.done()
    limiter.end(permit, "answered")
    await second
    assert loop.time() == began + 7.0


async def test_a_request_that_is_lost_hands_on_the_turn() -> None:
    """A call that waits for the first answer of all goes as soon as it is known that there will be none."""
    limiter = RateLimiter(SlidingWindows(20, 1000))
    loop = asyncio.get_running_loop()
    await asyncio.sleep(50)
    first = await limiter.acquire()
    (second,) = await waiters(limiter, Priority.LAUNCH)
    await asyncio.sleep(3)
    assert not second.done()
    limiter.end(first, "lost")
    await asyncio.sleep(0)
    assert second.done()
    assert limiter.snapshot().in_flight == 1
    # A request that is lost may have arrived: the hour gives it back no sooner than one that was answered.
    limiter.end(second.result(), "answered")
    assert limiter.remaining == 998
    await asyncio.sleep(HOUR - 1)
    assert not limiter.idle(loop.time())
    await asyncio.sleep(60)
    assert limiter.idle(loop.time())


async def test_a_limiter_is_idle_when_forgetting_it_loses_nothing() -> None:
    """Requests of the last hour, those in flight, those that wait, and a pause are all something to remember."""
    limiter = limiter_with(1, 1000)
    loop = asyncio.get_running_loop()
    assert limiter.idle(loop.time())
    permit = await limiter.acquire()
    assert not limiter.idle(loop.time())
    limiter.end(permit, "unsent")
    assert limiter.idle(loop.time())
    limiter.pause(30.0)
    assert not limiter.idle(loop.time())
    (waiting,) = await waiters(limiter, Priority.LAUNCH)
    assert not limiter.idle(loop.time() + 30.0)
    waiting.cancel()
    assert not limiter.idle(loop.time() + 29.0)
    assert limiter.idle(loop.time() + 30.0)


async def test_the_limits_are_shown_as_they_stand() -> None:
    """What is left, what waits and where, what others used, and how long everybody rests, are shown together."""
    limiter = limiter_with(4, 100, reserve=7)
    await asyncio.sleep(40)
    first, second, third = [await limiter.acquire() for _ in range(3)]
    limiter.end(first, "answered", Quota(100, 89, 600.0))
    limiter.end(second, "answered")
    await asyncio.sleep(10)
    limiter.pause(20.0)
    tasks = await waiters(limiter, Priority.LAUNCH, Priority.POLL, Priority.POLL)
    await asyncio.sleep(5)
    shown = limiter.snapshot()
    assert shown == RateLimit(
        limit=100,
        remaining=89,
        # A foreign request comes back before ours do.
        reset_in=601.0 - 15,
        reserve=7,
        queued=3,
        waiting={"interactive": 0, "launch": 1, "result": 0, "poll": 2},
        in_flight=1,
        foreign=8,
        paused_for=15.0,
    )
    limiter.end(third, "answered")
    await asyncio.gather(*tasks)
    assert limiter.snapshot().paused_for == 0.0
    assert "Rate limit</caption>" in shown._repr_html_()


async def test_without_a_limit_everything_is_free() -> None:
    """Without an hour's limit nothing is used up, so nothing comes back."""
    limiter = limiter_with(20, None)
    await spent(limiter, 5)
    now = asyncio.get_running_loop().time()
    assert (limiter.free(now), limiter.returning(now, HOUR), limiter.first_return(now)) == (math.inf, 0, math.inf)


async def test_the_moments_agree_with_what_happens() -> None:
    """What was said to come back is there when the time has come, no more and no less."""
    limiter = limiter_with(None, 50, reserve=0)
    loop = asyncio.get_running_loop()
    rng = random.Random(1)
    for _ in range(50):
        await spent(limiter, 1)
        await asyncio.sleep(rng.uniform(0, 60))
    now = loop.time()
    free, first = limiter.free(now), limiter.first_return(now)
    told = {span: limiter.returning(now, span) for span in (first - 1e-3, first + 1e-3, 3000, HOUR)}
    for span, count in told.items():
        await asyncio.sleep(now + span - loop.time())
        assert limiter.free(loop.time()) == free + count
