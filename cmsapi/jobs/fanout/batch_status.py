"""Tell how far a batch is in all processes of a state, from what the state has; nothing is sent for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import attrs

from cmsapi.display import markup
from cmsapi.jobs.fanout.batch_records import BatchRecord, read_names, read_record
from cmsapi.jobs.fanout.progress import Progress
from cmsapi.jobs.journal.journal import HOOK_ASKED, LaunchJournal
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.jobs.status import in_json
from cmsapi.state.entry import Entry, EntryStatus

#: The fact of an outcome whose job was launched, and paid for, as another item.
JOINED = "joined"

_WITH_JOB = (EntryStatus.RUNNING, EntryStatus.REVIEW)


@attrs.frozen(kw_only=True)
class BatchStatus:
    """Show how far a batch is, in all processes of its state.

    Args:
        name: Its name.
        progress: Its counts, and the credits and requests of all its runs. The forecast is that of the process that
            works on it, and there is none while no process does.
        began_at: When its first run began; None when no run is known.
        worked_at: When a process last worked on it, at most five seconds ago while one does; None as for `began_at`.
        done_at: When a run had seen each item end; None before, also if all jobs have ended meanwhile. An item that was
            refused for itself has ended, without a job; one that was not launched because the state, the credits or the
            requests were not there has not, nor has an article whose `on_review` failed before it decided.
        processes: How many runs work on it now.
    """

    name: str
    progress: Progress
    began_at: datetime | None = None
    worked_at: datetime | None = None
    done_at: datetime | None = None
    processes: int = 0

    @property
    def done(self) -> bool:
        """Whether a run has seen each item end."""
        return self.done_at is not None

    @property
    def active(self) -> bool:
        """Whether a process works on it now; one that was killed counts for another 15 seconds."""
        return self.processes > 0

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as values of JSON: the fields, `done` and `active`; times are texts in ISO 8601."""
        fields = attrs.asdict(self, recurse=False, value_serializer=in_json)
        return {**fields, "progress": self.progress.to_dict(), "done": self.done, "active": self.active}

    def _repr_html_(self) -> str:
        return markup.record(self)


async def read_batch(journal: LaunchJournal, scope: str, name: str, *, recount: bool = False) -> BatchStatus:
    """Read how far a batch is; `recount` counts anew although the counts of its end are written."""
    record = await read_record(journal.state, scope, name)
    if record is not None and recount:
        record = attrs.evolve(record, counts=None)
    if record is not None and record.counts is not None:
        return status_of(name, record, (), (), journal.wall())
    # Before the outcomes: a job that ends between the two reads is then in both, and not in none.
    entries = (await journal.state.entries(scope)).values()
    outcomes = await journal.state.outcomes(scope, batch=name)
    return status_of(name, record, outcomes, entries, journal.wall())


async def read_batches(journal: LaunchJournal, scope: str) -> list[BatchStatus]:
    """Read how far all batches are, the one that was worked on last first."""
    found = [await read_batch(journal, scope, name) for name in await read_names(journal.state, scope)]
    known = [(batch.worked_at, batch) for batch in found if batch.worked_at is not None]
    return [batch for _, batch in sorted(known, key=lambda pair: pair[0], reverse=True)]


def status_of(
    name: str, record: BatchRecord | None, outcomes: Sequence[Entry], entries: Iterable[Entry], now: float
) -> BatchStatus:
    """Work out how far a batch is.

    Args:
        name: Its name.
        record: Its record, if it has one.
        outcomes: How its items ended; not needed once its counts are final.
        entries: Open launches, also of other batches.
        now: The time, in seconds since 1970.
    """
    if record is None:
        if not outcomes:
            return BatchStatus(name=name, progress=Progress())
        record = BatchRecord(began_at=min(entry.asked_at for entry in outcomes), worked_at=_last(outcomes))
    working = record.working(now)
    counts = record.counts if record.counts is not None else _counts(name, record, outcomes, entries)
    waiting = max(0, (record.total or 0) - counts["finished"] - counts["running"])
    left = [max(0.0, at - now) for at in record.ends_at or ()] if working else []
    if record.done_at is not None:
        left = [0.0, 0.0, 0.0]
    progress = Progress(
        **counts,
        waiting=waiting,
        total=record.total,
        stopped=not working and waiting > 0,
        seconds_left=left[0] if left else None,
        seconds_left_range=(left[1], left[2]) if left else None,
        eta=_time(now + left[0]) if left and left[0] else None,
        requests=record.requests,
    )
    return BatchStatus(
        name=name,
        progress=progress,
        began_at=_time(record.began_at),
        worked_at=_time(record.worked_at),
        done_at=None if record.done_at is None else _time(record.done_at),
        processes=len(working),
    )


def counts_of(status: BatchStatus) -> dict[str, int]:
    """Return the counts of a batch that are final when it is done."""
    progress = status.progress
    names = ("finished", "running", "failed", "unknown", "credits")
    return {name: getattr(progress, name) for name in names}


def paid(entries: Iterable[Entry]) -> int:
    """Return the credits that launches have certainly cost."""
    return sum(
        1
        for entry in entries
        if (kind := KINDS.get(entry.kind)) is not None
        and kind.balance is not None
        and (entry.over or entry.status in _WITH_JOB)
        and entry.status != EntryStatus.UNKNOWN
        and JOINED not in entry.facts
    )


def _counts(name: str, record: BatchRecord, outcomes: Sequence[Entry], entries: Iterable[Entry]) -> dict[str, int]:
    ended = {entry.item for entry in outcomes}
    with_job = [each for each in entries if each.batch == name and each.status in _WITH_JOB and each.item not in ended]
    # The job of an item ends for its caller when its article waits for a decision, unless `on_review` was to decide.
    reviews = sum(entry.status == EntryStatus.REVIEW and HOOK_ASKED not in entry.facts for entry in with_job)
    return {
        "finished": len(ended) + reviews + record.refused,
        "running": len(with_job) - reviews,
        "failed": sum(entry.status != EntryStatus.SUCCEEDED for entry in outcomes) + record.refused,
        "unknown": sum(entry.status == EntryStatus.UNKNOWN for entry in outcomes),
        "credits": record.credits + paid([*outcomes, *with_job]),
    }


def _last(outcomes: Sequence[Entry]) -> float:
    return max(entry.ended_at or entry.asked_at for entry in outcomes)


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
