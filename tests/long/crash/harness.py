"""Run the program against a sandbox in this process, kill it at random instants, and let the ledger judge."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import sys
from asyncio.subprocess import PIPE
from collections import Counter
from typing import Any

import attrs

import cmsapi
from cmsapi.jobs.journal.journal import scope_of
from cmsapi.sandbox import Behaviour, Fault, Faults, Limits, Sandbox
from cmsapi.state.opening import open_state

# Most kills leave no time; the others are how a service manager and a person end a program.
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
KINDS = ("keyword_analysis", "idea_search", "generation")
LONGEST_RUN = 60.0
# Seconds by which work may come late; the program waits longer before it looks whether it was done.
LATE = 0.3


@attrs.frozen(kw_only=True)
class Verdict:
    """Hold what came of one seed.

    Args:
        seed: The seed.
        kind: Kind of the jobs.
        items: Items of the batch.
        kills: How often the program was killed.
        launches: Launches that took effect.
        unknown: Items that were reported unknown.
        surplus: Launches beyond one an item, without a report.
        lost: Items that were neither launched and done nor reported.
        open: Entries that were left in the journal.
    """

    seed: int
    kind: str
    items: int
    kills: int
    launches: int
    unknown: int
    surplus: int
    lost: int
    open: int

    @property
    def holds(self) -> bool:
        """Whether the promise was kept."""
        return self.surplus == self.lost == self.open == 0

    def row(self) -> str:
        """Return a row of the table."""
        numbers = (self.kills, self.launches, self.unknown, self.surplus, self.lost, self.open)
        return f"{self.seed:>11}  {self.kind:<17}" + "".join(f"{number:>9}" for number in numbers)


HEADER = f"{'seed':>11}  {'kind':<17}" + "".join(
    f"{word:>9}" for word in ("kills", "launches", "unknown", "surplus", "lost", "open")
)


async def judge(
    seed: int,
    kind: str,
    state: str,
    *,
    items: int = 50,
    most_kills: int = 6,
    faults: bool = False,
    traits: bool = False,
) -> Verdict:
    """Kill a batch a few times, let it come to its end, and count.

    Args:
        seed: Seed of the service and of the kills.
        kind: Kind of the jobs.
        state: URL of the state.
        items: Items of the batch.
        most_kills: How often it is killed at the most.
        faults: Whether the service loses answers.
        traits: Whether its clocks differ, it writes keywords in its own way, and some launches outlive their client.
    """
    rng = random.Random(seed)
    rules = [Fault(match="POST /v1/*", drop=True, when="after", probability=0.03, times=None)] if faults else []
    if traits:
        rules.append(Fault(match="POST /v1/*", drop=True, when="after", late=LATE, probability=0.03, times=None))
    sandbox = Sandbox(
        seed=seed,
        keywords=items,
        contents=items,
        durations=lambda rng: rng.uniform(0.1, 0.4),
        faults=Faults(latency=(0.0, 0.03), rules=rules),
        limits=Limits(per_second=10_000, per_hour=1_000_000),
        behaviour=_habits(rng, kind) if traits else None,
    )
    names = _items(sandbox, kind, items)
    async with sandbox:
        words = [state, sandbox.base_url, sandbox.api_key, kind, sandbox.workspace_id, *names]
        kills, said = 0, dict[str, Any]()
        while True:
            patience = rng.uniform(0.0, 0.8) if kills < most_kills else LONGEST_RUN
            heard, through = await _run(words, patience, rng.choice(SIGNALS))
            said |= {each["item"]: each for each in heard if "item" in each}
            if through:
                break
            assert kills < most_kills, f"the batch did not come to its end: {heard[-1:]}"
            kills += 1
        return await _count(sandbox, seed, kind, names, kills, said, state)


def _habits(rng: random.Random, kind: str) -> Behaviour:
    # That an analysis has ended is told by its time alone when it is that short.
    widest = 0.5 if kind == "keyword_analysis" else 10.0
    clocks = [rng.uniform(-widest, widest) for _ in range(3)]
    return Behaviour(
        date_ahead=rng.sample(clocks, 2), stamps_ahead=rng.sample(clocks, 2), usage_keyword=("lower", "trimmed", "nfc")
    )


async def _run(words: list[str], patience: float, how: signal.Signals) -> tuple[list[dict[str, Any]], bool]:
    """Run the program, and kill it after so many seconds; say what it said, and whether it came to its end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.long.crash.program", *words, stdout=PIPE
    )
    assert process.stdout is not None
    heard: list[dict[str, Any]] = []

    async def listen(stream: asyncio.StreamReader) -> None:
        async for line in stream:
            if line.endswith(b"\n"):
                heard.append(json.loads(line))
                started.set()

    started = asyncio.Event()
    listening = asyncio.create_task(listen(process.stdout))
    try:
        async with asyncio.timeout(LONGEST_RUN):
            await asyncio.wait([listening, asyncio.create_task(started.wait())], return_when=asyncio.FIRST_COMPLETED)
        async with asyncio.timeout(patience):
            await asyncio.shield(listening)
    except TimeoutError:
        pass
    if process.returncode is None and not listening.done():
        process.send_signal(how)
    await listening
    await process.wait()
    return heard, bool(heard) and heard[-1].get("through") is True


def _items(sandbox: Sandbox, kind: str, count: int) -> list[str]:
    if kind == "keyword_analysis":
        return list(sandbox.keyword_ids[:count])
    if kind == "generation":
        return list(sandbox.content_ids[:count])
    # None begins as another one does: usages may cut their keywords, so that such names leave each other in doubt.
    return [f"idea {number:02}" for number in range(count)]


async def _count(
    sandbox: Sandbox, seed: int, kind: str, names: list[str], kills: int, said: dict[str, Any], state_url: str
) -> Verdict:
    launched: Counter[str] = Counter()
    for job in sandbox.jobs:
        if job.kind == kind:
            launched[job.purchase.keyword if kind == "idea_search" and job.purchase else job.target_id] += 1
    unknown = {name for name in names if said.get(name, {}).get("unknown")}
    done = {name for name in names if name in said and said[name]["error"] is None}
    async with cmsapi.Client(sandbox.api_key, base_url=sandbox.base_url, transport=sandbox.transport) as client:
        organization = (await client.me()).organization
    state = open_state(state_url)
    try:
        entries = await state.entries(scope_of(sandbox.base_url, organization.id))
    finally:
        await state.aclose()
    return Verdict(
        seed=seed,
        kind=kind,
        items=len(names),
        kills=kills,
        launches=sum(launched.values()),
        unknown=len(unknown),
        surplus=sum(launched[name] - 1 for name in names if launched[name] > 1),
        lost=sum(name not in unknown and (launched[name] == 0 or name not in done) for name in names),
        open=len(entries),
    )
