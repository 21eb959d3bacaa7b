"""Run the benchmark: `python -m benchmarks.overhead [--json] [--rounds N] [--update PAGE]`; it needs orjson.

In each round every contestant gets a process of its own, and all of them call one server, one contestant at a time.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

import attrs

from benchmarks.bars import Bar, bar_line, bar_table
from benchmarks.command import run
from benchmarks.generated import generated
from benchmarks.overhead.contestants import BARE, CONTESTANTS, OURS, WITHOUT, missing
from benchmarks.overhead.layers import LAYERS
from benchmarks.overhead.worker import CALLS
from benchmarks.rounds import ENVIRONMENT, Row, rows
from benchmarks.tables import Report, table

_TITLES = {"sequential": "One call after the other:", "concurrent": "A hundred callers at once:"}
# A whole call, with limits, hooks, the service's clock and the model. Without orjson, the cost of json comes on top.
_BARS = (
    ("sequential, with orjson", "sequential", OURS, 1.6),
    ("concurrent, with orjson", "concurrent", OURS, 1.6),
    ("sequential, without orjson", "sequential", WITHOUT, 1.67),
    ("concurrent, without orjson", "concurrent", WITHOUT, 1.72),
)
# How often each process has its turn before new ones are started.
_TURNS = 4


@contextlib.contextmanager
def _process(module: str, *arguments: str, path: str = "") -> Iterator[subprocess.Popen[str]]:
    """Run one of our modules until this is over; it finds the generated clients under a path."""
    command = [sys.executable, "-m", module, *arguments]
    environment = {**os.environ, "PYTHONPATH": path}
    with subprocess.Popen(  # noqa: S603  our own modules
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


def _heard(process: subprocess.Popen[str]) -> str:
    """Return the next line that a process says."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"{process.args!r} has ended")
    return line


def _cost(worker: subprocess.Popen[str], way: str) -> float:
    """Have a worker call, and return the seconds of CPU that a call took."""
    assert worker.stdin is not None
    worker.stdin.write(f"{way}\n")
    worker.stdin.flush()
    return float(_heard(worker))


def _cpu_of(url: str) -> float:
    with urllib.request.urlopen(f"{url}/cpu") as answer:  # noqa: S310  our own server
        return float(answer.read())


def measure(rounds: int) -> dict[str, Any]:
    """Measure all contestants, and the layers of ours."""
    with generated() as clients, _process("benchmarks.overhead.server") as server:
        url = f"http://127.0.0.1:{int(_heard(server))}"
        absent = missing()
        names = [name for name in {**CONTESTANTS, **LAYERS} if name not in absent]
        costs: dict[str, dict[str, list[float]]] = {way: {name: [] for name in names} for way in _TITLES}
        # Of the server: its CPU a call, and the share of the time for which it was busy.
        own: dict[str, list[float]] = {name: [] for name in names}
        busy: dict[str, list[float]] = {name: [] for name in names}
        for _ in range(rounds):
            with contextlib.ExitStack() as stack:
                workers = {}
                for name in names:
                    arguments = (url, name, "without" if name == WITHOUT else "with")
                    workers[name] = stack.enter_context(
                        _process("benchmarks.overhead.worker", *arguments, path=clients)
                    )
                    _heard(workers[name])
                for way in [way for way in _TITLES for _ in range(_TURNS)]:
                    for name, worker in workers.items():
                        # It calls twice as often as it counts.
                        before, began = _cpu_of(url), time.perf_counter()
                        costs[way][name].append(_cost(worker, way))
                        passed = time.perf_counter() - began
                        used = _cpu_of(url) - before
                        own[name].append(used / (2 * CALLS[way]))
                        busy[name].append(used / passed)
    busiest = max((name for name in names if name in CONTESTANTS), key=lambda name: statistics.median(busy[name]))
    return {
        "environment": ENVIRONMENT,
        "missing": absent,
        "rounds": rounds,
        "server": {
            "cost": statistics.median(own[BARE]),
            "busiest": busiest,
            "busy": statistics.median(busy[busiest]),
        },
        "rows": {
            way: {name: attrs.asdict(row) for name, row in rows(each, BARE).items()} for way, each in costs.items()
        },
    }


def report(figures: dict[str, Any]) -> Report:
    """Show both ways to call next to each other, and in the details where the time goes."""
    by_way = {way: {name: Row(**row) for name, row in of.items()} for way, of in figures["rows"].items()}
    parts = [f"Measured on {figures['environment']}, in {figures['rounds']} rounds of {_TURNS} turns."]
    for way, title in _TITLES.items():
        lines = [row.cells(1e6) for name, row in by_way[way].items() if name in CONTESTANTS]
        parts += [title, table(["", "µs of CPU", "ratio to aiohttp", "half of the rounds"], lines)]
    one_by_one, together = (by_way[way] for way in _TITLES)
    ratios = [
        [name, f"{row.ratio:.2f}", f"{together[name].ratio:.2f}"]
        for name, row in one_by_one.items()
        if name in CONTESTANTS
    ]
    shown = [parts[0], table(["ratio to aiohttp", "one after the other", "a hundred at once"], ratios)]
    lines = [[*one_by_one[name].cells(1e6)[:3], *together[name].cells(1e6)[1:3]] for name in LAYERS]
    ways = ["µs, one after the other", "ratio", "µs, a hundred at once", "ratio"]
    layers = table(["with orjson", *ways], lines)
    parts += ["Where it goes; each row does what the one before does, and more:", layers]
    server = figures["server"]
    parts.append(
        f"The server spent {server['cost'] * 1e6:.0f} µs of its own CPU on a call of {BARE}, and was busiest with "
        f"{server['busiest']}: {server['busy']:.0%} of the time, so that it is not what limits."
    )
    if figures["missing"]:
        parts.append(f"Not there, hence not measured: {'; '.join(figures['missing'])}.")
    bars = [Bar.at_most(f"{name}, ratio to aiohttp,", by_way[way][who].ratio, bar) for name, way, who, bar in _BARS]
    return Report("\n\n".join([*shown, bar_line(bars)]), "\n\n".join([*parts, bar_table(bars)]))


if __name__ == "__main__":
    run("overhead", measure, report, rounds=5)
