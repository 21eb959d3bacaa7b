"""Run the benchmark: `python -m benchmarks.overhead [--json] [--rounds N] [--update PAGE]`; it needs orjson."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

import attrs

from benchmarks.bars import Bar, bar_table
from benchmarks.command import run
from benchmarks.overhead.contestants import BARE, OURS
from benchmarks.overhead.generated import generate
from benchmarks.overhead.worker import CALLS
from benchmarks.rounds import ENVIRONMENT, Row, rows
from benchmarks.tables import table

_TITLES = {"sequential": "One call after the other:", "concurrent": "A hundred callers at once:"}
# Each in a process of its own.
_RUNS = (("with", "all", "with"), ("without", "ours", "without"), ("layers", "layers", "with"))
_BARS = {("sequential", "with"): 1.15, ("concurrent", "with"): 1.3}
_BARS |= {("sequential", "without"): 1.22, ("concurrent", "without"): 1.42}


def _cpu_of(url: str) -> float:
    with urllib.request.urlopen(f"{url}/cpu") as answer:  # noqa: S310  our own server
        return float(answer.read())


def _work(url: str, rounds: int, clients: str, which: str, orjson: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.overhead.worker", url, str(rounds), which, orjson]
    environment = {**os.environ, "PYTHONPATH": clients}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment)  # noqa: S603  our own module
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def measure(rounds: int) -> dict[str, Any]:
    """Measure all contestants, ours without orjson, and the layers of ours, against one server."""
    command = [sys.executable, "-m", "benchmarks.overhead.server"]
    figures: dict[str, Any] = {"environment": ENVIRONMENT, "rows": {}}
    with (
        tempfile.TemporaryDirectory() as clients,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server,  # noqa: S603  our own module
    ):
        try:
            generate(Path(clients))
            assert server.stdout is not None
            url = f"http://127.0.0.1:{int(server.stdout.readline())}"
            for run_name, which, orjson in _RUNS:
                before, began = _cpu_of(url), time.monotonic()
                measured = _work(url, rounds, clients, which, orjson)
                costs: dict[str, dict[str, list[float]]] = measured["costs"]
                if which == "all":
                    used, passed = _cpu_of(url) - before, time.monotonic() - began
                    calls = sum(len(each) * CALLS[way] for way, names in costs.items() for each in names.values())
                    figures |= {"missing": measured["missing"], "server": used / calls, "busy": used / passed}
                figures["rows"][run_name] = {
                    way: {name: attrs.asdict(row) for name, row in rows(each, BARE).items()}
                    for way, each in costs.items()
                }
        finally:
            server.terminate()
    return figures


def markdown(figures: dict[str, Any]) -> str:
    """Show the figures."""
    parts = [f"Measured on {figures['environment']}."]
    bars = []
    for way, title in _TITLES.items():
        lines = []
        for name, row in figures["rows"]["with"][way].items():
            lines.append([*Row(**row).cells(1e6)])
            if name == OURS:
                lines[-1][0] = "cmsapi with orjson"
                without = Row(**figures["rows"]["without"][way][OURS])
                lines.append(["cmsapi without", *without.cells(1e6)[1:]])
        parts += [title, table(["", "µs of CPU", "ratio to aiohttp", "half of the rounds"], lines)]
    one_by_one, together = (figures["rows"]["layers"][way] for way in _TITLES)
    lines = [[*Row(**row).cells(1e6)[:3], *Row(**together[name]).cells(1e6)[1:3]] for name, row in one_by_one.items()]
    head = ["with orjson", "µs, one after the other", "ratio", "µs, a hundred at once", "ratio"]
    parts += ["Where it goes; each row does what the one before does, and more:", table(head, lines)]
    for (way, orjson), bar in _BARS.items():
        ratio = figures["rows"][orjson][way][OURS]["ratio"]
        bars.append(Bar.at_most(f"{way}, {orjson} orjson, ratio to aiohttp,", ratio, bar))
    parts.append(
        f"The server spent {figures['server'] * 1e6:.0f} µs of its own CPU on a call, and was busy for "
        f"{figures['busy']:.0%} of the time: it is not what limits."
    )
    if figures["missing"]:
        parts.append(f"Not there, hence not measured: {', '.join(figures['missing'])}.")
    return "\n\n".join([*parts, bar_table(bars)])


if __name__ == "__main__":
    run("overhead", measure, markdown, rounds=9)
