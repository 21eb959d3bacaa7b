"""Run the benchmark: `python -m benchmarks.imports [--json] [--rounds N] [--update PAGE]`."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from typing import Any

import attrs

from benchmarks.bars import Bar, bar_line, bar_table
from benchmarks.command import run
from benchmarks.rounds import ENVIRONMENT, Row, rows
from benchmarks.tables import Report, table

_CLIENT = "import cmsapi; client = cmsapi.Client('sk_1', base_url='https://api.example.com')"
ASYNCIO, AIOHTTP, PACKAGE, CLIENT = "import asyncio", "import aiohttp", "import cmsapi after asyncio", "first Client"
SCRIPTS = {
    AIOHTTP: "import aiohttp",
    "import aiohttp, again (A/A)": "import aiohttp",
    ASYNCIO: "import asyncio",
    PACKAGE: "import asyncio, cmsapi",
    "import aiohttp, attrs, cattrs": "import aiohttp, attrs, cattrs",
    CLIENT: _CLIENT,
    "first Client, its resources and jobs used": f"{_CLIENT}; client.contents, client.jobs",
}


def _cpu_of_a_process(script: str, cache: str) -> float:
    """Return the seconds of CPU that a new interpreter spends on a script, its own start included."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", script], check=True, env={**environment, "PYTHONPYCACHEPREFIX": cache})  # noqa: S603  our own scripts
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(rounds: int) -> dict[str, Any]:
    """Measure each script in processes of its own, in turn; what an empty one takes is subtracted."""
    costs: dict[str, list[float]] = {name: [] for name in SCRIPTS}
    # Compiled once and for all, as an installed package is.
    with tempfile.TemporaryDirectory() as cache:
        for script in SCRIPTS.values():
            _cpu_of_a_process(script, cache)
        for _ in range(rounds):
            empty = _cpu_of_a_process("pass", cache)
            for name, script in SCRIPTS.items():
                costs[name].append(_cpu_of_a_process(script, cache) - empty)
    over = sorted(ours - bare for ours, bare in zip(costs[PACKAGE], costs[ASYNCIO], strict=True))
    return {
        "environment": ENVIRONMENT,
        "rows": [attrs.asdict(row) for row in rows(costs, AIOHTTP).values()],
        "package_over_asyncio": over[len(over) // 2],
    }


def report(figures: dict[str, Any]) -> Report:
    """Show the figures."""
    by_name = {row["name"]: Row(**row) for row in figures["rows"]}
    bars = [
        Bar.at_most("import cmsapi, over import asyncio,", figures["package_over_asyncio"] * 1000, 10, " ms"),
        Bar.at_most("first Client, ratio to import aiohttp,", by_name[CLIENT].ratio, 1.3),
    ]
    head = ["", "ms of CPU", "ratio to import aiohttp", "half of the rounds"]
    lines = f"Measured on {figures['environment']}.\n\n{table(head, [row.cells(1000) for row in by_name.values()])}"
    return Report(f"{lines}\n\n{bar_line(bars)}", f"{lines}\n\n{bar_table(bars)}")


if __name__ == "__main__":
    run("imports", measure, report, rounds=15)
