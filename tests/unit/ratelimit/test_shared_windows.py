"""Processes that share the limits, played in virtual time against the sandbox's strict limits."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterator
from typing import Any, TypeVar

import attrs
import pytest

import cmsapi
from cmsapi.errors import RateLimitWaitError, StateError
from cmsapi.message import Request
from cmsapi.ratelimit.limiter import Priority, RateLimiter
from cmsapi.ratelimit.permits import Quota
from cmsapi.ratelimit.request_log import HOUR, SECOND
from cmsapi.ratelimit.shared_log import OUTAGE_PAUSE, PROCESS_TIMEOUT, AccountLimits, Take, Taken
from cmsapi.ratelimit.shared_windows import TELL_WITHIN, TIMEOUT, TRY_AGAIN, SharedWindows
from cmsapi.ratelimit.unanswered import IN_FLIGHT_CAP, LOST_FOR_GOOD
from cmsapi.sandbox import Faults, Limits, Sandbox
from cmsapi.state.memory import MemoryState
from cmsapi.state.store import Change
from cmsapi.transport.answers import ServerClock
from cmsapi.transport.call import CallOptions
from cmsapi.transport.pipeline import Pipeline
from tests.support.memory import ProcessState
from tests.support.script import Gateway
from tests.support.taking import taken

pytestmark = pytest.mark.looptime

ACCOUNT = "0123456789abcdef"
LIMITS = AccountLimits(per_second=20, per_hour=1000)

T = TypeVar("T")


class Remote(ProcessState):
    """A state that takes time to answer, and may be out of reach.

    Args:
        memory: What is shared.
        delay: Seconds each way.
    """

    def __init__(self, memory: MemoryState, delay: float = 0.0) -> None:
        super().__init__(memory)
        self.delay = delay
        self.out = False
        self.fails: Exception | None = None
        self.reply_lost = False
        self.gone = False
        self.over = asyncio.Event()

    async def update_limits(self, account: str, change: Change[T]) -> T:
        """Travel, update and travel back."""
        await asyncio.sleep(self.delay)
        if self.gone:
            await self.over.wait()
        if self.out or self.gone:
            raise StateError("out of reach")
        if self.fails is not None:
            raise self.fails
        result = await super().update_limits(account, change)
        await asyncio.sleep(self.delay)
        if self.reply_lost:
            self.reply_lost = False
            raise StateError("the reply got lost")
        return result


@attrs.define
class Process:
    """Play a process: a limiter that shares, and how many of its requests were answered."""

    state: Remote
    windows: SharedWindows
    limiter: RateLimiter
    answered: int = 0

    async def saturate(
        self,
        sandbox: Sandbox,
        callers: int,
        seconds: float,
        queue: Priority = Priority.LAUNCH,
        transport: Any = None,
    ) -> None:
        """Call the service without a pause."""
        pipeline = Pipeline(
            transport=transport or sandbox.transport,
            clock=ServerClock(),
            retry=cmsapi.RetryPolicy(max_attempts=1),
            timeouts=cmsapi.Timeouts(),
        )
        request = Request("GET", f"{sandbox.base_url}/v1/me", {"authorization": f"Bearer {sandbox.api_key}"}, None)

        async def call() -> None:
            while True:
                await pipeline.send(cmsapi.OPERATIONS["get_me"], request, CallOptions(priority=queue), self.limiter)
                self.answered += 1

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(call()) for _ in range(callers)]
            await asyncio.sleep(seconds)
            for task in tasks:
                task.cancel()


_started: list[SharedWindows] = []


@pytest.fixture(autouse=True)
async def closed() -> AsyncIterator[None]:
    """End in order whatever a test started, so that no exchange outlives its loop."""
    yield
    while _started:
        await _started.pop().aclose()


def process(
    memory: MemoryState, delay: float = 0.0, *, per_hour: int | None = 1000, reserve: int | None = None, alone: int = 1
) -> Process:
    """Start a process."""
    state = Remote(memory, delay)
    limits = AccountLimits(per_second=20, per_hour=per_hour, reserve=reserve)
    windows = SharedWindows(state, ACCOUNT, limits, alone=alone)
    limiter = RateLimiter(windows)
    windows.connect(limiter.waiting, limiter.serve)
    _started.append(windows)
    return Process(state, windows, limiter)


async def asked(state: Remote, *, want: int = 0) -> Taken:
    """Take permits as another process does."""
    return await taken(state, ACCOUNT, LIMITS, Take(process="x", want=want))


@pytest.mark.parametrize("latency", [(0.02, 0.2), (0.0, 0.0)], ids=["jitter", "none"])
async def test_four_saturated_processes(latency: Any) -> None:
    """Near and far from the state, all get the same; the service refuses nothing and its burst rate is used."""
    sandbox, memory = Sandbox(limits=Limits(per_hour=100_000), faults=Faults(latency=latency)), MemoryState()
    fleet = [process(memory, delay, per_hour=100_000) for delay in (0.0005, 0.001, 0.01, 0.05)]
    await asyncio.gather(*(each.saturate(sandbox, 50, 30.0) for each in fleet))
    answered = [each.answered for each in fleet]
    round_trip = sum(latency)
    assert sandbox.statistics.rate_limited == 0
    assert sum(answered) >= 0.9 * 30.0 * 20 / (1 + round_trip)
    assert min(answered) >= 0.8 * max(answered)
    assert sum(each.windows.takes for each in fleet) <= 2 * sum(answered)


async def test_the_hour_is_spent_to_the_last() -> None:
    """Four processes spend the thousand together, and wait for the first to come back without a refusal."""
    sandbox, memory = Sandbox(faults=Faults(latency=(0.02, 0.2))), MemoryState()
    fleet = [process(memory, 0.001) for _ in range(4)]
    await asyncio.gather(*(each.saturate(sandbox, 20, 75.0) for each in fleet))
    assert (sandbox.statistics.rate_limited, len(sandbox.ledger)) == (0, 1000)
    assert min(each.answered for each in fleet) >= 200


async def test_a_killed_process_leaks_nothing() -> None:
    """What a process held that is gone comes back; the others never draw a refusal and use most of the rate again."""
    sandbox, memory = Sandbox(limits=Limits(per_hour=100_000), faults=Faults(latency=(0.1, 0.1))), MemoryState()
    killed, other = process(memory, per_hour=100_000), process(memory, per_hour=100_000)
    work = asyncio.create_task(killed.saturate(sandbox, 50, 100.0))
    await asyncio.sleep(5.03)
    killed.state.gone = True
    work.cancel()
    await other.saturate(sandbox, 50, 10.0)
    before = other.answered
    await other.saturate(sandbox, 50, 10.0)
    # Before anything can fail, so that nothing waits for it at the end.
    killed.state.over.set()
    await asyncio.sleep(0.1)
    assert sandbox.statistics.rate_limited == 0
    # 20 in each 1.2 s at the best; eager tasks tell of answers a little later.
    assert other.answered - before >= 140


async def test_one_call_costs_one_exchange_and_a_report() -> None:
    """Calls one after another cost an exchange each, which reports the last one; one more ends it."""
    one = process(MemoryState())
    for _ in range(10):
        permit = await one.limiter.acquire()
        permit.stage = "departed"
        one.limiter.end(permit, "answered")
    assert one.windows.takes == 10
    await asyncio.sleep(60.0)
    assert one.windows.takes == 11
    assert one.windows.idle(asyncio.get_running_loop().time())


async def test_cancelled_waiters_cost_nothing() -> None:
    """Two hundred waiters that give up leave no permit out and no process in line."""
    memory = MemoryState()
    one, other = process(memory), process(memory)
    permits = [await one.limiter.acquire() for _ in range(1)]
    one.limiter.end(permits.pop(), "answered")
    permits = [await one.limiter.acquire() for _ in range(19)]
    waiters = [asyncio.create_task(one.limiter.acquire()) for _ in range(200)]
    await asyncio.sleep(0.3)
    for waiter in waiters:
        waiter.cancel()
    for permit in permits:
        one.limiter.end(permit, "unsent")
    await asyncio.sleep(1.2)
    got = [await asyncio.wait_for(other.limiter.acquire(), 0.01) for _ in range(20)]
    assert len(got) == 20


async def test_tokens_at_hand_are_given_back() -> None:
    """A permit that was fetched for a waiter that gave up is soon at another process."""
    memory = MemoryState()
    one, other = process(memory), process(memory)
    one.limiter.end(await one.limiter.acquire(), "answered")
    permits = [await one.limiter.acquire() for _ in range(20 - 1)]
    for permit in permits:
        one.limiter.end(permit, "unsent")
    await asyncio.sleep(TELL_WITHIN + 0.01)
    grant = await asked(other.state, want=20)
    assert grant.granted == 19


async def test_a_request_that_was_given_up_settles_by_the_cap() -> None:
    """Its permit comes back for all one window after the cap, once the network has shown life."""
    memory = MemoryState()
    one, other = process(memory), process(memory)
    one.limiter.end(await one.limiter.acquire(), "answered")
    await asyncio.sleep(1.5)
    lost = await one.limiter.acquire()
    lost.stage = "departed"
    one.limiter.end(lost, "lost")
    one.limiter.end(await one.limiter.acquire(), "answered")
    await asyncio.sleep(IN_FLIGHT_CAP + 3.0)
    one.limiter.end(lost, "answered")
    grant = await asked(other.state, want=20)
    assert (grant.granted, len(grant.log.windows.log)) == (20, 3)


async def test_requests_given_up_before_their_holder_expired_count_once() -> None:
    """A process that was away for longer than its permits live does not report what landed by itself meanwhile."""
    memory = MemoryState()
    one, other = process(memory, alone=5), process(memory)
    one.limiter.end(await one.limiter.acquire(), "answered")
    await asyncio.sleep(1.5)
    for permit in [await one.limiter.acquire() for _ in range(3)]:
        permit.stage = "departed"
        one.limiter.end(permit, "lost")
    one.state.out = True
    await asyncio.sleep(PROCESS_TIMEOUT + IN_FLIGHT_CAP + 1.0)
    one.state.out = False
    await asyncio.sleep(TRY_AGAIN + OUTAGE_PAUSE + 1.0)
    one.limiter.end(await one.limiter.acquire(), "answered")
    await asyncio.sleep(LOST_FOR_GOOD)
    grant = await asked(other.state)
    assert (grant.log.windows.outstanding, len(grant.log.windows.log)) == (0, 5)


async def test_requests_made_alone_count_when_the_state_is_back() -> None:
    """Answered, given up or still out: each request that a process made alone is counted once by all."""
    memory = MemoryState()
    one, other = process(memory, alone=5), process(memory)
    one.limiter.end(await one.limiter.acquire(), "answered")
    one.state.out = True
    await asyncio.sleep(TRY_AGAIN + 2.0)
    one.limiter.end(await one.limiter.acquire(), "answered")
    answered, given_up, out = [await one.limiter.acquire() for _ in range(3)]
    one.limiter.end(answered, "answered")
    one.limiter.end(given_up, "lost")
    one.state.out = False
    await asyncio.sleep(2 * TRY_AGAIN + OUTAGE_PAUSE)
    now = await asked(other.state)
    assert now.log.windows.outstanding + len(now.log.windows.log) == 5
    one.limiter.end(out, "answered")
    await asyncio.sleep(LOST_FOR_GOOD)
    now = await asked(other.state)
    assert (now.log.windows.outstanding, len(now.log.windows.log)) == (0, 5)


async def test_requests_given_up_stay_out_without_a_later_answer() -> None:
    """Without an answer since, what was given up stays out; its process says so until it is lost for good."""
    memory = MemoryState()
    one, other = process(memory), process(memory)
    one.limiter.end(await one.limiter.acquire(), "answered")
    await asyncio.sleep(1.5)
    (await one.limiter.acquire()).stage = "departed"
    given_up, waits = await one.limiter.acquire(), await one.limiter.acquire()
    one.limiter.end(given_up, "lost")
    one.limiter.end(waits, "answered")
    await asyncio.sleep(1.0)
    assert (await asked(other.state)).log.windows.outstanding == 2
    await asyncio.sleep(LOST_FOR_GOOD)
    assert (await asked(other.state)).log.windows.outstanding == 1


async def test_in_silence_one_probe_goes_out() -> None:
    """When all permits were given up and nothing is answered, a process sends one request at a time, until one is."""
    one = process(MemoryState())
    one.limiter.end(await one.limiter.acquire(), "answered")
    await asyncio.sleep(1.5)
    for permit in [await one.limiter.acquire() for _ in range(20)]:
        permit.stage = "departed"
        one.limiter.end(permit, "lost")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(one.limiter.acquire(), IN_FLIGHT_CAP + SECOND - 0.1)
    probe = await asyncio.wait_for(one.limiter.acquire(), 0.5)
    probe.stage = "departed"
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(one.limiter.acquire(), 5.0)
    one.limiter.end(probe, "answered")
    # What the network may still deliver is waited for, and then everything is as before.
    await asyncio.wait_for(one.limiter.acquire(), IN_FLIGHT_CAP + SECOND + 0.1)


async def test_a_lost_reply_leaks_nothing() -> None:
    """An exchange whose reply got lost is repeated; what it gave is not lost, what it reported counts once."""
    memory = MemoryState()
    one = process(memory, alone=5)
    one.limiter.end(await one.limiter.acquire(), "answered")
    one.state.reply_lost = True
    await asyncio.sleep(TRY_AGAIN + OUTAGE_PAUSE + 1.0)
    assert one.windows.outage is None
    grant = await asked(one.state, want=20)
    assert (grant.granted, len(grant.log.windows.log)) == (20, 1)


async def test_an_outage_leaves_a_share(caplog: pytest.LogCaptureFixture) -> None:
    """Without the state a process keeps to its share and the headers, and tells afterwards what it did."""
    sandbox, memory = Sandbox(faults=Faults(latency=(0.05, 0.05))), MemoryState()
    fleet = [process(memory, alone=5) for _ in range(4)]
    for each in fleet:
        await each.saturate(sandbox, 10, 5.0)
        each.state.out = True
    await asyncio.sleep(2.0)
    with caplog.at_level(logging.WARNING, "cmsapi"):
        counted = len(sandbox.ledger)
        await asyncio.gather(*(each.saturate(sandbox, 10, 20.0) for each in fleet))
        assert sandbox.statistics.rate_limited == 0
        assert len(sandbox.ledger) - counted >= 0.8 * 20 * 20 / 1.1
        assert [each.windows.outage is None for each in fleet] == [False] * 4
        for each in fleet:
            each.state.out = False
        await asyncio.sleep(TRY_AGAIN + 1.0)
    assert len([record for record in caplog.records if "at most 5 requests a second" in record.message]) == 4
    assert [each.windows.outage for each in fleet] == [None] * 4
    await asyncio.gather(*(each.saturate(sandbox, 10, 100.0) for each in fleet))
    assert (sandbox.statistics.rate_limited, len(sandbox.ledger)) == (0, 1000)


@pytest.mark.parametrize("after", [0, 1, 30])
@pytest.mark.parametrize("quota", [(1, 0, 1), (1000, 0, 1), (5, 0, 1)])
async def test_an_answer_that_lies_about_the_hour(quota: tuple[int, int, float], after: int) -> None:
    """One that says that the hour is spent holds all up until its `Reset`; then one request finds the truth."""
    sandbox, memory = Sandbox(), MemoryState()
    fleet = [process(memory, 0.001) for _ in range(2)]
    gateway = Gateway(sandbox.transport, quota, after)
    # The answer of the gateway is an error to the process that gets it.
    await asyncio.gather(*(each.saturate(sandbox, 5, 6.0, transport=gateway) for each in fleet), return_exceptions=True)
    await asyncio.gather(*(each.saturate(sandbox, 5, 6.0) for each in fleet))
    before = [each.answered for each in fleet]
    await asyncio.gather(*(each.saturate(sandbox, 5, 6.0) for each in fleet))
    assert min(each.answered - had for each, had in zip(fleet, before, strict=True)) >= 30
    assert sandbox.statistics.rate_limited == 0


async def test_a_service_that_allows_less_is_never_asked_too_early() -> None:
    """A true lower limit is spent to the last and tried again only when the service has room: no 429 in that time."""
    sandbox, memory = Sandbox(limits=Limits(per_hour=100), faults=Faults(latency=(0.02, 0.2))), MemoryState()
    fleet = [process(memory, 0.001) for _ in range(2)]
    await asyncio.gather(*(each.saturate(sandbox, 10, 3650.0) for each in fleet))
    assert sandbox.statistics.rate_limited == 0
    assert len(sandbox.ledger) >= 190


@pytest.mark.parametrize("away", [0.5, 3.0, 4.0, 9.0])
@pytest.mark.parametrize("latency", [(0.0, 0.0), (0.02, 0.2)], ids=["none", "jitter"])
async def test_nothing_is_refused_when_the_state_comes_back(away: float, latency: Any) -> None:
    """Four processes that never stop asking draw no refusal when the state goes, nor when it comes back."""
    sandbox, memory = Sandbox(limits=Limits(per_hour=100_000), faults=Faults(latency=latency)), MemoryState()
    fleet = [process(memory, delay, per_hour=100_000, alone=5) for delay in (0.0005, 0.001, 0.01, 0.05)]
    work = [asyncio.create_task(each.saturate(sandbox, 10, away + 20.0)) for each in fleet]
    await asyncio.sleep(5.0)
    for each in fleet:
        each.state.out = True
    await asyncio.sleep(away)
    for each in fleet:
        each.state.out = False
    await asyncio.sleep(2 * OUTAGE_PAUSE + TRY_AGAIN)
    served = len(sandbox.ledger)
    await asyncio.gather(*work)
    assert sandbox.statistics.rate_limited == 0
    assert len(sandbox.ledger) - served >= 0.8 * (15.0 - 2 * OUTAGE_PAUSE - TRY_AGAIN) * 20 / (1 + sum(latency))


@pytest.mark.parametrize("away", [3.0, 4.0, 6.0])
async def test_one_that_did_not_notice_the_outage(away: float) -> None:
    """A process that has asked for nothing meanwhile, and comes first afterwards, waits until the others have told."""
    sandbox, memory = Sandbox(limits=Limits(per_hour=100_000)), MemoryState()
    fleet = [process(memory, 0.001, per_hour=100_000, alone=5) for _ in range(3)]
    work = [asyncio.create_task(each.saturate(sandbox, 10, 30.0)) for each in fleet[:2]]
    await fleet[2].saturate(sandbox, 1, 0.5)
    await asyncio.sleep(5.0)
    for each in fleet:
        each.state.out = True
    await asyncio.sleep(away)
    for each in fleet:
        each.state.out = False
    await fleet[2].saturate(sandbox, 20, 10.0)
    await asyncio.gather(*work)
    assert sandbox.statistics.rate_limited == 0


@pytest.mark.parametrize(
    "error", [RuntimeError("can't start new thread"), TypeError("not a number"), ZeroDivisionError()], ids=repr
)
async def test_any_error_of_the_state_is_an_outage(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever a state raises, calls go on with a share of the limits, and a line of the log says why."""
    sandbox, one = Sandbox(), process(MemoryState(), alone=5)
    one.state.fails = error
    await one.saturate(sandbox, 3, 3.0)
    assert one.answered >= 5
    assert f"at most 5 requests a second: the state cannot be used ({error!r})" in caplog.text
    one.state.fails = None
    await asyncio.sleep(TRY_AGAIN + OUTAGE_PAUSE)
    before = one.answered
    await one.saturate(sandbox, 20, 2.0)
    assert one.answered - before >= 20
    one.state.fails = error
    await one.windows.aclose()
    assert sandbox.statistics.rate_limited == 0


