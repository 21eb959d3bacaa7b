"""Whose turn it is, through the real pipeline against the sandbox's strict limits, in virtual time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

import cmsapi
from cmsapi import errors
from cmsapi.config import RateLimits
from cmsapi.ratelimit.limiter import LONG_WAIT, Priority, RateLimiter
from cmsapi.ratelimit.permits import End
from cmsapi.ratelimit.sliding_windows import SlidingWindows
from cmsapi.sandbox import Faults, Limits, Sandbox
from tests.support.accounts import limiter_of
from tests.support.connecting import Connect
from tests.support.script import HANG, Gateway, Outage, Script, answer, limit_headers, refusal

pytestmark = pytest.mark.looptime

Draw = Callable[[random.Random], float]
ONCE = cmsapi.RetryPolicy(max_attempts=1)


def heavy_tail(rng: random.Random) -> float:
    """Draw a one-way delay: 2 % are ten to a hundred times as long, up to what the limiter leans on."""
    return rng.uniform(0.2, 2.0) if rng.random() < 0.02 else rng.uniform(0.02, 0.2)


def client_of(sandbox: Sandbox, transport: Any = None, **options: Any) -> cmsapi.Client:
    """Give a client of a sandbox."""
    return cmsapi.Client(
        sandbox.api_key, base_url=sandbox.base_url, transport=transport or sandbox.transport, **options
    )


@asynccontextmanager
async def saturated(client: cmsapi.Client, workers: int) -> AsyncIterator[None]:
    """Let workers ask all the time; an error of theirs fails the test."""

    async def work() -> None:
        while True:
            await client.request("GET", "/v1/me")

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(work()) for _ in range(workers)]
        yield
        for task in tasks:
            task.cancel()


@pytest.mark.parametrize("latency", [(0.02, 0.2), heavy_tail, (0.0, 0.0)], ids=["jitter", "heavy tail", "none"])
async def test_two_saturated_hours(latency: Any) -> None:
    """Two hours of endless demand: no 429, and the service's whole hour is used, its first thousand within a minute."""
    sandbox = Sandbox(faults=Faults(latency=latency))
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with client_of(sandbox) as client, saturated(client, 60):
        await asyncio.sleep(7200)
    arrivals = [entry.at - began for entry in sandbox.ledger]
    assert sandbox.statistics.rate_limited == 0
    assert len([at for at in arrivals if at < 7200]) >= 1999
    assert arrivals[19] <= 1.2
    # 20 / (1 + mean round trip) a second, and the mean is longer with a heavy tail.
    assert arrivals[999] <= (64.0 if latency is heavy_tail else 62.0)


async def test_priorities_between_lanes() -> None:
    """What a person waits for passes what a machine waits for, whenever it came."""
    limiter = RateLimiter(SlidingWindows(1, 1000, first_alone=False))
    limiter.end(await limiter.acquire(), "answered")
    order: list[Priority] = []

    async def take(priority: Priority) -> None:
        permit = await limiter.acquire(priority)
        order.append(priority)
        limiter.end(permit, "answered")

    async with asyncio.TaskGroup() as group:
        for priority in (*reversed(Priority), *Priority):
            group.create_task(take(priority))
    assert order == sorted([*Priority, *Priority])


async def test_cancelled_waiters_cost_nothing() -> None:
    """Two hundred waiters that give up at every stage take no permit, and the last one is served in its time."""
    limiter = RateLimiter(SlidingWindows(20, 1000, first_alone=False))
    loop = asyncio.get_running_loop()
    for _ in range(20):
        limiter.end(await limiter.acquire(), "answered")
    freed_at = loop.time() + 1.0
    waiters = [asyncio.create_task(limiter.acquire()) for _ in range(200)]
    last = asyncio.create_task(limiter.acquire())
    await asyncio.sleep(0.3)
    for waiter in waiters[:100]:
        waiter.cancel()
    # At the moment of their turn: the permits of the next twenty may be given, but their tasks have not run.
    loop.call_at(freed_at, lambda: [waiter.cancel() for waiter in waiters[100:]])
    permit = await last
    assert loop.time() <= freed_at + 1e-6
    outcomes = await asyncio.gather(*waiters, return_exceptions=True)
    assert all(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes)
    snapshot = limiter.snapshot()
    assert (snapshot.in_flight, snapshot.remaining, snapshot.queued) == (1, 979, 0)
    limiter.end(permit, "answered")


