"""Two processes and one launch: who settles it, and what it costs.

``python -m tests.long.races`` runs all scenes; ``--scenes settle --rounds 200`` some of them:

* settle: rows whose process died, settled by two processes at once;
* stopped: a process that pauses between writing the row and sending the request, for longer than the deadline;
* ahead: a process whose clock is five minutes ahead of the one that launches;
* overlap: two processes that run the same batch at the same time.
"""

# ruff: noqa: T201, SLF001, ASYNC240  a program that prints, looks at the state, and reads small files

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sqlite3
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from cmsapi.jobs.kinds import JobKind
from cmsapi.jobs.token import Token
from cmsapi.sandbox import Fault, Fixed, Limits, Sandbox
from cmsapi.state.store import Row
from tests.long.crash import end, sending, start
from tests.long.worker import BATCH, client_of

MARGIN = 5.0
GENEROUS = Limits(per_second=1000, per_hour=1_000_000)


def settings_of(
    sandbox: Sandbox, base_url: str, file: Path, name: str, items: list[str], **more: Any
) -> dict[str, Any]:
    """Return the settings for a program."""
    report = file.with_name(f"{file.stem}-{name}.json")
    known = {"key": sandbox.api_key, "base_url": base_url, "state": f"sqlite:///{file}", "items": items}
    return known | {"workspace": sandbox.workspace_id, "report": str(report), "request": 1.0, **more}


def report(settings: dict[str, Any], errors: str) -> dict[str, Any]:
    """Return a program's report, or what it wrote to stderr if it failed."""
    path = Path(settings["report"])
    return dict(json.loads(path.read_text())) if path.exists() else {"crash": errors[-500:]}


def rows_of(file: Path) -> list[tuple[Any, ...]]:
    """Return kind, target, status and attempt of all launches in a state."""
    connection = sqlite3.connect(file, timeout=30)
    try:
        return connection.execute("SELECT kind, target, status, attempt FROM cmsapi_launches").fetchall()
    finally:
        connection.close()


def twice(sandbox: Sandbox) -> dict[str, int]:
    """Return the targets that were paid for more than once."""
    counts = Counter(f"{launch.kind}:{launch.target}" for launch in sandbox.ledger.launches)
    return {target: count for target, count in counts.items() if count > 1}