async def test_a_state_that_does_not_answer_is_not_waited_for() -> None:
    """An exchange that takes too long holds no call up: its process goes on alone, and shares again when it is done."""
    sandbox, one = Sandbox(), process(MemoryState(), alone=5)
    await one.saturate(sandbox, 5, 3.0)
    one.state.gone = True
    before = one.answered
    await one.saturate(sandbox, 5, TIMEOUT + 3.0)
    assert one.answered - before >= 10
    one.state.gone = False
    one.state.over.set()
    await asyncio.sleep(TRY_AGAIN + OUTAGE_PAUSE)
    assert one.windows.outage is None
    await one.saturate(sandbox, 20, 3.0)
    assert sandbox.statistics.rate_limited == 0


async def test_a_state_out_of_reach_from_the_start() -> None:
    """A process that never reached the state begins with one request alone."""
    sandbox = Sandbox(faults=Faults(latency=(0.2, 0.2)))
    one = process(MemoryState(), alone=5)
    one.state.out = True
    await one.saturate(sandbox, 10, 3.0)
    arrivals = [entry.at for entry in sandbox.ledger]
    assert arrivals[1] - arrivals[0] >= 0.399
    assert sandbox.statistics.rate_limited == 0
    assert len(arrivals) >= 8


async def test_others_with_the_same_key_are_followed() -> None:
    """Requests of a client that does not share are seen in the headers, and the hour is not overdrawn."""
    sandbox, memory = Sandbox(), MemoryState()
    async with cmsapi.Client(
        sandbox.api_key,
        base_url=sandbox.base_url,
        transport=sandbox.transport,
        retry=cmsapi.RetryPolicy(max_attempts=1),
    ) as stranger:
        for _ in range(600):
            await stranger.me()
    await asyncio.sleep(2.0)
    fleet = [process(memory, 0.001) for _ in range(2)]
    await asyncio.gather(*(each.saturate(sandbox, 20, 60.0) for each in fleet))
    assert (sandbox.statistics.rate_limited, len(sandbox.ledger)) == (0, 1000)
    assert fleet[0].limiter.snapshot().foreign == 600


