"""Kill a program that runs a batch, again and again, and check its cost in the service's ledger.

``python -m tests.long.crash --batches 60 --state sqlite`` prints a line for each batch and a total.
"""

# ruff: noqa: T201  a program that prints

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import signal
import sqlite3
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from attrs import define, field

from cmsapi.sandbox import Fault, Faults, Limits, Lognormal, Sandbox

ROOT = Path(__file__).resolve().parent.parent.parent
LAUNCHES = ("analyze_keyword", "analyze_prompt", "start_content_idea_search", "generate_content")
SIZES = {"analysis": 20, "search": 15, "generation": 10, "prompt": 5}
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
REQUEST = 2.0
PLACE = re.compile(r"/v1/|credit_usages")


@define
class Verdict:
    """The outcome of one batch."""

    seed: int
    kills: int = 0  # signals that hit a running program
    launches: int = 0  # that the service has accepted
    unknown: int = 0  # items whose launch is unknown
    allowed: int = 0  # unknown ones that deaths and lost responses explain
    lost: int = 0  # items without an outcome
    doubly: int = 0  # launches that were paid beyond the first of their item
    invented: int = 0  # items that have succeeded without a launch that the service knows
    errors: Counter[str] = field(factory=Counter)  # of items that have failed otherwise
    faults: list[str] = field(factory=list)  # everything else that must not be
    seconds: float = 0.0  # of the last run

    @property
    def sound(self) -> bool:
        """True if no money and no item was lost, and nothing else was wrong."""
        return not (self.lost or self.doubly or self.invented or self.faults or self.unknown > self.allowed)


def faults_of(rng: random.Random) -> list[Fault]:
    """Return the faults for a seed: lost launches, service failures and failing polls."""
    rules = []
    for operation in LAUNCHES:
        rules += [
            Fault(match=operation, share=rng.uniform(0, 0.08), drop="before"),
            Fault(match=operation, share=rng.uniform(0, 0.08), drop="after"),
            Fault(match=operation, share=rng.uniform(0, 0.05), status=500),
            Fault(match=operation, share=rng.uniform(0, 0.05), status=503),
            Fault(match=operation, share=rng.choice([0, 0, 0.04]), status=500, effect=True),
            Fault(match=operation, share=rng.choice([0, 0, 0.04]), status=502, body="foreign", effect=True),
        ]
    rules += [
        Fault(match="get_*", share=rng.uniform(0, 0.03), status=503),
        Fault(match="get_*", share=rng.uniform(0, 0.03), drop="after"),
        Fault(match="*_generation", share=rng.uniform(0, 0.05), drop="after"),
    ]
    return rules


def items_of(sandbox: Sandbox, rng: random.Random) -> list[str]:
    """Return the items of a batch; each is a kind and a target."""
    targets = {
        "analysis": sandbox.keyword_ids,
        "search": [f"seed {number}" for number in range(SIZES["search"])],
        "generation": sandbox.content_ids,
        "prompt": sandbox.prompt_ids,
    }
    items = [f"{kind}:{target}" for kind, size in SIZES.items() for target in targets[kind][:size]]
    rng.shuffle(items)
    return items


def sending(path: Path) -> set[str]:
    """Return the launches in a state that may be under way."""
    if not path.exists():
        return set()
    connection = sqlite3.connect(path, timeout=30)
    try:
        rows = connection.execute("SELECT id, attempt FROM cmsapi_launches WHERE status = 'sending'").fetchall()
    except sqlite3.OperationalError:  # killed before the tables were made
        rows = []
    finally:
        connection.close()
    return {f"{name} {attempt}" for name, attempt in rows}


async def start(settings: dict[str, Any]) -> asyncio.subprocess.Process:
    """Start the program, and return once it is running."""
    command = [sys.executable, "-m", "tests.long.worker", json.dumps(settings)]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe)
    assert process.stdout is not None
    await process.stdout.readline()
    return process


