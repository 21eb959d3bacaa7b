"""One run: a storm from the seed, callers that do everything at once, and what is left when all is over.

Most runs are in virtual time, with the sandbox in the same process and the state in memory or in a SQLite file. Some
are in real time over loopback, where a proxy does the faults to bytes, with the state in memory or on a Redis server.
"""

from __future__ import annotations

import asyncio
import functools
import gc
import logging
import random
import tempfile
import warnings
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

import attrs

import cmsapi
from benchmarks.virtual import in_virtual_time
from cmsapi.jobs.launching.reconcile import COMMITS
from cmsapi.sandbox import FaultProxy, Faults, Limits, Lognormal, Sandbox, storm
from tests.long.chaos.acts import ACTS, Act
from tests.long.chaos.habits import Habits, draw_habits
from tests.long.chaos.inline import WALL, in_virtual_time_with_threads, keep_in_file
from tests.long.chaos.invariants import disclosures, violations
from tests.long.chaos.record import Record
from tests.support.loops import chosen, run_on
from tests.support.spoil import FLUSHED, KEYS, ROWS, spoil_file, spoil_server

Carrier = Callable[[Any], Any]
Spoiler = Callable[[random.Random], Awaitable[object]]
Run = Coroutine[Any, Any, "Report"]

CALLERS = 10
CLOSED_EARLY = 0.15
# Of the runs whose state is outside, in so many something spoils what is kept of the limits, up to three times.
SPOILT = 0.4
# The in-flight cap and the service's second are over by then; in real time nothing is limited and polls are quick.
REST, SHORT_REST = 3.0, 0.5
# Seconds for which a word that is not listed is waited out.
IN_DOUBT = 800.0


@attrs.frozen
class Report:
    """Say what one run was like.

    Args:
        seed: Its seed.
        habits: What the service was like.
        broken: Promises that were not kept; empty as a rule, like the next two.
        left: What was left behind: permits, waiters, polls, calls, tasks, sockets.
        shown: Where the key was shown.
        struck: Faults by kind.
        calls: Calls by operation.
        ends: Calls by how they ended.
        requests: Requests that reached the service, or a fault before it.
        spoilt: How often something spoilt what the state keeps of the limits.
        refused: Requests that the service itself refused for their rate.
        seconds: Seconds on the loop's clock.
    """

    seed: object
    habits: tuple[str, ...]
    broken: tuple[str, ...]
    left: tuple[str, ...]
    shown: tuple[str, ...]
    struck: Mapping[str, int]
    calls: Mapping[str, int]
    ends: Mapping[str, int]
    requests: int
    spoilt: int
    refused: int
    seconds: float

    @property
    def violated(self) -> tuple[str, ...]:
        """All that did not hold."""
        return (*self.broken, *self.left, *self.shown)


def chaos(seed: object, *, carrier: Carrier = lambda transport: transport) -> Report:
    """Make one run in virtual time, with the state in memory.

    Args:
        seed: Seed of the storm, the service and the callers.
        carrier: Makes the client's transport of the sandbox's, to see that a client that cheats is found out.
    """
    run = in_virtual_time if chosen() != "uvloop" else functools.partial(in_virtual_time_with_threads, seed)
    return _heard(run, _alone(_in_process(seed, None, carrier)))


def chaos_in_file(seed: object) -> Report:
    """Make one run in virtual time, with the state in a SQLite file."""
    with tempfile.TemporaryDirectory() as directory:
        run = _in_process(seed, Path(directory) / "state.db", lambda transport: transport)
        return _heard(functools.partial(in_virtual_time_with_threads, seed), _alone(run))


def chaos_on_loopback(seed: object, state: str = "memory:") -> Report:
    """Make one run in real time, over a socket and through a proxy; it takes some seconds."""
    return _heard(functools.partial(run_on, chosen()), _alone(_on_loopback(seed, state)))


