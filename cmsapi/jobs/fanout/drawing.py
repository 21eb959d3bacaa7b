"""Draw jobs as rows, of a fan-out or of a client: the cells that notebooks, terminals and texts have in common."""

from __future__ import annotations

import asyncio
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from cmsapi.display import markup
from cmsapi.jobs.fanout.progress import ItemState, ItemStatus, Progress
from cmsapi.jobs.job import Job
from cmsapi.jobs.status import Phase, with_word

# What needs a person comes first; what has ended, or has not begun, comes last.
_BY_NEED = (
    ItemState.FAILED,
    ItemState.REVIEW,
    ItemState.RUNNING,
    ItemState.LAUNCHING,
    ItemState.FINISHED,
    ItemState.WAITING,
)
# Columns that a page has no room for.
_WIDE = ("polls",)
# The most characters of a reason.
_REASON = 120
# The columns of a plain text, which has no width of its own.
_PLAIN = ("name", "state", "elapsed", "id")


# States that a progress counts among others.
_COUNTED = {ItemState.REVIEW: ItemState.RUNNING, ItemState.LAUNCHING: ItemState.WAITING}


def row_of(job: Job[Any]) -> ItemStatus:
    """Return the row of a job that is no item of a fan-out."""
    phase = job.tracked.history.phase
    state, error = ItemState.RUNNING, job.exception() if job.done() else None
    if phase is Phase.REVIEW:
        state = ItemState.REVIEW
    elif job.done():
        state = ItemState.FINISHED if error is None else ItemState.FAILED
    label, elapsed = job.name or job.target, job.tracked.elapsed
    return ItemStatus(item=job.target, label=label, state=state, elapsed=elapsed, job=job, error=error)


def in_order(rows: Iterable[ItemStatus]) -> list[ItemStatus]:
    """Sort rows by their states: failed ones first, then running ones."""
    return sorted(rows, key=lambda row: _BY_NEED.index(row.state))


def cells(row: ItemStatus) -> Mapping[str, str]:
    """Return the texts of a row by the titles of their columns, the most important first; sends nothing."""
    job = row.job
    status = None if job is None else job.status
    identifier = str(row.item) if job is None else job.id
    over = row.state in (ItemState.FINISHED, ItemState.FAILED)
    return {
        "name": markup.plain(row.label),
        "state": describe_state(row),
        "reason": "" if row.error is None else _reason(row.error),
        "elapsed": "" if row.elapsed is None else markup.minutes(row.elapsed),
        "expected end": "" if status is None or over else _clock_time(status.eta),
        "next poll": "" if status is None or over else _clock_time(status.next_poll_at) or "none planned",
        # A row without a name is named by its identifier already.
        "id": "" if identifier == row.label else markup.plain(identifier),
        "polls": "" if status is None else str(status.polls),
        "kind": "" if job is None else job.kind.value.replace("_", " "),
    }


def describe_state(row: ItemStatus) -> str:
    """Return the state of a row, with the word that the service has for it where that says more."""
    job = row.job
    if job is None:
        return row.state.value
    more = job.tracked.history.word if row.state is ItemState.RUNNING else job.tracked.history.phase.value
    return with_word(row.state.value, more if row.state in (ItemState.RUNNING, ItemState.FAILED) else None)


def _reason(error: Exception) -> str:
    """Return what an error says first, as far as a table has room for it; the outcome has all of it."""
    first, _, _ = str(error).partition("\n")
    return markup.plain(textwrap.shorten(f"{type(error).__name__}: {first}", _REASON, placeholder=" …"))


def html(title: str, rows: Sequence[ItemStatus], progress: Progress | None = None) -> str:
    """Write rows as a table of a notebook, with the columns that say anything.

    Args:
        title: The title of the table.
        rows: The rows.
        progress: The counts of all items, of which the rows are some; those without a row are counted below.
    """
    texts = [{**cells(row), **_from_now(row)} for row in rows]
    used = [name for name in (texts[0] if texts else ()) if any(each[name] for each in texts)]
    used = [name for name in used if name not in _WIDE]
    if len({each["kind"] for each in texts if each["kind"]}) == 1:
        # A page is narrow, and the jobs of a fan-out are of one kind.
        used.remove("kind")
    table = markup.table(title, used, [[each[name] for name in used] for each in texts])
    rest = "" if progress is None else _rest(rows, progress)
    return f"{table}<p>{markup.text(rest)}</p>" if rest else table


def _from_now(row: ItemStatus) -> dict[str, str]:
    """Return the times of a row from now on: the service's clock may be another one than the reader's."""
    job = row.job
    if job is None or row.state in (ItemState.FINISHED, ItemState.FAILED):
        return {}
    status, clock = job.status, job.tracked.settings.caller.pipeline.clock
    now = clock.datetime_at(asyncio.get_running_loop().time())
    times = {"expected end": status.eta, "next poll": status.next_poll_at}
    return {name: f"in {markup.minutes((at - now).total_seconds())}" for name, at in times.items() if at is not None}


def _rest(rows: Sequence[ItemStatus], progress: Progress) -> str:
    """Count the items that have no row, by their states."""
    shown = Counter(_COUNTED.get(row.state, row.state) for row in rows)
    counts = {
        ItemState.FAILED: progress.failed,
        ItemState.RUNNING: progress.running,
        ItemState.FINISHED: progress.finished - progress.failed,
        ItemState.WAITING: progress.waiting,
    }
    left = {state: count - shown[state] for state, count in counts.items() if count > shown[state]}
    if not left:
        return ""
    return f"… and {sum(left.values()):,} more: {', '.join(f'{count:,} {state}' for state, count in left.items())}"


def lines(rows: Iterable[ItemStatus]) -> list[str]:
    """Write rows as aligned lines of text below their titles."""
    texts = [cells(row) for row in rows]
    table = [list(_PLAIN), *([each[title] for title in _PLAIN] for each in texts)]
    widths = [max(len(line[place]) for line in table) for place in range(len(_PLAIN))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in table]


def _clock_time(moment: datetime | None) -> str:
    return "" if moment is None else moment.astimezone().strftime("%H:%M:%S")
