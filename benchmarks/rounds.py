"""Measure several things in turn, and compare each round with what stood beside it.

The machine is shared, so that the same work takes half as long again from one second to the next. Only ratios within a
round are worth something, and of those the median. The baseline is measured a second time in each round (A/A): by how
much that ratio differs from 1 is what a ratio may be wrong by.
"""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Mapping, Sequence

import attrs

ENVIRONMENT = f"{platform.python_implementation()} {platform.python_version()}, {os.cpu_count()} processors"


@attrs.frozen
class Row:
    """Show one of the things measured.

    Args:
        name: What it is.
        cost: Its median.
        ratio: Median of its ratios to the baseline, round by round.
        low: The ratio below which a quarter of the rounds are.
        high: The ratio above which a quarter of the rounds are.
    """

    name: str
    cost: float
    ratio: float
    low: float
    high: float

    def cells(self, scale: float, digits: int = 1) -> list[str]:
        """Return the cells of its line in a table."""
        return [self.name, f"{self.cost * scale:.{digits}f}", f"{self.ratio:.2f}", f"{self.low:.2f} to {self.high:.2f}"]


def rows(costs: Mapping[str, Sequence[float]], baseline: str) -> dict[str, Row]:
    """Compare with the baseline, round by round.

    Args:
        costs: The costs of all rounds, by name; at least two rounds.
        baseline: Name of what the others are compared with.
    """
    made = {}
    for name, each in costs.items():
        ratios = [cost / base for cost, base in zip(each, costs[baseline], strict=True)]
        low, _, high = statistics.quantiles(ratios, n=4, method="inclusive")
        made[name] = Row(name, statistics.median(each), statistics.median(ratios), low, high)
    return made