async def _alone(main: Run) -> Report:
    """Await a run on a loop of its own, where nothing may be left and no error unheard."""
    unheard: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unheard.append(f"unheard: {context}"))
    report = await main
    left = [f"left behind: {task!r}" for task in asyncio.all_tasks() - {asyncio.current_task()}]
    return attrs.evolve(report, broken=(*report.broken, *unheard), left=(*report.left, *left))


async def _in_process(seed: object, file: Path | None, carrier: Carrier) -> Report:
    rng = random.Random(f"{seed}:callers")
    habits = draw_habits(seed)
    box = _box(seed, habits, Lognormal(30.0, 0.8), storm(seed, lasts=300.0))
    deadline = rng.choice((40.0, 120.0, 900.0))
    request = rng.choice((1.0, 5.0, 30.0))
    attempts = rng.choice((1, 3, 5))
    client = cmsapi.Client(
        box.api_key,
        base_url=box.base_url,
        transport=carrier(box.transport),
        state="memory:" if file is None else keep_in_file(file),
        timeouts=cmsapi.Timeouts(request=request, deadline=deadline),
        retry=cmsapi.RetryPolicy(max_attempts=attempts),
    )
    # No public name does this: its jitter is what the seed does not reach otherwise.
    client._runtime.rng.seed(f"{seed}:jitter")
    # Nor this: real seconds would go by between two that are virtual.
    client._runtime.wall = lambda: WALL + asyncio.get_running_loop().time()
    return await _perform(
        seed,
        Record(box, client, rng, habits, deadline, box, settle=attempts * (request + COMMITS), lasts=420.0),
        beginning=120.0,
        lasts=300.0,
        spoil=None if file is None else functools.partial(_spoil_rows, file),
    )


async def _on_loopback(seed: object, state: str) -> Report:
    rng = random.Random(f"{seed}:callers")
    habits = draw_habits(seed, in_real_time=True)
    async with (
        _box(seed, habits, Lognormal(0.3, 0.5), Faults(), Limits.unlimited()) as box,
        # Latency outlasts a storm, and timeouts are short here.
        FaultProxy(box.base_url, attrs.evolve(storm(seed, lasts=1.0), latency=(0.0, 0.02)), seed) as proxy,
    ):
        client = cmsapi.Client(
            box.api_key,
            base_url=proxy.base_url,
            state=state,
            limits=cmsapi.RateLimits.unlimited(),
            polling=cmsapi.PollPolicy(min_interval=0.1, max_interval=0.2, give_up_after=3.0),
            timeouts=cmsapi.Timeouts(request=0.5, deadline=1.5),
            retry=cmsapi.RetryPolicy(base=0.05),
            # On loopback nothing is still on its way after that.
            launch=cmsapi.LaunchPolicy(settle=0.2),
        )
        # A busy machine is late.
        record = Record(box, client, rng, habits, 1.5, proxy, settle=0.2, lasts=1.7, slack=0.5, hurry=100.0)
        spoil = functools.partial(_spoil_keys, state) if state != "memory:" else None
        return await _perform(seed, record, beginning=0.7, lasts=1.0, rest=SHORT_REST, spoil=spoil)


def _box(seed: object, habits: Habits, durations: Lognormal, faults: Faults, limits: Limits | None = None) -> Sandbox:
    return Sandbox(
        seed=seed,
        keywords=8,
        contents=6,
        durations=durations,
        failures=0.15,
        faults=faults,
        limits=limits,
        behaviour=habits.behaviour,
    )


async def _spoil_rows(file: Path, rng: random.Random) -> None:
    if file.exists():
        spoil_file(file, rng.choice(list(ROWS)))


async def _spoil_keys(url: str, rng: random.Random) -> None:
    # What is known of jobs has to be there: a server that forgets it is another matter.
    await spoil_server(url, rng.choice([how for how in KEYS if how != FLUSHED]))