async def test_a_waiter_cancelled_at_the_moment_of_its_turn_hands_it_on() -> None:
    """A permit that reaches a cancelled waiter goes to the next one at once."""
    limiter = RateLimiter(SlidingWindows(1, 1000, first_alone=False))
    loop = asyncio.get_running_loop()
    permit = await limiter.acquire()
    first, second = (asyncio.create_task(limiter.acquire()) for _ in range(2))
    await asyncio.sleep(0)
    limiter.end(permit, "unsent")
    first.cancel()
    began = loop.time()
    await second
    assert (loop.time(), first.cancelled()) == (began, True)


@pytest.mark.parametrize("first", ["answered", "lost", "unsent"])
async def test_a_permit_ends_once(first: End) -> None:
    """A permit keeps the stage at which it ended, and counts once however often it is ended."""
    limiter = RateLimiter(SlidingWindows(20, 1000))
    permit = await limiter.acquire()
    limiter.end(permit, first)
    after = limiter.snapshot()
    for again in ("answered", "lost", "unsent"):
        limiter.end(permit, again)
        assert (permit.stage, limiter.snapshot()) == (first, after)


@pytest.mark.parametrize("request_timeout", [30.0, 5.0])
async def test_silence_and_recovery(request_timeout: float) -> None:
    """After 25 s in which nothing answers a hundred callers, the network delivers what it held: no 429."""
    sandbox = Sandbox(faults=Faults(latency=(0.02, 0.2)))
    loop = asyncio.get_running_loop()
    outage = Outage(sandbox.transport, loop.time() + 5, loop.time() + 30)
    timeouts = cmsapi.Timeouts(request=request_timeout)
    retry = cmsapi.RetryPolicy(max_attempts=100)
    async with client_of(sandbox, outage, timeouts=timeouts, retry=retry) as client, saturated(client, 100):
        await asyncio.sleep(5)
        before = len(sandbox.ledger)
        await asyncio.sleep(25)
        await asyncio.sleep(10)
    assert sandbox.statistics.rate_limited == 0
    assert len(sandbox.ledger) > before + 100


async def test_max_wait_refuses_at_once_with_the_time() -> None:
    """A wait that is too long is refused now, with the moment at which it is over, and that is right."""
    sandbox = Sandbox()
    loop = asyncio.get_running_loop()
    async with client_of(sandbox, limits=RateLimits(per_hour=30, max_wait=60)) as client:
        for _ in range(30):
            await client.me()
        began = loop.time()
        with pytest.raises(errors.RateLimitWaitError) as caught:
            await client.me()
        assert loop.time() == began
        await asyncio.sleep(caught.value.available_in - 1e-3)
        patient = client.with_options(limits=RateLimits(max_wait=1))
        await patient.me()
        assert loop.time() - began == pytest.approx(caught.value.available_in, abs=0.1)
    assert sandbox.statistics.rate_limited == 0


async def test_the_expected_wait_is_right_in_a_queue() -> None:
    """A call that waits behind others for the hour is told a time that comes true."""
    limiter = RateLimiter(SlidingWindows(20, 10, first_alone=False))
    loop = asyncio.get_running_loop()
    for _ in range(10):
        limiter.end(await limiter.acquire(), "answered")
        await asyncio.sleep(60)
    waiting = [asyncio.create_task(limiter.acquire()) for _ in range(4)]
    await asyncio.sleep(0)
    expected = limiter.expected_wait(Priority.INTERACTIVE, loop.time())
    began = loop.time()
    assert expected == pytest.approx(3602 - 600 + 240)
    waiting.append(asyncio.create_task(limiter.acquire()))
    await asyncio.gather(*waiting)
    assert loop.time() - began == pytest.approx(expected)


