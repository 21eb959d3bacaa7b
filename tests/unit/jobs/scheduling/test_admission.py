"""Launches that wait until their jobs fit: whose turn it is, and what becomes of a turn that is not taken."""

from __future__ import annotations

import asyncio

import pytest

import cmsapi
from cmsapi.api.models.keyword import Keyword
from cmsapi.config import PollPolicy
from cmsapi.jobs import Job
from cmsapi.jobs.kinds.kind import JobKind
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.jobs.scheduling.admission import Admission, LaunchQueue
from cmsapi.sandbox import Fault, Limits, Lognormal, Sandbox
from tests.support.jobs import box, client_of

pytestmark = pytest.mark.looptime

KEY = (KINDS[JobKind.KEYWORD_ANALYSIS], PollPolicy())
LIFE = 4.0


class Office:
    """Admit with so many requests to spare, and count how often a new plan was asked for."""

    def __init__(self, spare: float = 0.0) -> None:
        self.asked = 0
        self.running = ["job"]
        self.admission = Admission(self._ask, self.running)
        self.serve(spare)

    def _ask(self) -> None:
        self.asked += 1

    def serve(self, spare: float) -> None:
        """Make a plan."""
        self.admission.serve(spare, {KEY: LIFE})

    def launch_queue(self, jobs: int = 100) -> LaunchQueue:
        """Make a fan-out of so many jobs."""
        return LaunchQueue(waiting=jobs, slots=100.0, gated=True, key=KEY)

    def admit(self, launch_queue: LaunchQueue) -> asyncio.Task[None]:
        """Ask for one launch."""
        return asyncio.create_task(self.admission.admit(launch_queue))


async def turns() -> None:
    """Let everything that can happen now happen."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_what_fits_is_admitted_and_the_rest_waits() -> None:
    """A launch waits until its whole life fits, first come, first served."""
    office = Office()
    launch_queue = office.launch_queue()
    waiting = [office.admit(launch_queue) for _ in range(5)]
    await turns()
    assert office.admission.waiting
    assert office.asked
    office.serve(2.5 * LIFE)
    await turns()
    assert [task.done() for task in waiting] == [True, True, False, False, False]
    assert (launch_queue.launching, launch_queue.waiting) == (2, 98)
    office.serve(10.0 * LIFE)
    await asyncio.gather(*waiting)
    assert not office.admission.waiting


async def test_when_nothing_runs_one_is_admitted_however_little_is_left() -> None:
    """There is nothing to wait for then, not even for a plan; the launch waits for the limit itself."""
    office = Office()
    office.running.clear()
    launch_queue = office.launch_queue()
    first = office.admit(launch_queue)
    await turns()
    assert first.done()
    assert not office.asked
    waiting = [first, office.admit(launch_queue), office.admit(launch_queue)]
    await turns()
    office.serve(-100.0)
    office.serve(-100.0)
    await turns()
    assert [task.done() for task in waiting] == [True, False, False]
    office.admission.launched(launch_queue, None)
    office.serve(-100.0)
    await turns()
    assert [task.done() for task in waiting] == [True, True, False]
    waiting[2].cancel()
    await turns()
    assert not office.admission.waiting


async def test_a_turn_that_is_cancelled_is_handed_on() -> None:
    """A launch that leaves the queue, before or when it is admitted, takes no slot and delays no other."""
    office = Office()
    launch_queue = office.launch_queue()
    first, second, third = (office.admit(launch_queue) for _ in range(3))
    await turns()
    asked = office.asked
    first.cancel()
    await turns()
    assert office.asked > asked
    office.serve(1.0 * LIFE)
    # Admitted, but not yet told.
    asked = office.asked
    second.cancel()
    await turns()
    assert (second.cancelled(), launch_queue.launching, launch_queue.waiting) == (True, 0, 100)
    assert office.asked > asked
    office.serve(1.0 * LIFE)
    await turns()
    assert third.done()
    assert not third.cancelled()


async def test_a_launch_that_failed_leaves_its_place_to_the_next() -> None:
    """When a launch gives no job, a new plan is asked for, so that who waits does not wait for the hour."""
    office = Office()
    launch_queue = office.launch_queue()
    admitted = office.admit(launch_queue)
    await turns()
    office.serve(1.0 * LIFE)
    await admitted
    waiting = office.admit(launch_queue)
    await turns()
    asked = office.asked
    office.admission.launched(launch_queue, None)
    assert office.asked > asked
    office.serve(1.0 * LIFE)
    await waiting


async def test_what_was_to_spare_before_a_pause_is_not_spent_after_it() -> None:
    """A new fan-out does not begin with what an old plan had left: others may have used it."""
    office = Office(100.0 * LIFE)
    launch_queue = office.launch_queue()
    waiting = office.admit(launch_queue)
    await turns()
    assert not waiting.done()
    office.serve(1.0 * LIFE)
    await waiting


async def collect(client: cmsapi.Client, items: tuple[str, ...]) -> list[float]:
    """Analyse keywords and return when each launch was answered."""
    loop = asyncio.get_running_loop()
    launched: list[float] = []

    async def launch(item: str) -> Job[Keyword]:
        job = await client.keywords.analyze(item)
        launched.append(loop.time())
        return job

    async for outcome in client.jobs.map(launch, items):
        outcome.result()
    return launched


async def test_two_fan_outs_take_turns() -> None:
    """Of two that have more to launch than fits, neither waits for the other; one has a head start at most."""
    sandbox = Sandbox(keywords=240, durations=Lognormal(120.0, 0.3), limits=Limits(per_second=20, per_hour=300))
    async with client_of(sandbox) as client:
        await client.me()
        ids = sandbox.keyword_ids
        first, second = await asyncio.gather(collect(client, ids[:100]), collect(client, ids[100:200]))
    assert sandbox.ledger.count(status=429) == 0
    # Half of the one are launched before the other is done, and the other way round.
    assert sorted(first)[50] < max(second)
    assert sorted(second)[50] < max(first)
    assert abs(sum(at < 600.0 for at in first) - sum(at < 600.0 for at in second)) <= 40


async def test_a_fan_out_that_is_left_makes_room_for_another() -> None:
    """Launches that waited for a fan-out which was left are not counted any more."""
    sandbox = Sandbox(keywords=300, durations=Lognormal(60.0, 0.3), limits=Limits(per_second=20, per_hour=200))
    async with client_of(sandbox) as client:
        async with client.jobs.map(client.keywords.analyze, sandbox.keyword_ids[:250]) as left:
            async for _ in left:
                break
        gone_on = len(left.launched)
        loop = asyncio.get_running_loop()
        began = loop.time()
        await collect(client, sandbox.keyword_ids[250:260])
        assert gone_on < 120
        assert loop.time() - began < 3600.0 + 300.0
        for job in left.launched:
            job.detach()
    assert sandbox.ledger.count(status=429) == 0


async def test_failing_launches_do_not_hold_up_the_others() -> None:
    """When the hour is nearly used up and launches fail, those that still fit are launched at once."""
    rule = Fault(match="POST /v1/keywords/*", status=422, times=3)
    sandbox = box(30.0, rules=[rule], limits=Limits(per_second=20, per_hour=40))
    async with client_of(sandbox) as client:
        loop = asyncio.get_running_loop()
        for _ in range(20):
            await client.me()
        began = loop.time()
        outcomes = [outcome async for outcome in client.jobs.map(client.keywords.analyze, sandbox.keyword_ids[:6])]
        assert sum(outcome.error is None for outcome in outcomes) == 3
        assert loop.time() - began < 120.0