async def test_a_pause_is_for_all() -> None:
    """When one process is told to rest, the others rest too."""
    memory = MemoryState()
    one, other = process(memory), process(memory)
    one.limiter.end(await one.limiter.acquire(), "answered")
    one.limiter.pause(10.0)
    await asyncio.sleep(0.01)
    began = asyncio.get_running_loop().time()
    await other.limiter.acquire()
    assert asyncio.get_running_loop().time() - began == pytest.approx(10.0, abs=0.1)


async def test_a_pause_outlives_an_outage() -> None:
    """A pause that could not be told is told when the state is back."""
    memory = MemoryState()
    one, other = process(memory), process(memory)
    one.limiter.end(await one.limiter.acquire(), "answered")
    one.state.out = True
    one.limiter.pause(60.0)
    await asyncio.sleep(2.5)
    one.state.out = False
    await asyncio.sleep(2 * TRY_AGAIN)
    began = asyncio.get_running_loop().time()
    await other.limiter.acquire()
    assert asyncio.get_running_loop().time() - began == pytest.approx(60.0 - 2.5 - 2 * TRY_AGAIN, abs=1.0)


async def test_no_process_waits_for_a_pause_beyond_its_bound() -> None:
    """A pause of hours that one process was asked for refuses the calls of another, also those that wait."""
    memory = MemoryState()
    one, other = process(memory), process(memory)
    for each in (one, other):
        each.limiter.end(await each.limiter.acquire(), "answered")
    one.limiter.pause(5_000.0)
    waiting = asyncio.create_task(other.limiter.acquire(max_pause=3_600.0))
    with pytest.raises(RateLimitWaitError) as caught:
        async with asyncio.timeout(5):
            await waiting
    assert caught.value.available_in == pytest.approx(5_000, abs=5)
    with pytest.raises(RateLimitWaitError):
        await other.limiter.acquire(max_pause=3_600.0)
    patient = asyncio.create_task(other.limiter.acquire(max_pause=6_000.0))
    await asyncio.sleep(3_590)
    assert not patient.done()
    await patient