async def test_a_429_lets_everybody_rest(connect: Connect) -> None:
    """After a 429 no call is sent before `Retry-After` is over, and one event tells of it."""
    heard: list[cmsapi.Event] = []
    service = Script(answer(), refusal(429, "rate_limited", {"Retry-After": "20"}), answer())
    client = connect(service, hooks=[heard.append])
    await client.me()
    began = asyncio.get_running_loop().time()
    refused = asyncio.create_task(client.me())
    await asyncio.sleep(1)
    assert 19 <= client.rate_limit.paused_for <= 19.5
    await asyncio.gather(refused, *(client.me() for _ in range(5)))
    assert all(at >= began + 20 for at in service.times[2:])
    assert [event.seconds >= 20 for event in heard if isinstance(event, cmsapi.RateLimitPaused)] == [True]
    assert client.statistics.rate_limited == 1
    impatient = client.with_options(limits=RateLimits(max_wait=0))
    await impatient.me()


async def test_a_pause_counts_for_max_wait(connect: Connect) -> None:
    """While everybody rests, an impatient call is refused with the rest of the pause."""
    service = Script(answer(), refusal(429, "rate_limited", {"Retry-After": "20"}), answer())
    client = connect(service, limits=RateLimits(max_wait=10))
    await client.me()
    with pytest.raises(errors.RateLimitedError):
        await client.me()
    with pytest.raises(errors.RateLimitWaitError) as caught:
        await client.me()
    assert 20 <= caught.value.available_in <= 20.5


async def test_a_429_holds_back_those_who_wait_already(connect: Connect) -> None:
    """The answer that asks for a pause does not let the next ones go first."""
    service = Script(refusal(429, "rate_limited", {"Retry-After": "600"}), answer(), takes=0.1)
    client = connect(service)
    began = asyncio.get_running_loop().time()
    await asyncio.gather(*(client.me() for _ in range(60)))
    assert all(at >= began + 600 for at in service.times[1:])


async def test_max_wait_is_kept_when_a_pause_comes_later(connect: Connect) -> None:
    """A call that queued in good hope is refused when its patience is over, and leaves no permit behind."""
    service = Script(refusal(429, "rate_limited", {"Retry-After": "600"}), answer(), takes=0.1)
    client = connect(service, limits=RateLimits(max_wait=5), retry=ONCE)
    began = asyncio.get_running_loop().time()
    outcomes = await asyncio.gather(*(client.me() for _ in range(3)), return_exceptions=True)
    assert [type(each) for each in outcomes] == [
        errors.RateLimitedError,
        errors.RateLimitWaitError,
        errors.RateLimitWaitError,
    ]
    assert asyncio.get_running_loop().time() == pytest.approx(began + 5, abs=0.2)
    assert client.rate_limit.queued == client.rate_limit.in_flight == 0
    assert isinstance(outcomes[1], errors.RateLimitWaitError)
    assert outcomes[1].available_in == pytest.approx(595, abs=1)


async def test_a_shorter_pause_does_not_end_a_longer_one() -> None:
    """All calls rest until the last pause is over, whichever began first."""
    limiter = RateLimiter(SlidingWindows(20, 1000, first_alone=False))
    loop = asyncio.get_running_loop()
    await asyncio.sleep(7)
    began = loop.time()
    limiter.pause(20.0)
    limiter.pause(5.0)
    await limiter.acquire()
    assert loop.time() == began + 20.0


async def test_only_a_long_wait_is_announced_and_once_per_shortage() -> None:
    """Five seconds are worth no word; of a longer wait the first call hears, and another one when that is over."""
    limiter = RateLimiter(SlidingWindows(20, 1000, first_alone=False))
    loop = asyncio.get_running_loop()
    heard: list[float] = []
    limiter.pause(LONG_WAIT)
    await limiter.acquire(announce=heard.append)
    assert heard == []
    for _ in range(2):
        began = loop.time()
        limiter.pause(8.0)
        await asyncio.gather(*(limiter.acquire(announce=heard.append) for _ in range(3)))
        assert loop.time() == began + 8.0
    assert heard == [8.0, 8.0]


