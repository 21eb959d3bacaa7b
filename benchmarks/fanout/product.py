"""Run a batch with the SDK itself, as a user would: `client.jobs.map` over the items."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Iterable
from typing import Any

import attrs

from benchmarks.fanout.forecasts import estimated
from benchmarks.fanout.work import Kind, Outcome, Service, Stopwatch
from cmsapi import Client, Job, RateLimits
from cmsapi.jobs import Fanout

#: Another word gives other lots, the same every time.
LOTS = ""
# Well over the hour that a request counts.
_REST = 2 * 3600.0


def client_of(service: Service, *, reserve: int | None = None, seed: int | None = None) -> Client:
    """Make a client of a service; nothing is learned yet.

    Args:
        service: The service.
        reserve: Requests of the hour to keep for other calls than polls; None leaves the SDK its default.
        seed: Seed of what the client leaves to chance, where the durations are the same for each seed.
    """
    sandbox = service.sandbox
    limits = RateLimits(reserve=reserve)
    client = Client(sandbox.api_key, base_url=sandbox.base_url, transport=sandbox.transport, limits=limits)
    # A run must give the same figures again.
    client._runtime.rng.seed(repr((seed, service.durations) if seed is not None else service.durations) + LOTS)
    return client


def launched(client: Client, service: Service, items: Iterable[str]) -> Fanout[str, Any]:
    """Begin a batch with a client."""
    workspace_id = service.sandbox.workspace_id

    def launch(item: str) -> Awaitable[Job[Any]]:
        if service.work.kind is Kind.SEARCH:
            return client.content_ideas.search(workspace_id, item)
        return client.keywords.analyze(item)

    return client.jobs.map(launch, items, in_flight=service.work.in_flight or "auto")


async def fan_out(client: Client, service: Service, items: Iterable[str]) -> None:
    """Do a batch with a client.

    Raises:
        Exception: An item has no result.
    """
    async for outcome in launched(client, service, items):
        outcome.result()


async def rested(client: Client, service: Service) -> None:
    """Do the earlier batch with a client, and let it rest until nothing but what it has learned is left of that."""
    await fan_out(client, service, service.earlier_items)
    await asyncio.sleep(_REST)


async def cold(service: Service) -> Outcome:
    """Do the batch with a client that has learned nothing."""
    async with client_of(service) as client:
        return await _measured(client, service)


async def warm(service: Service) -> Outcome:
    """Do the batch with a client that has done an earlier one, of other items, and has rested since."""
    async with client_of(service) as client:
        await rested(client, service)
        return await _measured(client, service)


async def _measured(client: Client, service: Service) -> Outcome:
    await service.begin()
    loop, work, count = asyncio.get_running_loop(), service.work, len(service.items)
    # A plan takes a request, and estimates take time, so that only some work has them.
    plan = await client.jobs.plan(work.kind.value, count) if work.forecast else None
    stopwatch = Stopwatch(service, loop.time())
    outcomes = launched(client, service, service.items)
    async with estimated(lambda: outcomes.progress, count) if plan else contextlib.nullcontext() as estimates:
        async for outcome in outcomes:
            outcome.result()
            stopwatch.in_hand(loop.time())
            if estimates:
                estimates.in_hand()
    reached = stopwatch.outcome()
    if not plan or not estimates:
        return reached
    compared = estimates.compared(plan, reached.all_in_hand, reached.requests * count)
    return attrs.evolve(reached, forecasts=tuple(compared))
