"""One run: a storm from the seed, callers that do everything at once, and what is left when all is over."""

from __future__ import annotations

import asyncio
import gc
import logging
import random
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import attrs

import cmsapi
from benchmarks.virtual import in_virtual_time
from cmsapi.sandbox import Lognormal, Sandbox, storm
from tests.chaos.acts import ACTS, Act
from tests.chaos.invariants import violations
from tests.chaos.record import Record

Carrier = Callable[[Any], Any]

STORM = 300.0
BEGINNING = 120.0
CALLERS = 10
# The in-flight cap and the service's second are over by then.
REST = 10.0
CLOSED_EARLY = 0.15


@attrs.frozen
class Report:
    """Say what one run was like.

    Args:
        seed: Its seed.
        violated: What did not hold; empty as a rule.
        struck: Faults by kind.
        calls: Calls by operation.
        ends: Calls by how they ended.
        requests: Requests that reached the service or a fault.
        refused: Requests that the service itself refused for their rate.
        simulated: Virtual seconds.
    """

    seed: object
    violated: tuple[str, ...]
    struck: Mapping[str, int]
    calls: Mapping[str, int]
    ends: Mapping[str, int]
    requests: int
    refused: int
    simulated: float


def chaos(
    seed: object, *, state: str = "memory:", carrier: Callable[[Any], Any] = lambda transport: transport
) -> Report:
    """Make one run in virtual time.

    Args:
        seed: Seed of the storm, the service and the callers.
        state: Where the client keeps what must be agreed on.
        carrier: Makes the client's transport of the sandbox's, to see that a client that cheats is found out.
    """
    log = _Heard()
    logger = logging.getLogger("cmsapi")
    logger.addHandler(log)
    propagate, logger.propagate = logger.propagate, False
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            report = in_virtual_time(_run(seed, state, carrier, log))
            # Of the young ones only: what the run has left in cycles complains now.
            gc.collect(0)
    finally:
        logger.removeHandler(log)
        logger.propagate = propagate
    return attrs.evolve(report, violated=(*report.violated, *(f"warning: {each.message}" for each in warned)))


class _Heard(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


async def _run(seed: object, state: str, carrier: Carrier, log: _Heard) -> Report:
    loop = asyncio.get_running_loop()
    unheard: list[Any] = []
    loop.set_exception_handler(lambda _, context: unheard.append(context))
    began = loop.time()
    rng = random.Random(f"{seed}:callers")
    box = Sandbox(
        seed=seed,
        keywords=8,
        contents=6,
        durations=Lognormal(30.0, 0.8),
        failures=0.15,
        faults=storm(seed, lasts=STORM),
    )
    deadline = rng.choice((40.0, 120.0, 900.0))
    client = cmsapi.Client(
        box.api_key,
        base_url=box.base_url,
        transport=carrier(box.transport),
        state=state,
        timeouts=cmsapi.Timeouts(request=rng.choice((5.0, 30.0)), deadline=deadline),
        retry=cmsapi.RetryPolicy(max_attempts=rng.choice((1, 3, 5))),
    )
    # No public name does this: its jitter is what the seed does not reach otherwise.
    client._trunk.rng.seed(f"{seed}:jitter")
    record = Record(box, client, rng, deadline)
    held: list[str] = []
    async with client:
        async with asyncio.TaskGroup() as callers:
            for _ in range(CALLERS):
                callers.create_task(_caller(record, rng.choice(ACTS), rng.uniform(0, BEGINNING)))
            if closed_early := rng.random() < CLOSED_EARLY:
                await asyncio.sleep(rng.uniform(0, BEGINNING))
                await client.aclose()
        if not closed_early:
            held = await _held(record)
    left = asyncio.all_tasks() - {asyncio.current_task()}
    found = (
        *violations(record),
        *held,
        *(f"left behind: {task!r}" for task in left),
        *(f"unheard: {context}" for context in unheard),
        *("the log shows the key" for line in log.lines if box.api_key in line),
    )
    return Report(
        seed=seed,
        violated=found,
        struck=box.faults_struck,
        calls=Counter(call.operation for call in record.calls),
        ends=Counter(type(call.error).__name__ if call.error else "result" for call in record.calls),
        requests=len(box.ledger),
        refused=box.statistics.rate_limited,
        simulated=loop.time() - began,
    )


async def _caller(record: Record, act: Act, after: float) -> None:
    await asyncio.sleep(after)
    await act(record)


async def _held(record: Record) -> list[str]:
    """When the storm is over a client works as on its first day, and when it has nothing to do it holds nothing."""
    client, found = record.client, []
    await asyncio.sleep(STORM)
    try:
        await client.me()
    except Exception as error:
        found.append(f"after the storm: {error!r}")
    await asyncio.sleep(REST)
    limit, trunk = client.rate_limit, client._trunk
    if limit.in_flight or limit.queued:
        found.append(f"the limiter holds {limit.in_flight} permits and {limit.queued} waiters")
    # No public name shows these two.
    if not trunk.pacer(cmsapi.RateLimits()).idle:
        found.append("the schedule of looks holds jobs")
    if trunk.under_way._scopes:
        found.append("the client holds calls")
    return found