async def test_a_refused_wait_says_when_and_leaves_nothing() -> None:
    """The error names both times, and neither a place in the queue nor a permit is kept."""
    limiter = RateLimiter(SlidingWindows(20, 1000, first_alone=False))
    limiter.pause(90.4)
    with pytest.raises(errors.RateLimitWaitError) as caught:
        await limiter.acquire(max_wait=1.5)
    assert str(caught.value).startswith(
        "The request limit admits this call in about 90 s, and max_wait is 1.5 s. "
        "Nothing was sent or charged; try again then."
    )
    assert caught.value.available_in == pytest.approx(90.4)
    assert (limiter.queued, limiter.snapshot().in_flight) == (0, 0)


async def test_a_timeout_of_the_windows_is_not_taken_for_impatience() -> None:
    """Where something else times out, that is what is raised, however patient the call."""

    class Broken(SlidingWindows):
        def expected_wait(self, ahead: int, now: float, *, background: bool = False) -> float:
            return 1.0

        def next_time(self, now: float, *, background: bool = False) -> float:
            raise TimeoutError

    for max_wait in (None, 50.0):
        limiter = RateLimiter(Broken(1, 1000, first_alone=False))
        limiter.end(await limiter.acquire(), "answered")
        with pytest.raises(TimeoutError) as caught:
            await limiter.acquire(max_wait=max_wait)
        assert not isinstance(caught.value, errors.RateLimitWaitError)


async def test_a_transport_that_returns_something_else_leaks_no_permit(connect: Connect) -> None:
    """A mistake in a transport is named, and the next call goes on."""

    class Careless(Script):
        async def send(self, request: cmsapi.Request) -> cmsapi.Response:
            found = await super().send(request)
            return found if len(self.requests) > 1 else {"status": 200}  # type: ignore[return-value]  # the mistake

    client = connect(Careless(answer()))
    with pytest.raises(TypeError, match=r"returns a cmsapi\.Response, not dict"):
        await client.me()
    assert (await client.me()).id == "usr_1"


async def test_a_foreign_client_is_seen_in_the_headers() -> None:
    """Another user of the key leaves less for us: we stop at what the service has left, without a 429."""
    sandbox = Sandbox()

    async def foreign(count: int) -> None:
        for _ in range(count):
            request = cmsapi.Request("GET", f"{sandbox.base_url}/v1/me", {"Authorization": f"Bearer {sandbox.api_key}"})
            assert (await sandbox.transport.send(request)).status == 200
            await asyncio.sleep(0.06)

    async with client_of(sandbox, retry=ONCE) as client:
        for _ in range(10):
            await client.me()
        await asyncio.sleep(1)
        await foreign(600)
        await asyncio.sleep(1)
        await client.me()
        assert (client.rate_limit.foreign, client.rate_limit.remaining) == (600, 389)
        impatient = client.with_options(limits=RateLimits(max_wait=30))
        for _ in range(389):
            await impatient.me()
        with pytest.raises(errors.RateLimitWaitError):
            await impatient.me()
        assert sandbox.statistics.rate_limited == 0
        await asyncio.sleep(3700)
        await client.me()
        assert client.rate_limit.foreign == 0


async def test_two_strangers_on_one_key_share_the_hour() -> None:
    """Two clients that do not know of each other see each other in the headers: the hour is used, 429s are few."""
    sandbox = Sandbox(faults=Faults(latency=(0.02, 0.2)), limits=Limits(per_second=40))
    # Another spelling of the service's address is another account to the limiter.
    other = cmsapi.Client(sandbox.api_key, base_url="https://other.invalid", transport=sandbox.transport)
    async with client_of(sandbox) as client, other, saturated(client, 50), saturated(other, 50):
        await asyncio.sleep(7200)
    assert len([entry for entry in sandbox.ledger if entry.status == 200]) >= 1990
    assert sandbox.statistics.rate_limited <= 20


