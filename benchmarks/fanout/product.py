"""Run a batch with the SDK itself, as a user would: `client.jobs.map` over the items."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from benchmarks.fanout.work import Kind, Outcome, Service, Stopwatch
from cmsapi import Client, Job, RateLimits

# Well over the hour that a request counts.
_REST = 2 * 3600.0


def client_of(service: Service, *, reserve: int | None = None) -> Client:
    """Make a client of a service; nothing is learned yet.

    Args:
        service: The service.
        reserve: Requests of the hour to keep for other calls than polls; None leaves the SDK its default.
    """
    sandbox = service.sandbox
    limits = RateLimits(reserve=reserve)
    client = Client(sandbox.api_key, base_url=sandbox.base_url, transport=sandbox.transport, limits=limits)
    # A run must give the same figures again.
    client._runtime.rng.seed(repr(service.durations))
    return client


async def fan_out(client: Client, service: Service, items: Iterable[str], done: Callable[[], object]) -> None:
    """Do a batch with a client, and call `done` for each result.

    Raises:
        Exception: An item has no result.
    """
    workspace_id = service.sandbox.workspace_id

    def launch(item: str) -> Awaitable[Job[Any]]:
        if service.work.kind is Kind.SEARCH:
            return client.content_ideas.search(workspace_id, item)
        return client.keywords.analyze(item)

    async for outcome in client.jobs.map(launch, items, in_flight=service.work.in_flight or "auto"):
        outcome.result()
        done()


async def rested(client: Client, service: Service) -> None:
    """Do the earlier batch with a client, and let it rest until nothing but what it has learned is left of that."""
    await fan_out(client, service, service.earlier_items, lambda: None)
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
    loop = asyncio.get_running_loop()
    stopwatch = Stopwatch(service, loop.time())
    await fan_out(client, service, service.items, lambda: stopwatch.in_hand(loop.time()))
    return stopwatch.outcome()