async def _perform(
    seed: object,
    record: Record,
    *,
    beginning: float,
    lasts: float,
    rest: float = REST,
    spoil: Spoiler | None = None,
) -> Report:
    """Let callers come within some seconds, and close the client, sometimes in their midst; then look what is left."""
    loop, rng, client = asyncio.get_running_loop(), record.rng, record.client
    began = loop.time()
    held: list[str] = []
    spoiling = random.Random(f"{seed}:spoiling")
    spoilt = spoiling.randint(1, 3) if spoil is not None and spoiling.random() < SPOILT else 0
    async with client:
        async with asyncio.TaskGroup() as callers:
            for _ in range(CALLERS):
                act: Act = rng.choice(ACTS)
                callers.create_task(_later(rng.uniform(0, beginning), functools.partial(act, record)))
            for _ in range(spoilt):
                assert spoil is not None
                callers.create_task(_later(spoiling.uniform(0, beginning), functools.partial(spoil, spoiling)))
            if closed_early := rng.random() < CLOSED_EARLY:
                await asyncio.sleep(rng.uniform(0, beginning))
                await client.aclose()
        if not closed_early:
            # A storm begins with the first request.
            await asyncio.sleep(max(0.0, began + beginning + lasts - loop.time()))
            # An article whose review is left to a function is waited for until then, and some take very long.
            await asyncio.sleep(
                max([0.0, *(job.ends_at + 20 * rest - loop.time() for job in record.box.jobs if not job.done)])
            )
            if record.habits.unlisted_words:
                # So is one whose status is never understood.
                await asyncio.sleep(IN_DOUBT)
            held = await _held(client, rest)
    return Report(
        seed=seed,
        habits=record.habits.names,
        broken=tuple(violations(record)),
        left=tuple(held),
        shown=tuple(disclosures(record)),
        struck=record.weather.faults_struck,
        calls=Counter(call.operation for call in record.calls),
        ends=Counter(type(call.error).__name__ if call.error else "result" for call in record.calls),
        requests=len(record.box.ledger),
        spoilt=spoilt,
        refused=record.box.statistics.rate_limited,
        seconds=loop.time() - began,
    )


async def _later(after: float, act: Callable[[], Awaitable[object]]) -> None:
    await asyncio.sleep(after)
    await act()


async def _held(client: cmsapi.Client, rest: float) -> list[str]:
    """When the storm is over a client works as on its first day, and when it has nothing to do it holds nothing."""
    found = []
    # What was lost in the storm may hold the limiter for longer than an impatient client's deadline.
    patient = client.with_options(timeouts=cmsapi.Timeouts(deadline=60.0))
    try:
        await patient.me()
    except Exception as error:
        found.append(f"after the storm: {error!r}")
    await asyncio.sleep(rest)
    limit, runtime = client.rate_limit, client._runtime
    if limit.in_flight or limit.queued:
        found.append(f"the limiter holds {limit.in_flight} permits and {limit.queued} waiters")
    # No public name shows these two.
    if not runtime.jobs.scheduler.idle:
        found.append("the schedule of polls holds jobs")
    if runtime.active_calls:
        found.append("the client holds calls")
    return found


class _Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


def _heard(run: Callable[[Run], Report], main: Run) -> Report:
    """Run to the end and hear what is warned of and logged meanwhile."""
    log, logger = _Lines(), logging.getLogger("cmsapi")
    logger.addHandler(log)
    propagate, logger.propagate = logger.propagate, False
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            report = run(main)
            # Of the young ones only: what the run has left in cycles complains now.
            gc.collect(0)
    finally:
        logger.removeHandler(log)
        logger.propagate = propagate
    # Each thing that was left open gives a `ResourceWarning`.
    unclosed = [f"warning: {each.message}" for each in warned if issubclass(each.category, ResourceWarning)]
    complaints = [f"warning: {each.message}" for each in warned if not issubclass(each.category, ResourceWarning)]
    shown = ["the log shows a key" for line in log.lines if "sk_" in line.replace("sk_***", "")]
    return attrs.evolve(
        report,
        broken=(*report.broken, *complaints),
        left=(*report.left, *unclosed),
        shown=(*report.shown, *shown),
    )
