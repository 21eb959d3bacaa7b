"""Draw jobs as rows, of a fan-out or of a client: the cells that notebooks, terminals and texts have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from cmsapi.display import markup
from cmsapi.jobs.fanout.progress import ItemState, ItemStatus
from cmsapi.jobs.job import Job
from cmsapi.jobs.status import Phase, with_word

_ORDER = {state: place for place, state in enumerate(ItemState)}
_TIMES = ("expected end", "next poll")
# The columns of a plain text, which has no width of its own.
_PLAIN = ("name", "state", "elapsed", "id")


def row_of(job: Job[Any]) -> ItemStatus:
    """Return the row of a job that is no item of a fan-out."""
    phase = job.tracked.history.phase
    state = ItemState.RUNNING
    if phase is Phase.REVIEW:
        state = ItemState.REVIEW
    elif job.done():
        state = ItemState.FINISHED if job.exception() is None else ItemState.FAILED
    return ItemStatus(item=job.target, label=job.name or job.target, state=state, elapsed=job.tracked.elapsed, job=job)


def in_order(rows: Iterable[ItemStatus]) -> list[ItemStatus]:
    """Sort rows by their states, in the order in which an item goes through them."""
    return sorted(rows, key=lambda row: _ORDER[row.state])


def cells(row: ItemStatus) -> Mapping[str, str]:
    """Return the texts of a row by the titles of their columns, the most important first; sends nothing."""
    job = row.job
    status = None if job is None else job.status
    identifier = str(row.item) if job is None else job.id
    over = row.state in (ItemState.FINISHED, ItemState.FAILED)
    return {
        "name": markup.plain(row.label),
        "state": describe_state(row),
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


def html(title: str, rows: Sequence[ItemStatus]) -> str:
    """Write rows as a table of a notebook, with the columns that say anything."""
    texts = [cells(row) for row in rows]
    used = [name for name in (texts[0] if texts else ()) if any(each[name] for each in texts)]
    if len({each["kind"] for each in texts if each["kind"]}) == 1:
        # A page is narrow, and the jobs of a fan-out are of one kind.
        used.remove("kind")
    # The kernel of a notebook may run in another zone than its reader lives in.
    zone = datetime.now().astimezone().tzname()
    titles = [f"{name} ({zone})" if name in _TIMES else name for name in used]
    return markup.table(title, titles, [[each[name] for name in used] for each in texts])


def lines(rows: Iterable[ItemStatus]) -> list[str]:
    """Write rows as aligned lines of text below their titles."""
    texts = [cells(row) for row in rows]
    table = [list(_PLAIN), *([each[title] for title in _PLAIN] for each in texts)]
    widths = [max(len(line[place]) for line in table) for place in range(len(_PLAIN))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in table]


def _clock_time(moment: datetime | None) -> str:
    return "" if moment is None else moment.astimezone().strftime("%H:%M:%S")