async def test_after_a_restart_the_first_request_goes_alone() -> None:
    """A client that does not know what the hour has left asks with one request and then knows."""
    sandbox = Sandbox(faults=Faults(latency=(0.1, 0.1)))
    loop = asyncio.get_running_loop()
    async with client_of(sandbox) as before, saturated(before, 100):
        await asyncio.sleep(100)
    used = len(sandbox.ledger)
    restarted = cmsapi.Client(sandbox.api_key, base_url="https://restarted.invalid", transport=sandbox.transport)
    async with restarted:
        calls = [asyncio.create_task(restarted.me()) for _ in range(30)]
        await asyncio.sleep(0.05)
        assert (restarted.rate_limit.in_flight, restarted.rate_limit.queued) == (1, 29)
        await asyncio.gather(*calls)
    assert used == 1000
    assert loop.time() > 3600
    # The one that asked.
    assert sandbox.statistics.rate_limited <= 1


async def test_clients_of_one_account_share_the_limiter() -> None:
    """A client per web request does not multiply what the account may do; the strictest setting holds."""
    sandbox = Sandbox()
    async with client_of(sandbox) as one, client_of(sandbox, limits=RateLimits(per_hour=500)) as two:
        await asyncio.gather(*(client.me() for client in (one, two) for _ in range(30)))
        assert one.rate_limit == two.rate_limit
        assert (one.rate_limit.limit, one.rate_limit.remaining) == (500, 440)
    async with client_of(sandbox) as three:
        assert three.rate_limit.remaining == 440
    assert sandbox.statistics.rate_limited == 0


async def test_other_accounts_have_their_own() -> None:
    """Another key has another limiter; of many accounts those without a client are forgotten after their hour."""
    limits = RateLimits()
    one = limiter_of("one", limits)
    one.end(await one.acquire(), "answered")
    assert limiter_of("one", limits) is one
    assert limiter_of("two", limits) is not one
    for number in range(70):
        limiter = limiter_of(f"busy {number}", limits)
        limiter.end(await limiter.acquire(), "answered")
    assert limiter_of("one", limits) is one
    await asyncio.sleep(3700)
    limiter_of("three", limits)
    assert limiter_of("one", limits) is not one


def test_limiters_of_dead_loops_are_let_go() -> None:
    """A limiter does not outlive its loop, even with a timer set."""
    import gc
    import weakref

    async def use() -> weakref.ref[RateLimiter]:
        limiter = limiter_of("dead", RateLimits(per_second=1))
        limiter.end(await limiter.acquire(), "answered")
        waiting = asyncio.create_task(limiter.acquire())
        await asyncio.sleep(0)
        waiting.cancel()
        return weakref.ref(limiter)

    async def touch() -> None:
        limiter_of("alive", RateLimits())

    limiter = asyncio.run(use())
    asyncio.run(touch())
    gc.collect()
    assert limiter() is None


async def test_without_limits_nothing_waits() -> None:
    """`RateLimits.unlimited()` lets a thousand requests go at once."""
    sandbox = Sandbox(limits=Limits.unlimited())
    async with client_of(sandbox, limits=RateLimits.unlimited()) as client:
        began = asyncio.get_running_loop().time()
        await asyncio.gather(*(client.me() for _ in range(1000)))
        assert asyncio.get_running_loop().time() == began
        shown = client.rate_limit
    assert (shown.limit, shown.remaining, shown.reset_in, shown.queued) == (None, None, 0.0, 0)


async def test_a_long_wait_is_announced_once(connect: Connect) -> None:
    """A hook hears once, with the time, that the hour is used up."""
    heard: list[cmsapi.Event] = []
    client = connect(Script(answer()), limits=RateLimits(per_hour=2), hooks=[heard.append])
    await asyncio.gather(*(client.me() for _ in range(2)))
    await asyncio.gather(*(client.me() for _ in range(2)))
    (wait,) = [event for event in heard if isinstance(event, cmsapi.QuotaWait)]
    assert wait.operation == "get_me"
    assert wait.expected == pytest.approx(3602, abs=3)