async def test_the_last_lane_leaves_some_to_others() -> None:
    """Polls take eighteen of the twenty, and not the reserve of the hour."""
    sandbox, memory = Sandbox(limits=Limits(per_hour=200)), MemoryState()
    polls = process(memory, per_hour=200, reserve=20)
    await polls.saturate(sandbox, 50, 60.0, Priority.POLL)
    assert len(sandbox.ledger) == 180
    arrivals = [entry.at for entry in sandbox.ledger]
    assert all(later - first >= 0.999 for first, later in zip(arrivals, arrivals[18:], strict=False))
    person = process(memory, per_hour=200, reserve=20)
    await person.saturate(sandbox, 1, 60.0)
    assert (len(sandbox.ledger), sandbox.statistics.rate_limited) == (200, 0)


async def test_what_is_known_of_the_limits() -> None:
    """The figures for pacing and people are those of all processes together."""
    memory = MemoryState()
    one, other = process(memory), process(memory)
    loop = asyncio.get_running_loop()
    limiter, queue = one.limiter, Priority.INTERACTIVE
    assert (limiter.remaining, limiter.first_return(0.0), limiter.returning(0.0, HOUR)) == (1000, math.inf, 0)
    for _ in range(20):
        other.limiter.end(await other.limiter.acquire(), "answered")
    await asyncio.sleep(2.0)
    limiter.end(await limiter.acquire(), "answered")
    await asyncio.sleep(1.0)
    now = loop.time()
    assert (limiter.remaining, limiter.snapshot().reserve, limiter.free(now)) == (979, 10, 969)
    assert limiter.first_return(now) == pytest.approx(HOUR - 3.0, abs=0.1)
    assert limiter.snapshot().reset_in == limiter.first_return(now)
    assert [limiter.returning(now, HOUR - before) for before in (3.5, 1.5, 0.0)] == [0, 20, 21]
    assert limiter.expected_wait(queue, now) == 0.0
    assert one.windows.expected_wait(49, now) == 2 * SECOND
    assert one.windows.expected_wait(979, now) == pytest.approx(HOUR - 3.0, abs=0.1)
    assert (limiter.per_second, limiter.snapshot().limit, limiter.snapshot().foreign) == (20, 1000, 0)
    limiter.obey(cmsapi.RateLimits(per_second=10, per_hour=500, reserve=50))
    limiter.obey(cmsapi.RateLimits(per_second=30, per_hour=None))
    assert (limiter.per_second, limiter.snapshot().limit, limiter.snapshot().reserve) == (10, 500, 50)
    assert limiter.remaining == 479