async def end(process: asyncio.subprocess.Process, seconds: float = 120.0) -> str:
    """Wait for a program, kill it if it does not end, and return what it wrote to stderr."""
    try:
        _, errors = await asyncio.wait_for(process.communicate(), seconds)
    except TimeoutError:
        process.kill()
        _, errors = await process.communicate()
        return f"still ran after {seconds:g} s; {errors.decode()[-2000:]}"
    return errors.decode()


async def judge(seed: int, state: str, folder: Path) -> Verdict:
    """Run one batch through its deaths, on a state that is ``sqlite`` or an address, and return its verdict."""
    rng = random.Random(seed)
    verdict = Verdict(seed)
    file, report = folder / f"state-{seed}.db", folder / f"report-{seed}.json"
    sandbox = Sandbox(
        seed=seed,
        keywords=SIZES["analysis"],
        contents=SIZES["generation"],
        limits=Limits(per_second=1000, per_hour=1_000_000),
        durations=Lognormal(rng.choice([0.3, 1.0, 2.0]), 0.6),
        faults=Faults(faults_of(rng), latency=(0.01, rng.choice([0.05, 0.3]))),
        clock_skew=rng.choice([-4000.0, 0.0, 4000.0]),
    )
    items = items_of(sandbox, rng)
    async with sandbox.serve() as base_url:
        settings: dict[str, Any] = {
            "key": sandbox.api_key,
            "base_url": base_url,
            "state": f"sqlite:///{file}" if state == "sqlite" else state,
            "workspace": sandbox.workspace_id,
            "items": items,
            "in_flight": rng.choice([4, 8, 16, "auto"]),
            "request": REQUEST,
            "report": str(report),
            "steps": rng.choice([["batch"], ["resume", "batch"]]),
        }
        flying: set[str] = set()
        for _ in range(rng.randint(4, 6)):
            process = await start(settings)
            await asyncio.sleep(rng.uniform(0.2, 3.0))
            if process.returncode is None:
                how = rng.choice(SIGNALS)
                process.send_signal(how)
                verdict.kills += 1
                errors = await end(process, 30)
                early = process.returncode == -signal.SIGINT and not errors  # before Python could look at signals
                if (
                    how is signal.SIGINT
                    and not early
                    and ("still ran" in errors or _last(errors) != "KeyboardInterrupt")
                ):
                    verdict.faults.append(f"SIGINT: {errors[-300:]}")
            else:
                errors = await end(process)
                if errors:
                    verdict.faults.append(f"run ended early: {errors[-300:]}")
            flying |= sending(file)
        report.unlink(missing_ok=True)
        began = asyncio.get_running_loop().time()
        settings["steps"] = [*settings["steps"], "resume", "batch", "resume", "unknown"]
        errors = await end(await start(settings))
        verdict.seconds = asyncio.get_running_loop().time() - began
    if errors or not report.exists():
        verdict.faults.append(f"last run: {errors[-600:]}")
        verdict.lost = len(items)
    else:
        _compare(verdict, sandbox, items, json.loads(report.read_text()), flying)
    if state != "sqlite":
        verdict.allowed = len(items)  # what was under way is not looked up on a server
    if state == "sqlite" and sending(file):
        verdict.faults.append(f"rows are sending after the last run: {sorted(sending(file))}")
    return verdict


def _last(errors: str) -> str:
    return errors.strip().rpartition("\n")[2].partition(":")[0]


