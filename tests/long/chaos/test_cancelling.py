"""Cancelled at every point at which it waits, one after the other: nothing is lost, nothing is left, nothing twice."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from typing import Any

import pytest

import cmsapi
from cmsapi.sandbox import Fault, Faults, Fixed, Sandbox

pytestmark = [pytest.mark.slow, pytest.mark.looptime, pytest.mark.usefixtures("turning_loop")]

Scenario = Callable[[cmsapi.Client, Sandbox], Coroutine[Any, Any, Any]]

# More than any scenario has; reaching it would mean that the counting is broken.
MOST = 400


@types.coroutine
def _stepping(work: Coroutine[Any, Any, Any], point: int, points: list[int]) -> Generator[Any, Any, Any]:
    """Run a coroutine, and cancel the task that runs it at one of the points at which it waits."""
    answer: Any = None
    failure: BaseException | None = None
    while True:
        try:
            waited_for = work.send(answer) if failure is None else work.throw(failure)
        except StopIteration as end:
            return end.value
        answer = failure = None
        points.append(len(points) + 1)
        if len(points) == point:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
        try:
            answer = yield waited_for
        except BaseException as error:
            failure = error


async def cancelled_at(point: int, work: Coroutine[Any, Any, Any]) -> bool:
    """Run something in a task that is cancelled at a point; tell whether it came so far."""
    points: list[int] = []

    async def run() -> Any:
        return await _stepping(work, point, points)

    with suppress(asyncio.CancelledError, cmsapi.CMSError):
        await asyncio.create_task(run())
    return len(points) >= point


def service() -> Sandbox:
    """Give a service with latency that fails at first."""
    faults = Faults(latency=(0.1, 0.1), rules=[Fault(match="GET /v1/me", status=503, times=2)])
    return Sandbox(durations=Fixed(12.0), faults=faults)


async def request(client: cmsapi.Client, box: Sandbox) -> None:
    """Read, with repeats."""
    await client.me()


async def launch(client: cmsapi.Client, box: Sandbox) -> None:
    """Launch paid work."""
    await client.keywords.analyze(box.keyword_ids[0])


async def poll(client: cmsapi.Client, box: Sandbox) -> None:
    """Launch and wait, with a poll on demand."""
    job = await client.keywords.analyze(box.keyword_ids[0])
    await job.refresh()
    await job


async def confirm(client: cmsapi.Client, box: Sandbox) -> None:
    """Launch a generation and decide on it."""
    await (await (await client.contents.generate(box.content_ids[0])).review()).confirm()


async def batch(client: cmsapi.Client, box: Sandbox) -> None:
    """Launch several and take what comes."""
    async with client.jobs.map(client.keywords.analyze, box.keyword_ids[:3]) as outcomes:
        async for _ in outcomes:
            pass


SCENARIOS: list[Scenario] = [request, launch, poll, confirm, batch]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
async def test_cancelled_at_every_point(scenario: Scenario) -> None:
    """After a cancelled call the client holds nothing of it, and the same call joins the work already paid for."""
    for point in range(1, MOST):
        box = service()
        async with cmsapi.Client(box.api_key, base_url=box.base_url, transport=box.transport) as client:
            reached = await cancelled_at(point, scenario(client, box))
            await asyncio.sleep(3.0)
            assert (client.rate_limit.in_flight, client.rate_limit.queued) == (0, 0)
            # Once more, to the end: what runs is joined.
            await scenario(client, box)
        assert _paid_at_most_once_at_a_time(box)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        if not reached:
            assert point > 1
            return
    pytest.fail("the scenario waits at too many points")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
async def test_cancelled_at_every_moment(scenario: Scenario) -> None:
    """The same for moments: what a caller waits for is done by tasks of the client, which have their own points."""
    for moment in range(12):
        box = service()
        async with cmsapi.Client(box.api_key, base_url=box.base_url, transport=box.transport) as client:
            working = asyncio.create_task(scenario(client, box))
            await asyncio.sleep(moment * 0.05)
            working.cancel()
            await asyncio.wait([working])
            await asyncio.sleep(3.0)
            assert (client.rate_limit.in_flight, client.rate_limit.queued) == (0, 0)
            await scenario(client, box)
        assert _paid_at_most_once_at_a_time(box)
        assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
async def test_closing_cancelled_at_every_point(scenario: Scenario) -> None:
    """A closing that is cancelled on its way is finished by the next one, whatever is under way."""
    for point in range(1, MOST):
        box = service()
        client = cmsapi.Client(box.api_key, base_url=box.base_url, transport=box.transport)
        working = asyncio.create_task(scenario(client, box))
        await asyncio.sleep(0.25)
        reached = await cancelled_at(point, client.aclose())
        await client.aclose()
        await asyncio.wait([working])
        assert isinstance(working.exception(), cmsapi.CMSError | None)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        seen = len(box.ledger)
        await asyncio.sleep(100.0)
        assert seen == len(box.ledger)
        if not reached:
            return
    pytest.fail("closing waits at too many points")


def _paid_at_most_once_at_a_time(box: Sandbox) -> bool:
    """Tell whether no launch came while another one for the same target was under way; the service refuses those."""
    return box.ledger.count(status=409) == 0
