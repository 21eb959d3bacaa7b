"""Credit usages added up: per type, day and workspace."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

import attrs

from cmsapi.api.model import OpenEnum
from cmsapi.api.models.credit_usage import CreditUsage
from cmsapi.display import markup
from cmsapi.display.frames import DataFrame, frame

# Days beyond this are listed only where something was spent: an entry with a strange date must not make a million.
_LONGEST_CALENDAR = 3660


@attrs.frozen
class CreditReport:
    """Show what credits were spent on.

    The specification does not say which sign `amount` has. Here spending is positive: when the amounts add up to less
    than nothing, all of them are turned around.

    Args:
        entries: The usages, newest first.
        since: Beginning of the time that was asked for, or None for all there is.
        until: Its end, or None for now.
    """

    entries: tuple[CreditUsage, ...] = attrs.field(repr=lambda entries: f"<{len(entries)} entries>")
    since: datetime | None = None
    until: datetime | None = None

    @property
    def total(self) -> int:
        """Credits of all types."""
        return abs(sum(usage.amount or 0 for usage in self.entries))

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of what each row has."""
        return tuple(_FIELDS)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The entries as flat rows, newest first, for tables and files."""
        return [_row(usage) for usage in self.entries]

    @property
    def by_type(self) -> Mapping[str, int]:
        """Credits of each type, most first."""
        return self._most_first(lambda row: str(row["type"]))

    @property
    def by_workspace(self) -> Mapping[str, int]:
        """Credits of each workspace by its name, most first; workspaces of one name are told apart by their ids."""
        names = {row["workspace_id"]: row["workspace"] for row in self.rows}
        repeated = Counter(names.values())

        def name(row: dict[str, Any]) -> str:
            alone = repeated[row["workspace"]] == 1
            return str(row["workspace"]) if alone else f"{row['workspace']} ({row['workspace_id']})"

        return self._most_first(name)

    @property
    def by_day(self) -> Mapping[date, int]:
        """Credits of each day of UTC from the first to the last that has any, the days between included."""
        spent = self._added(lambda row: row["created_at"] and row["created_at"].astimezone(UTC).date())
        days = sorted(day for day in spent if day is not None)
        if not days:
            return {}
        span = (days[-1] - days[0]).days
        if span > _LONGEST_CALENDAR:
            return {day: spent[day] for day in days}
        return {day: spent[day] for day in (days[0] + timedelta(after) for after in range(span + 1))}

    def to_pandas(self) -> DataFrame:
        """Return the entries as a `pandas.DataFrame`, one row each; needs the extra `notebook`."""
        return frame(self.entries, CreditUsage)

    def plot(self) -> Any:
        """Draw credits per day, type and workspace; return the `matplotlib.figure.Figure`. Needs the extra `notebook`.

        It belongs to no window and changes no global state: a notebook shows it, `savefig` writes it to a file. Drawing
        takes a moment, during which the event loop stands still; a service draws in a thread.
        """
        from cmsapi.resources.credit_plot import draw

        return draw(self.total, self.by_day, {"by type": self.by_type, "by workspace": self.by_workspace})

    def _most_first(self, key: Callable[[dict[str, Any]], str]) -> dict[str, int]:
        return dict(sorted(self._added(key).items(), key=lambda pair: (-pair[1], pair[0])))

    def _added(self, key: Callable[[dict[str, Any]], Any]) -> Counter[Any]:
        rows = self.rows
        sign = -1 if sum(row["amount"] or 0 for row in rows) < 0 else 1
        spent: Counter[Any] = Counter()
        for row in rows:
            spent[key(row)] += sign * (row["amount"] or 0)
        return spent

    def _repr_html_(self) -> str:
        days = {day: count for day, count in self.by_day.items() if count}
        tables = (
            markup.table("", ["type", "credits"], list(self.by_type.items())),
            markup.table("", ["day", "credits"], list(days.items())),
            markup.table("", ["workspace", "credits"], list(self.by_workspace.items())),
        )
        return markup.paragraphs(f"{self.total:,} credits", [f"{len(self.entries)} usages"]) + "".join(tables)


# Any field of an answer but its id may turn out to be null.
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "id": ("id",),
    "created_at": ("created_at",),
    "type": ("type",),
    "amount": ("amount",),
    "remaining_credits": ("remaining_credits",),
    "keyword": ("keyword", "keyword"),
    "workspace": ("workspace", "name"),
    "workspace_id": ("workspace", "id"),
    "first_name": ("user", "first_name"),
    "last_name": ("user", "last_name"),
}


def _row(usage: CreditUsage) -> dict[str, Any]:
    return {name: functools.reduce(_inside, path, usage) for name, path in _FIELDS.items()}


def _inside(thing: Any, name: str) -> Any:
    value = None if thing is None else getattr(thing, name)
    return str(value) if isinstance(value, OpenEnum) else value
