"""Measurements taken in turns, and a table of their medians with ratios to the first row."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping


def take_turns(contestants: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Measure each contestant once per round, so that a slow moment affects all alike; return figures by name."""
    figures: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, measure in contestants.items():
            figures[name].append(measure())
    return figures


def show(title: str, unit: str, figures: Mapping[str, list[float]]) -> None:
    """Print a table: the minimum and median of each row, and the ratio of its median to the first row's."""
    base = statistics.median(next(iter(figures.values())))
    print(f"\n{title}\n{'':44}{'minimum':>10}{'median':>10}{'ratio':>8}   ({unit})")
    for name, values in figures.items():
        median = statistics.median(values)
        print(f"{name:44}{min(values):10.1f}{median:10.1f}{median / base:8.2f}")
