"""The past states of records, for reads from a replica that lags behind."""

from __future__ import annotations

from bisect import bisect_right
from copy import copy
from operator import attrgetter
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, cast

import attrs

if TYPE_CHECKING:
    from cmsapi.sandbox.world.clock import Clock
    from cmsapi.sandbox.world.jobs import Job, Jobs


class Identified(Protocol):
    """A record with an identifier."""

    id: str


Record = TypeVar("Record", bound=Identified)


@attrs.frozen
class Seen(Generic[Record]):
    """A record as it was at a moment, with the job that ran on it then.

    Args:
        record: The record.
        job: The job, or None.
        at: The moment, in seconds of the sandbox's clock.
    """

    record: Record
    job: Job | None
    at: float


@attrs.frozen
class _PastState:
    """A state that a record had until a moment; without a record it did not exist yet."""

    until: float
    record: Identified | None
    job: Job | None


class History:
    """Keep each past state of a record, as long as a read may show it.

    Args:
        lag: Seconds by which the slowest read is behind.
        clock: The clock.
        jobs: The jobs that run on records.
    """

    def __init__(self, lag: float, clock: Clock, jobs: Jobs) -> None:
        self._lag = lag
        self._clock = clock
        self._jobs = jobs
        self._past: dict[str, list[_PastState]] = {}

    def keep(self, record: Identified, job: Job | None = None) -> None:
        """Keep the state of a record that is about to change.

        Args:
            record: The record.
            job: The job that has ended and changes it; None if it changes now.
        """
        if job is None:
            self._add(record.id, record, self._jobs.running.get(record.id), self._clock.seconds())
        else:
            self._add(record.id, record, job, job.ends_at)

    def keep_absence(self, record: Identified) -> None:
        """Keep that a new record did not exist until now."""
        self._add(record.id, None, None, self._clock.seconds())

    def _add(self, id_: str, record: Identified | None, job: Job | None, until: float) -> None:
        if self._lag > 0:
            states = self._past.setdefault(id_, [])
            del states[: bisect_right(states, until - self._lag, key=attrgetter("until"))]
            states.append(_PastState(until, copy(record), job))

    def present(self, record: Record) -> Seen[Record]:
        """Return a record as it is now."""
        return Seen(record, self._jobs.running.get(record.id), self._clock.seconds())

    def seen(self, record: Record, at: float) -> Seen[Record] | None:
        """Return a record as it was at a moment, in seconds of the clock; None if it did not exist."""
        states = self._past.get(record.id, ())
        place = bisect_right(states, at, key=attrgetter("until"))
        if place == len(states):
            return Seen(record, self._jobs.running.get(record.id), at)
        past = states[place]
        return None if past.record is None else Seen(cast("Record", past.record), past.job, at)
