"""Keep what other processes need to know of a batch: how many items it has, and who works on it.

How its items ended, and which of them run, stands in the outcomes and in the entries of the journal. Each batch has a
small document besides, and one document names all batches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import attrs
from attrs.validators import deep_iterable, deep_mapping, instance_of, optional

from cmsapi.state.store import State

_NAMES = "batches"
# Seconds without a word after which a run counts as gone; each run writes in a third of that.
_GONE_AFTER = 15.0
#: Seconds between two writes of a run.
WRITTEN_EVERY = _GONE_AFTER / 3

_number = instance_of((int, float))
_count = instance_of(int)


@attrs.frozen(kw_only=True)
class BatchRecord:
    """Say of a batch what its outcomes and open launches do not say.

    Args:
        began_at: When its first run began, in seconds since 1970.
        worked_at: When a run last wrote here.
        total: The items of its newest run, and those that had ended or ran already; None when no run is known.
        workers: The runs that work on it, and when each wrote last.
        refused: Items of the newest run that ended without a job.
        credits: Credits that items have cost whose outcomes were forgotten, because they are launched again.
        forgotten: How often outcomes were forgotten; a run that works on it must not take these for lost.
        requests: Requests of all runs.
        ends_at: When its end is expected: about, at the earliest and at the latest; None while that is not known.
        done_at: When each item had ended; None before.
        counts: Its counts at that time, which are final until a run has something to do again.
        telling: The run that calls `on_done`, or None.
        told_at: When `on_done` had been called; None before.
    """

    began_at: float = attrs.field(validator=_number)
    worked_at: float = attrs.field(validator=_number)
    total: int | None = attrs.field(default=None, validator=optional(_count))
    workers: Mapping[str, float] = attrs.field(
        factory=dict, validator=deep_mapping(instance_of(str), _number, instance_of(dict))
    )
    refused: int = attrs.field(default=0, validator=_count)
    credits: int = attrs.field(default=0, validator=_count)
    forgotten: int = attrs.field(default=0, validator=_count)
    requests: int = attrs.field(default=0, validator=_count)
    ends_at: Sequence[float] | None = attrs.field(
        default=None, validator=optional(deep_iterable(_number, instance_of(list)))
    )
    done_at: float | None = attrs.field(default=None, validator=optional(_number))
    counts: Mapping[str, int] | None = attrs.field(
        default=None, validator=optional(deep_mapping(instance_of(str), _count, instance_of(dict)))
    )
    telling: str | None = attrs.field(default=None, validator=optional(instance_of(str)))
    told_at: float | None = attrs.field(default=None, validator=optional(_number))

    def working(self, now: float) -> dict[str, float]:
        """Return the runs that work on it, without those that were not heard of for too long."""
        return {run: at for run, at in self.workers.items() if now - at < _GONE_AFTER}

    def reopened(self) -> BatchRecord:
        """Return it as that of a batch that has something to do again."""
        return attrs.evolve(self, done_at=None, counts=None, telling=None, told_at=None)

    def without_ends(self) -> BatchRecord:
        """Return it as that of a batch of which outcomes were forgotten."""
        return attrs.evolve(self.reopened(), forgotten=self.forgotten + 1)


#: Makes the new record of the one that stands.
Change: TypeAlias = Callable[[BatchRecord | None], BatchRecord | None]


async def read_names(state: State, scope: str) -> list[str]:
    """Return the names of all batches."""
    return _names(await state.get_document(scope, _NAMES))


async def list_name(state: State, scope: str, name: str, *, there: bool) -> None:
    """Have the name of a batch among all names, or not."""
    while True:
        stands = await state.get_document(scope, _NAMES)
        names = set(_names(stands))
        if (name in names) is there:
            return
        wanted = sorted(names | {name} if there else names - {name})
        if await state.compare_and_set(scope, _NAMES, stands, wanted) == wanted:
            return


async def read_record(state: State, scope: str, name: str) -> BatchRecord | None:
    """Return the record of a batch, or None when there is none."""
    return _record(await state.get_document(scope, _document(name)))


async def change_record(state: State, scope: str, name: str, change: Change) -> BatchRecord | None:
    """Put another record in the place of the one that stands, and return it; None deletes it."""
    while True:
        stands = await state.get_document(scope, _document(name))
        record = change(_record(stands))
        written = None if record is None else attrs.asdict(record)
        if await state.compare_and_set(scope, _document(name), stands, written) == written:
            return record


def _document(name: str) -> str:
    return f"batch {name}"


def _names(document: Any) -> list[str]:
    return [name for name in document if isinstance(name, str)] if isinstance(document, list) else []


def _record(document: Any) -> BatchRecord | None:
    """Read a document, and ignore what something else has written."""
    try:
        return BatchRecord(**document)
    except (TypeError, ValueError):
        return None
