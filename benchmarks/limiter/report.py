"""Show the figures: as Markdown for people, as plain values for JSON."""

from __future__ import annotations

import math
from typing import Any

import attrs

from benchmarks.bars import bar_line, bar_table
from benchmarks.limiter.bars import bars
from benchmarks.limiter.measuring import HARDSHIPS, SEEDS, Figures, ratio
from benchmarks.tables import Report, table


def _seconds(value: float | None) -> str:
    if value is None or value == math.inf:
        return "never"
    return f"{value:,.2f} s" if value < 10 else f"{value:,.1f} s"


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _main(figures: Figures) -> str:
    head = ["limiter", "429s", "accepted of 2,000", "the same if 429s count", "t(20)", "t(1000)"]
    head += ["cost of a turn", "turns lost", "FIFO inversions"]
    rows = [
        [
            row.title,
            f"{row.outcome.refused:,}",
            f"{row.outcome.accepted:,}",
            f"{row.strict:,}",
            _seconds(row.outcome.t20),
            _seconds(row.outcome.t1000),
            _ratio(row.ratio),
            str(row.lost),
            f"{row.outcome.inversions:,}",
        ]
        for row in figures.rows
    ]
    return table(head, rows)


def _hardships(figures: Figures) -> str:
    rows = []
    for name, modes in figures.hardships.items():
        for mode, outcomes in modes.items():
            rows.append(
                [
                    f"{HARDSHIPS[name].title}; {mode.partition(', ')[2]}",
                    " · ".join(str(outcome.refused) for outcome in outcomes),
                    f"{min(outcome.accepted for outcome in outcomes):,}",
                    _seconds(max(outcome.t1000 or math.inf for outcome in outcomes)),
                    _seconds(max(outcome.longest_gap for outcome in outcomes)) if HARDSHIPS[name].silent else "",
                ]
            )
    return table(["run", "429s by seed", "accepted", "t(1000)", "longest gap"], rows)


def _cost(figures: Figures) -> str:
    rows = [
        [name, f"{value:.2f}", _ratio(ratio(figures.microseconds, name))]
        for name, value in figures.microseconds.items()
    ]
    return table(["limiter", "µs a turn", "ratio to one aiolimiter acquire"], rows)


def report(figures: Figures) -> Report:
    """Show the limiters next to each other, and all tables in the details."""
    parts = [
        f"Measured on {figures.environment}.",
        _main(figures),
        f"Ours when it is hard; {SEEDS} seeds, of which the worst is shown:",
        _hardships(figures),
        "One turn without contention, acknowledgement included:",
        _cost(figures),
        "The bars; several figures are those of the seeds:",
        bar_table(bars(figures)),
    ]
    if figures.missing:
        parts.insert(1, f"Not installed, hence not measured: {'; '.join(figures.missing)}.")
    shown = [parts[0], _main(figures), bar_line(bars(figures))]
    return Report("\n\n".join(shown), "\n\n".join(parts))


def plain(figures: Figures) -> dict[str, Any]:
    """Return everything as plain values."""
    return {**attrs.asdict(figures), "bars": [attrs.asdict(bar) for bar in bars(figures)]}