async def lose_twenty(client: cmsapi.Client) -> None:
    """Give up twenty requests without an answer, and let a minute pass."""
    await client.me()
    await asyncio.sleep(2)
    lost = [asyncio.create_task(client.request("POST", "/v1/things")) for _ in range(20)]
    await asyncio.sleep(1)
    for task in lost:
        task.cancel()
    await asyncio.sleep(60)


async def test_after_lost_answers_calls_wait_for_one_answer_and_not_for_a_minute(connect: Connect) -> None:
    """One call finds out whether the service answers; the others wait for that, and none is refused for a long wait."""
    heard: list[cmsapi.Event] = []
    service = Script(answer(), *[HANG] * 20, answer())
    client = connect(service, limits=RateLimits(max_wait=5), hooks=[heard.append])
    await lose_twenty(client)
    await asyncio.gather(*(client.me() for _ in range(20)))
    assert [event for event in heard if isinstance(event, cmsapi.QuotaWait)] == []


async def test_a_wait_for_a_service_that_may_be_silent_says_so(connect: Connect) -> None:
    """Calls that wait until one has found out whether the service answers do not tell that the second is used up."""
    heard: list[cmsapi.Event] = []
    client = connect(Script(answer(), *[HANG] * 20, answer()), hooks=[heard.append])
    await lose_twenty(client)
    await asyncio.gather(*(client.me() for _ in range(150)))
    (wait,) = [event for event in heard if isinstance(event, cmsapi.QuotaWait)]
    assert "answers have stayed away" in wait.reason


async def test_a_call_that_hangs_does_not_hang_the_others(connect: Connect) -> None:
    """One request without an answer holds the others back for no longer than its timeout."""
    service = Script(answer(), HANG, answer())
    client = connect(service, timeouts=cmsapi.Timeouts(request=30))
    await client.me()
    hanging = asyncio.create_task(client.request("POST", "/v1/things"))
    await asyncio.sleep(3)
    began = asyncio.get_running_loop().time()
    await asyncio.gather(*(client.me() for _ in range(50)))
    assert asyncio.get_running_loop().time() - began <= 5
    with pytest.raises(errors.OutcomeUnknownError):
        await hanging


@pytest.mark.parametrize("after", [0, 1, 30])
@pytest.mark.parametrize("quota", [(1, 0, 1), (1000, 0, 1), (5, 0, 1)])
async def test_an_answer_that_lies_about_the_hour(quota: tuple[int, int, int], after: int) -> None:
    """One that says that the hour is spent holds calls up until its `Reset`; then one request finds the truth."""
    sandbox = Sandbox()
    loop = asyncio.get_running_loop()
    async with client_of(sandbox, Gateway(sandbox.transport, quota, after)) as client:
        for _ in range(after):
            await client.me()
        await asyncio.sleep(2.0)
        began = loop.time()
        await asyncio.gather(*(client.me() for _ in range(10)))
        assert loop.time() - began <= 8.0
    assert (len(sandbox.ledger), sandbox.statistics.rate_limited) == (after + 10, 0)


async def test_a_spent_hour_is_tried_once_for_each_reset(connect: Connect) -> None:
    """When every answer says that a lower limit is spent, one request goes for each `Reset`, whatever waits."""
    script = Script(refusal(503, headers=limit_headers((1, 0, 30))))
    client = connect(script, retry=ONCE)
    calls = [asyncio.create_task(client.me()) for _ in range(20)]
    await asyncio.sleep(300.0)
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    assert 9 <= len(script.times) <= 11


async def test_a_service_that_allows_less_is_never_asked_too_early() -> None:
    """A true lower limit is spent to the last and tried again only when the service has room: no 429 in two hours."""
    sandbox = Sandbox(limits=Limits(per_hour=100), faults=Faults(latency=(0.02, 0.2)))
    async with client_of(sandbox) as client, saturated(client, 30):
        await asyncio.sleep(7250)
    assert sandbox.statistics.rate_limited == 0
    assert len(sandbox.ledger) >= 290
