"""Draw a credit report. The first plot imports this module, and matplotlib with it."""

from __future__ import annotations

import io
from collections.abc import Mapping
from datetime import date
from typing import Any

from cmsapi.extras import needs

with needs("notebook"):
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator


class Plot(Figure):
    """A figure that a notebook shows, whether pyplot is imported there or not."""

    def _repr_png_(self) -> bytes:
        picture = io.BytesIO()
        self.savefig(picture, format="png")
        return picture.getvalue()


def draw(total: int, by_day: Mapping[date, int], totals: Mapping[str, Mapping[str, int]]) -> Plot:
    """Draw credits per day, and below them one chart for each of two other groupings.

    Args:
        total: Credits in all.
        by_day: Credits of each day.
        totals: Titles of two groupings, each with the credits of its groups.
    """
    figure = Plot(figsize=(10, 6), layout="constrained")
    grid = figure.add_gridspec(2, 2)
    days = figure.add_subplot(grid[0, :])
    locator = AutoDateLocator()  # type: ignore[no-untyped-call]  # it has no types
    dates: Any = list(by_day)
    days.bar(dates, list(by_day.values()))
    days.xaxis.set_major_locator(locator)
    days.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]  # nor has this
    days.yaxis.set_major_locator(MaxNLocator(integer=True))
    days.set(title=f"{total:,} credits", ylabel="credits a day")
    for place, (title, counts) in enumerate(totals.items()):
        axes = figure.add_subplot(grid[1, place])
        # matplotlib reads text between dollar signs as a formula.
        axes.barh([name.replace("$", r"\$") for name in counts], list(counts.values()))
        axes.invert_yaxis()
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set(title=title)
    return figure
