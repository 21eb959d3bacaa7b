"""Show the figures: as Markdown for people, as plain values for JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import attrs

from benchmarks.fanout.bars import bars, mean, ratio
from benchmarks.fanout.measuring import Figures
from benchmarks.fanout.rows import ROWS
from benchmarks.fanout.unlisted import draws
from benchmarks.fanout.work import Outcome
from benchmarks.tables import table

Strategies = Mapping[str, Sequence[Outcome]]

_TITLES = {
    "oracle": "oracle",
    "optimum": "informed optimum",
    "naive": "every 5 to 10 s",
    "exponential": "1, 2, 4, 8, 16, 20, 20, … s",
    "steady": "every 30 s",
    "cold": "cmsapi, cold",
    "warm": "cmsapi, warm",
}
_RATIOS = ("all_in_hand", "turnaround")


def _seconds(value: float) -> str:
    return f"{value:,.0f} s" if value >= 100 else f"{value:.1f} s"


def _ratio(strategies: Strategies, strategy: str, figure: str) -> str:
    best = strategies.get("optimum")
    return "" if best is None else f"{ratio(strategies[strategy], best, figure):.2f}"


def _listed(strategies: Strategies) -> str:
    head = ["strategy", "all in hand", "ratio", "mean turnaround", "ratio", "mean lateness", "in 10 min"]
    head += ["requests a job", "429s"]
    rows = [
        [
            _TITLES[strategy],
            _seconds(mean(outcomes, "all_in_hand")),
            _ratio(strategies, strategy, "all_in_hand"),
            _seconds(mean(outcomes, "turnaround")),
            _ratio(strategies, strategy, "turnaround"),
            _seconds(mean(outcomes, "lateness")),
            f"{mean(outcomes, 'soon'):.0f}",
            f"{mean(outcomes, 'requests'):.2f}",
            f"{sum(outcome.refused for outcome in outcomes)}",
        ]
        for strategy, outcomes in strategies.items()
    ]
    return table(head, rows)


def _unlisted(figures: Figures) -> str:
    shown = [draw for draw in draws() if draw.work.name in figures.batches]
    modes = [mode for mode in ("cold", "warm") if mode in figures.batches[shown[0].work.name]]
    columns = [(mode, figure) for mode in modes for figure in _RATIOS]
    names = {"all_in_hand": "all in hand", "turnaround": "mean turnaround"}
    head = ["durations", "jobs", "optimum: mean turnaround", *(f"{mode}: {names[figure]}" for mode, figure in columns)]
    rows, ratios = [], []
    for draw in shown:
        strategies = figures.batches[draw.work.name]
        best = strategies["optimum"]
        ratios.append([ratio(strategies[mode], best, figure) for mode, figure in columns])
        what = "searches" if draw.work.results else "analyses"
        size = f"{len(draw.work.jobs)} {what}"
        rows.append([draw.told, size, _seconds(mean(best, "turnaround")), *(f"{each:.2f}" for each in ratios[-1])])
    for name, of in (("median", median), ("worst", max)):
        rows.append([name, "", "", *(f"{of(column):.2f}" for column in zip(*ratios, strict=True))])
    return table(head, rows)


def markdown(figures: Figures) -> str:
    """Show all tables."""
    parts = [f"Means of {figures.seeds} seeds. Ratios are those to the informed optimum."]
    for name, strategies in figures.batches.items():
        if name in ROWS:
            parts += [f"**{ROWS[name].title}**", _listed(strategies)]
    if any(name not in ROWS for name in figures.batches):
        parts += ["Work drawn at random; ratios to the informed optimum:", _unlisted(figures)]
    rows = [
        [f"{each.work}; {each.mode}: {each.name}", each.figure, "met" if each.met else "**not met**"]
        for each in bars(figures)
    ]
    parts += ["The bars:", table(["bar", "figure", ""], rows)]
    return "\n\n".join(parts)


def plain(figures: Figures) -> dict[str, Any]:
    """Return everything as plain values."""
    told = {draw.work.name: draw.told for draw in draws() if draw.work.name in figures.batches}
    return {**attrs.asdict(figures), "unlisted": told, "bars": [attrs.asdict(bar) for bar in bars(figures)]}
