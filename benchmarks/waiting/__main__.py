"""Run the benchmark: `python -m benchmarks.waiting [--json] [--rounds N] [--update PAGE]`."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import attrs

from benchmarks.bars import Bar, bar_line, bar_table
from benchmarks.command import run
from benchmarks.rounds import ENVIRONMENT, Row, rows
from benchmarks.tables import Report, table
from benchmarks.waiting.contestants import CONTESTANTS, OURS, PACER, TASK

JOBS = 50_000
_SECONDS = 6
_FIGURES = {
    "bytes": "bytes a job",
    "creation": "creation, µs",
    "poll": "CPU a poll, µs",
    "cancellation": "cancellation, µs",
    "lag": "lag p99, ms",
}
_FEW = 100
_SCALES = {"bytes": 1.0, "lag": 1e3}


def _worker(name: str, seconds: float) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.waiting.worker", name, str(JOBS), str(seconds)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)  # noqa: S603  our own module
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def measure(rounds: int) -> dict[str, Any]:
    """Measure each way in processes of its own, in turn."""
    measured = [{name: {**_worker(name, 0), **_worker(name, _SECONDS)} for name in CONTESTANTS} for _ in range(rounds)]
    by_figure: dict[str, Any] = {}
    for figure in _FIGURES:
        costs = {name: [each[name][figure] for each in measured] for name in CONTESTANTS}
        by_figure[figure] = {name: attrs.asdict(row) for name, row in rows(costs, TASK).items()}
    means = {
        figure: {name: sum(each[name][figure] for each in measured) / rounds for name in CONTESTANTS}
        for figure in ("polls", "busy")
    }
    return {"environment": ENVIRONMENT, "jobs": JOBS, **means, "rows": by_figure}


def report(figures: dict[str, Any]) -> Report:
    """Show the figures."""
    by_figure = {figure: {name: Row(**row) for name, row in of.items()} for figure, of in figures["rows"].items()}
    lines = []
    for name in CONTESTANTS:
        polls = figures["polls"][name]
        cells = [name, f"{polls:,.0f}", f"{figures['busy'][name]:.1%}"]
        for figure, of in by_figure.items():
            row, scale = of[name], _SCALES.get(figure, 1e6)
            if figure == "poll" and polls < _FEW:
                # The probe of the lag takes as much.
                cells.append("")
            else:
                cells.append(f"{row.cost * scale:,.0f}" if figure == "bytes" else f"{row.cost * scale:.1f}")
        spread = by_figure["creation"][name]
        lines.append([*cells, f"{spread.low:.2f} to {spread.high:.2f}"])
    head = [
        "",
        "polls a second",
        "CPU of a second",
        *_FIGURES.values(),
        "creation, ratio to a task, half of the rounds",
    ]

    def cost(figure: str, name: str) -> float:
        return by_figure[figure][name].cost * _SCALES.get(figure, 1e6)

    bars = [
        Bar.at_most("a waiting job, its awaiter included,", cost("bytes", OURS), 2500, " bytes"),
        Bar.at_most("the schedule's CPU a poll", cost("poll", PACER), 10, " µs"),
        Bar.at_most("event loop lag p99, within the limits,", cost("lag", OURS), 5, " ms"),
        Bar.at_most("event loop lag p99, without limits,", cost("lag", PACER), 5, " ms"),
        Bar.at_most("creation, its awaiter included,", cost("creation", OURS), 15, " µs"),
        Bar.at_most("cancellation, its awaiter included,", cost("cancellation", OURS), 5, " µs"),
    ]
    shown = [[each[0], *each[3:8]] for each in (head, *lines)]
    title = f"Measured on {figures['environment']}; {figures['jobs']:,} jobs that wait."
    return Report(
        f"{title}\n\n{table(shown[0], shown[1:])}\n\n{bar_line(bars)}",
        f"{title}\n\n{table(head, lines)}\n\n{bar_table(bars)}",
    )


if __name__ == "__main__":
    run("waiting", measure, report, rounds=3)
