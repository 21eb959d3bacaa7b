"""Show the figures: as Markdown for people, as plain values for JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from benchmarks.fanout.rows import ROWS
from benchmarks.fanout.work import Outcome
from benchmarks.tables import table

Figures = Mapping[str, Mapping[str, Sequence[Outcome]]]

_TITLES = {
    "oracle": "oracle that knows each duration",
    "optimum": "informed optimum",
    "naive": "every 5 to 10 s",
    "exponential": "after 1, 2, 4, 8, 16, then every 20 s",
    "steady": "every 30 s",
    "cold": "cmsapi, cold",
    "warm": "cmsapi, warm",
}


def mean(outcomes: Sequence[Outcome], figure: str) -> float:
    """Return the mean of a figure over the seeds."""
    return fmean(getattr(outcome, figure) for outcome in outcomes)


def _seconds(value: float) -> str:
    return f"{value:,.0f} s" if value >= 100 else f"{value:.1f} s"


def _rows(name: str, strategies: Mapping[str, Sequence[Outcome]]) -> list[list[str]]:
    best = strategies.get(ROWS[name].cold.against) or next(iter(strategies.values()))
    rows = []
    for strategy, outcomes in strategies.items():
        ratios = [mean(outcomes, figure) / mean(best, figure) for figure in ("all_in_hand", "turnaround")]
        rows.append(
            [
                _TITLES[strategy],
                _seconds(mean(outcomes, "all_in_hand")),
                f"{ratios[0]:.2f}",
                _seconds(mean(outcomes, "turnaround")),
                f"{ratios[1]:.2f}",
                _seconds(mean(outcomes, "lateness")),
                f"{mean(outcomes, 'soon'):.0f}",
                f"{mean(outcomes, 'requests'):.2f}",
                str(sum(outcome.refused for outcome in outcomes)),
            ]
        )
    return rows


def markdown(figures: Figures) -> str:
    """Show all tables."""
    head = ["strategy", "all in hand", "ratio", "mean turnaround", "ratio", "mean lateness", "in 10 min"]
    head += ["requests a job", "429s"]
    parts = []
    for name, strategies in figures.items():
        parts += [f"**{ROWS[name].title}**", table(head, _rows(name, strategies))]
    return "\n\n".join(parts)
