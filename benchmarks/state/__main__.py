"""Run the benchmark: `python -m benchmarks.state [--json] [--seconds N] [--update PAGE]`."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import tempfile
from pathlib import Path
from typing import Any

import attrs

from benchmarks.state.cost import on_postgres, on_redis, on_sqlite
from benchmarks.state.saturation import Saturation, saturate
from benchmarks.tables import Report, table
from tests.support.postgres import running_postgres, why_no_postgres
from tests.support.servers import running_server, server_binary


async def measure(seconds: float) -> dict[str, Any]:
    """Measure on SQLite, and on a server where there is one."""
    costs: dict[str, dict[str, float]] = {}
    runs: dict[str, Saturation] = {}
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        costs["SQLite"] = await on_sqlite(place)
        await saturations(f"sqlite:///{place}/%s.db", "SQLite", seconds, runs)
    if server_binary() is not None:
        with tempfile.TemporaryDirectory() as directory, running_server(Path(directory), "--save", "") as server:
            costs["Redis"] = await on_redis(server.url)
            await saturations(server.url[:-1] + "%s", "Redis", seconds, runs)
    if why_no_postgres() is None:
        # With `fsync`, as it is used; each run gets a database, and with that a state of its own.
        with running_postgres("-c", "fsync=on") as postgres:
            costs["Postgres"] = await on_postgres(postgres.url)
            for number in (1, 2, 3):
                postgres.create(f"state{number}")
            await saturations(postgres.url.replace("/postgres", "/state%s"), "Postgres", seconds, runs)
    return {"costs": costs, "runs": runs}


async def saturations(url: str, store: str, seconds: float, runs: dict[str, Saturation]) -> None:
    """Run everything that saturates, each on a state of its own."""
    runs[f"{store}: burst, no delay"] = await saturate(url % 1, seconds, 100_000)
    runs[f"{store}: burst, 20 to 200 ms each way"] = await saturate(url % 2, seconds, 100_000, (0.02, 0.2))
    runs[f"{store}: the thousand"] = await saturate(url % 3, 75.0, 1000)


def report(figures: dict[str, Any]) -> Report:
    """Show the four processes, and in the details what each operation costs."""
    parts = [
        f"Measured on {platform.python_implementation()} {platform.python_version()}, {os.cpu_count()} processors."
    ]
    for store, costs in figures["costs"].items():
        base, unit = next(iter(costs.items()))
        flushed = costs.get("bare transaction, flushed")
        rows = [
            [name, f"{cost:.0f}", f"{cost / unit:.2f}", *([f"{cost / flushed:.2f}"] if flushed else [])]
            for name, cost in costs.items()
        ]
        head = [store, "µs", f"ratio to {base}", *(["ratio to one that is flushed"] if flushed else [])]
        parts.append(table(head, rows))
    head = [
        "four processes",
        "429s",
        "requests",
        "a second",
        "of the rate possible",
        "by process",
        "takes a request",
    ]
    rows = [
        [
            name,
            str(run.refused),
            f"{run.requests:,}",
            f"{run.requests / run.seconds:.2f}",
            f"{run.requests / run.seconds / run.possible:.0%}",
            " · ".join(str(each) for each in run.by_process),
            f"{run.takes / run.requests:.2f}",
        ]
        for name, run in figures["runs"].items()
    ]
    together = table(head, rows)
    shown = [[each[0], each[1], *each[3:5]] for each in (head, *rows)]
    return Report(f"{parts[0]}\n\n{table(shown[0], shown[1:])}", "\n\n".join([*parts, together]))


def main() -> None:
    """Measure, and print or write down what was measured."""
    parser = argparse.ArgumentParser(prog="benchmarks.state", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON instead of Markdown")
    parser.add_argument("--seconds", type=float, default=60.0, help="length of the runs that saturate the burst")
    parser.add_argument("--update", type=Path, metavar="PAGE", help="replace the section `state` of a Markdown page")
    options = parser.parse_args()
    figures = asyncio.run(measure(options.seconds))
    if options.update is not None:
        report(figures).write(options.update, "state")
    print(json.dumps(figures, default=attrs.asdict, indent=2) if options.json else report(figures).details)


if __name__ == "__main__":
    main()
