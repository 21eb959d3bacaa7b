"""The drawing of a credit report. It is loaded, and matplotlib with it, when somebody asks for a plot."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from cmsapi.extras import needs

with needs("notebook"):
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

if TYPE_CHECKING:
    from cmsapi.resources.credit_report import CreditReport


class Plot(Figure):
    """A figure that a notebook shows, whether or not somebody has imported pyplot there."""

    def _repr_png_(self) -> bytes:
        picture = io.BytesIO()
        self.savefig(picture, format="png")
        return picture.getvalue()


def draw(report: CreditReport) -> Plot:
    """Draw credits per day, type and workspace."""
    figure = Plot(figsize=(10, 6), layout="constrained")
    grid = figure.add_gridspec(2, 2)
    by_day = figure.add_subplot(grid[0, :])
    locator = AutoDateLocator()  # type: ignore[no-untyped-call]  # it has no types
    days: Any = list(report.by_day)
    by_day.bar(days, list(report.by_day.values()))
    by_day.xaxis.set_major_locator(locator)
    by_day.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]  # nor has this
    by_day.yaxis.set_major_locator(MaxNLocator(integer=True))
    by_day.set(title=f"{report.total:,} credits", ylabel="credits a day")
    for place, (title, counts) in enumerate([("by type", report.by_type), ("by workspace", report.by_workspace)]):
        axes = figure.add_subplot(grid[1, place])
        # Service text is no formula, whatever dollar signs it has.
        axes.barh([name.replace("$", r"\$") for name in counts], list(counts.values()))
        axes.invert_yaxis()
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set(title=title)
    return figure