async def test_no_limits_no_waiting() -> None:
    """Without limits all permits are given at once."""
    windows = SharedWindows(ProcessState(), ACCOUNT, AccountLimits(per_second=None, per_hour=None))
    limiter = RateLimiter(windows)
    windows.connect(limiter.waiting, limiter.serve)
    async with asyncio.timeout(0.1):
        for permit in await asyncio.gather(*(limiter.acquire() for _ in range(500))):
            limiter.end(permit, "answered")
    assert (limiter.per_second, limiter.remaining, limiter.snapshot().reserve) == (math.inf, None, 0)


async def test_resting_keeps_the_place_in_line() -> None:
    """While four processes wait for a spent hour, what is given back is taken within seconds."""
    memory = MemoryState()
    fleet = [process(memory, 0.001, per_hour=10) for _ in range(4)]
    fleet[0].limiter.end(await fleet[0].limiter.acquire(), "answered")
    permits = [await fleet[0].limiter.acquire() for _ in range(9)]
    waiters = [asyncio.ensure_future(each.limiter.acquire()) for each in fleet for _ in range(30)]
    await asyncio.sleep(30.0)
    assert not any(waiter.done() for waiter in waiters)
    for permit in permits:
        fleet[0].limiter.end(permit, "unsent")
    await asyncio.sleep(3.0)
    assert sum(waiter.done() for waiter in waiters) == 9
    for waiter in waiters:
        waiter.cancel()


async def test_closing_tells_the_rest() -> None:
    """What was not told yet is told when the process ends in order."""
    memory = MemoryState()
    one = process(memory)
    one.limiter.end(await one.limiter.acquire(), "answered", Quota(1000, 399, 3600.0))
    await one.windows.aclose()
    grant = await asked(one.state, want=30)
    assert (grant.granted, len(grant.log.windows.log), grant.log.windows.foreign_usage.count) == (18, 1, 600)


async def test_closing_without_a_state(caplog: pytest.LogCaptureFixture) -> None:
    """A process ends in order although the state is gone, and says so."""
    one = process(MemoryState())
    one.limiter.end(await one.limiter.acquire(), "answered")
    one.state.out = True
    await one.windows.aclose()
    assert "were not reported to the shared limits" in caplog.text
    one.state.out = False
    await process(MemoryState()).windows.aclose()