def _compare(verdict: Verdict, sandbox: Sandbox, items: list[str], found: dict[str, Any], flying: set[str]) -> None:
    launches = Counter(f"{launch.kind}:{launch.target}" for launch in sandbox.ledger.launches)
    outcomes = {outcome["item"]: outcome for outcome in found["runs"][-1]}
    verdict.launches = sum(launches.values())
    twice = {item: count for item, count in launches.items() if count > 1}
    verdict.doubly = sum(twice.values()) - len(twice)
    if twice:
        verdict.faults.append(f"paid twice: { {item: outcomes.get(item, {}).get('error') for item in twice} }")
    verdict.lost = len(set(items) - set(outcomes))
    verdict.invented = sum(outcome["ok"] and not launches[item] for item, outcome in outcomes.items())
    unknown = [outcome for outcome in outcomes.values() if outcome["error"] == "LaunchUnknownError"]
    verdict.unknown = len(unknown)
    # A search that the service answers with 500 is unknown, too, if the balance cannot tell.
    lost = sum(request.operation in LAUNCHES and request.status is None for request in sandbox.ledger.requests)
    failed = [request for request in sandbox.ledger.requests if request.status in (500, 502)]
    lost += sum(request.operation == "start_content_idea_search" for request in failed)
    lost += sum(request.operation in LAUNCHES and request.status == 502 for request in failed)
    verdict.allowed = len(flying) + lost
    verdict.errors = Counter(
        f"{outcome['item'].partition(':')[0]} {outcome['error']}"
        for outcome in outcomes.values()
        if outcome["error"] not in (None, "LaunchUnknownError")
    )
    verdict.faults += [f"says not where to look: {each['text']}" for each in unknown if not PLACE.search(each["text"])]
    silent = {each["item"] for each in outcomes.values() if not (each["ok"] or each["job"] or each in unknown)}
    if paid := {item: outcomes[item]["error"] for item in silent if launches[item]}:
        verdict.faults.append(f"paid without a word: {paid}")
    if len(found["unknown"]) != len(unknown):
        verdict.faults.append(f"jobs.unknown() has {len(found['unknown'])}, the batch {len(unknown)}")
    if found["resumed"][-1]:
        verdict.faults.append(f"resume() finds jobs after the end: {found['resumed'][-1]}")
    changed = {item for item in outcomes if outcomes[item]["ok"] is not _in(found["runs"][-2], item)["ok"]}
    if changed:
        verdict.faults.append(f"the same batch, run again, ends otherwise: {sorted(changed)}")


def _in(outcomes: list[dict[str, Any]], item: str) -> dict[str, Any]:
    return next(outcome for outcome in outcomes if outcome["item"] == item)


HEAD = "seed kills launches unknown allowed lost doubly invented last_run_s errors"


def line(verdict: Verdict) -> str:
    """Return a verdict as a line of the table, with its problems below it."""
    numbers = (verdict.kills, verdict.launches, verdict.unknown, verdict.allowed, verdict.lost, verdict.doubly)
    text = " ".join(f"{number:>6}" for number in (verdict.seed, *numbers, verdict.invented))
    text += f" {verdict.seconds:6.1f} {dict(verdict.errors) or ''}"
    return "\n".join([text, *(f"       ! {fault}" for fault in verdict.faults)])


async def run(seeds: list[int], state: str) -> list[Verdict]:
    """Judge batches, one after the other, and print each verdict."""
    print(HEAD, flush=True)
    verdicts = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            verdicts.append(await judge(seed, state, Path(folder)))
            print(line(verdicts[-1]), flush=True)
    total = Verdict(len(verdicts))
    for each in verdicts:
        for name in ("kills", "launches", "unknown", "allowed", "lost", "doubly", "invented", "seconds"):
            setattr(total, name, getattr(total, name) + getattr(each, name))
        total.errors += each.errors
    print(f"sum of {len(verdicts)} batches, {sum(each.sound for each in verdicts)} sound\n{line(total)}")
    return verdicts


def main() -> None:
    """Run the batches that the arguments name; the exit status is 1 if a batch is not sound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="seed of the first batch")
    parser.add_argument("--state", default="sqlite", help="sqlite, or the address of a state")
    options = parser.parse_args()
    seeds = list(range(options.first, options.first + options.batches))
    sys.exit(not all(verdict.sound for verdict in asyncio.run(run(seeds, options.state))))


if __name__ == "__main__":
    main()
