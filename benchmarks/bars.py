"""A bar, and what was reached."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from benchmarks.tables import table

#: The most bars that a page names because they are not met.
_NAMED = 4


@attrs.frozen
class Bar:
    """Compare a figure with its bar.

    Args:
        name: What has to be reached.
        figure: What was.
        met: Whether that suffices.
    """

    name: str
    figure: str
    met: bool

    @classmethod
    def at_most(cls, name: str, figure: float, bar: float, unit: str = "") -> Bar:
        """Return a bar that a figure must not exceed."""
        return cls(f"{name} ≤ {bar:g}{unit}", f"{figure:.2f}{unit}", figure <= bar)


def bar_line(bars: Iterable[Bar]) -> str:
    """Say how many bars are met, and name the others where they are few."""
    bars = list(bars)
    missed = [f"{bar.name}: {bar.figure}" for bar in bars if not bar.met]
    count = f"{len(bars) - len(missed)} of {len(bars)} bars are met"
    if len(missed) > _NAMED:
        return f"{count}; the file names those that are not."
    return f"{count}. Not met: {'; '.join(missed)}." if missed else f"{count}."


def bar_table(bars: Iterable[Bar]) -> str:
    """Show bars."""
    return table(["bar", "figure", ""], [[bar.name, bar.figure, "met" if bar.met else "**not met**"] for bar in bars])