def runs_of(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return all outcomes that a program reported."""
    return [*found.get("alone", []), *(outcome for run in found.get("runs", []) for outcome in run)]


async def release(process: asyncio.subprocess.Process) -> None:
    """Let a program that has reported itself ready continue."""
    assert process.stdin is not None
    process.stdin.write(b"\n")
    await process.stdin.drain()


async def settle(folder: Path, rounds: int, steps: list[str], *, blind: bool) -> tuple[int, str]:
    """Let two processes settle a dead one's rows at once; return the number of faults and what was seen.

    Half of the launches were accepted; ``blind`` makes half of the reads of documents fail, so that some become
    unknown, too. Bare calls find the analyses running: after the end of one, a call is a new launch.
    """
    file = folder / f"settle-{'-'.join(steps)}-{blind}.db"
    duration = 15.0 if "alone" in steps else 0.2
    sandbox = Sandbox(keywords=rounds, limits=GENEROUS, durations=Fixed(duration), clock_skew=3000)
    async with sandbox.serve() as base_url:
        items = [f"analysis:{target}" for target in sandbox.keyword_ids]
        programs = [settings_of(sandbox, base_url, file, name, items, attempts=1) for name in "ab"]
        async with client_of(programs[0]) as client:
            await client.jobs.batches()  # opens the state
            store = client.jobs._poller().store
            for number, target in enumerate(sandbox.keyword_ids):
                row = Row("analysis", target, target, token=str(Token(JobKind.ANALYSIS, target, target)))
                assert await store.insert(row, -1.0, (BATCH, items[number])) is None
                if number % 2:
                    await client.request("POST", f"/v1/keywords/{target}/analyze")
        await asyncio.sleep(0.5)  # the short ones have ended
        if blind:
            sandbox.faults.rules.append(Fault(match="get_keyword", share=0.5, status=500))
        for each in programs:
            each["steps"] = ["ready", *steps]
        processes = [await start(each) for each in programs]
        for process in processes:
            await release(process)
        errors = await asyncio.gather(*(end(process) for process in processes))
    found = [report(each, text) for each, text in zip(programs, errors, strict=True)]
    statuses = Counter((status, attempt) for _, _, status, attempt in rows_of(file))
    crashes = [each["crash"] for each in found if "crash" in each]
    left = sum(count for (status, _), count in statuses.items() if status == "sending")
    again = sum(count for (_, attempt), count in statuses.items() if attempt > 2)
    # A bare call that begins after the other program has reported the launch unknown is asked for, and a new launch.
    told = {run["item"] for each in found for run in each.get("alone", []) if run["error"] == "LaunchUnknownError"}
    paid = twice(sandbox).keys() - told
    before = {item for item in items[1::2] if item not in told}
    launched = sum(f"analysis:{launch.target}" not in told for launch in sandbox.ledger.launches) - len(before)
    faults = f"paid twice {len(paid)}, launched again {launched}, asked for again {len(twice(sandbox)) - len(paid)}"
    seen = "\n    ".join([f"{steps[0]}{', half of looks fail' * blind}: {faults}, rows {dict(statuses)}", *crashes])
    return len(paid) + left + again + launched + len(crashes), seen


async def stopped(folder: Path, stop: str, kind: str, taker: list[str]) -> tuple[int, str]:
    """Stop a process between row and request for longer than the deadline, while another takes over."""
    file = folder / f"stopped-{stop.replace(' ', '-')}-{kind}-{'-'.join(taker)}.db"
    sandbox = Sandbox(limits=GENEROUS, durations=Fixed(0.3))
    target = {"analysis": sandbox.keyword_ids[0], "generation": sandbox.content_ids[0], "search": "seed"}[kind]
    alone = "alone" in taker
    async with sandbox.serve() as base_url:
        items = [f"{kind}:{target}"]
        first = settings_of(sandbox, base_url, file, "a", items, stop=stop, steps=["alone" if alone else "batch"])
        second = settings_of(sandbox, base_url, file, "b", items, steps=taker)
        process = await start(first)
        if not await _stands(process.pid):
            return 1, f"{stop} {kind}: the process did not stop: {await end(process, 5)}"
        await asyncio.sleep(1.0 + MARGIN + 1.0)  # its deadline is over
        errors = await end(await start(second))
        os.kill(process.pid, signal.SIGCONT)
        found = [report(first, await end(process)), report(second, errors)]
    seen = f"{stop}, {kind}, then {'+'.join(taker)}: ledger {len(sandbox.ledger.launches)}, rows {rows_of(file)}"
    ends = [[(run["ok"], run["error"]) for run in runs_of(each)] for each in found]
    # Two searches alone are two; and right before the sending nothing can stop a request that `retry_unknown` repeats.
    allowed = (kind == "search" and alone) or (stop == "before send" and "retry_unknown" in taker)
    faults = (0 if allowed else len(twice(sandbox))) + sum("crash" in each for each in found)
    return faults, f"{seen}, ends {ends}" + "".join(f"\n    {each['crash']}" for each in found if "crash" in each)


async def _stands(pid: int) -> bool:
    for _ in range(100):
        await asyncio.sleep(0.1)
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T":
            return True
    return False


def told(sandbox: Sandbox, programs: list[dict[str, Any]], errors: list[str]) -> tuple[int, str]:
    """Return the number of faults in programs that have ended, and a summary of their outcomes."""
    found = [report(each, text) for each, text in zip(programs, errors, strict=True)]
    ends = [dict(Counter(str(run["error"]) for run in runs_of(each))) for each in found]
    crashes = [each["crash"] for each in found if "crash" in each]
    paid = sum(twice(sandbox).values()) - len(twice(sandbox))
    return paid + len(crashes), f"{paid} paid twice, ends {ends}" + "".join(f"\n    {each}" for each in crashes)


async def ahead(folder: Path, seconds: float, step: str) -> tuple[int, str]:
    """Let a process whose clock is ahead take up the launches of another one whose responses are slow."""
    file = folder / f"ahead-{seconds:g}-{step}.db"
    sandbox = Sandbox(keywords=30, limits=GENEROUS, durations=Fixed(3.0))
    sandbox.faults.latency = 1.6
    async with sandbox.serve() as base_url:
        items = [f"analysis:{target}" for target in sandbox.keyword_ids]
        programs = [settings_of(sandbox, base_url, file, name, items, request=4.0, in_flight=30) for name in "ab"]
        programs[0] |= {"steps": ["ready", "batch"]}
        programs[1] |= {"steps": ["open", "ready", step], "ahead": seconds}
        processes = [await start(each) for each in programs]
        await release(processes[0])
        for _ in range(600):
            if file.exists() and len(sending(file)) >= 20:
                break
            await asyncio.sleep(0.02)
        await release(processes[1])
        errors = await asyncio.gather(*(end(process, 60) for process in processes))
    statuses = dict(Counter((status, attempt) for _, _, status, attempt in rows_of(file)))
    faults, seen = told(sandbox, programs, errors)
    return faults, f"{seconds:g} s ahead, then {step}: rows {statuses}, {seen}"


async def overlap(folder: Path, kind: str, seconds: float, delay: float) -> tuple[int, str]:
    """Let two processes run one batch at the same time."""
    file = folder / f"overlap-{kind}-{seconds:g}-{delay:g}.db"
    sandbox = Sandbox(keywords=40, contents=40, limits=GENEROUS, durations=Fixed(seconds))
    sandbox.faults.latency = (0.01, 0.1)
    async with sandbox.serve() as base_url:
        targets = {"analysis": sandbox.keyword_ids, "generation": sandbox.content_ids}
        items = [f"{kind}:{target}" for target in targets.get(kind, [f"seed {number}" for number in range(40)])]
        programs = [settings_of(sandbox, base_url, file, name, items, in_flight=5) for name in "ab"]
        for each in programs:
            each["steps"] = ["ready", "batch"]
        processes = [await start(each) for each in programs]
        for process in processes:
            await release(process)
            await asyncio.sleep(delay)
        errors = await asyncio.gather(*(end(process) for process in processes))
    faults, seen = told(sandbox, programs, errors)
    return faults, f"{kind} of {seconds:g} s, the second {delay:g} s later: {seen}"


async def scene(name: str, folder: Path, rounds: int) -> int:
    """Run a scene in its variants, print what was seen, and return the number of faults."""
    steps = ("resume", "alone", "batch")
    if name == "settle":
        part = max(2, rounds // 6)
        cases = [settle(folder, part, [step], blind=blind) for step in steps for blind in (False, True)]
    elif name == "stopped":
        takers = (["batch"], ["batch", "retry_unknown", "batch"], ["alone"])
        kinds = ("analysis", "search", "generation")
        stops = ("after insert", "before send")
        cases = [stopped(folder, stop, kind, taker) for stop in stops for kind in kinds for taker in takers]
    elif name == "ahead":
        cases = [ahead(folder, shift, step) for shift in (0.0, 300.0, -300.0) for step in steps]
    else:
        kinds = ("analysis", "search", "generation")
        cases = [overlap(folder, kind, seconds, 0.5) for kind in kinds for seconds in (0.3, 2.0)]
    faults, together = 0, 3 if name == "stopped" else 1  # those wait most of the time
    for first in range(0, len(cases), together):
        for wrong, seen in await asyncio.gather(*cases[first : first + together]):
            faults += wrong
            print(f"{name:8} {'FAULT' if wrong else 'ok   '} {seen}", flush=True)
    return faults


SCENES = ("settle", "stopped", "ahead", "overlap")


def main() -> None:
    """Run the scenes that the arguments name; the exit status is 1 if there was a fault."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", nargs="+", choices=SCENES, default=SCENES)
    parser.add_argument("--rounds", type=int, default=200, help="rows of the scene settle")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        faults = [asyncio.run(scene(name, Path(folder), options.rounds)) for name in options.scenes]
    sys.exit(bool(sum(faults)))


if __name__ == "__main__":
    main()
