"""The past states of records, for reads from a replica that lags behind."""

from __future__ import annotations

from bisect import bisect_right
from copy import copy
from operator import attrgetter
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, cast

import attrs

if TYPE_CHECKING:
    from cmsapi.sandbox.world.jobs import Job


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
    """

    def __init__(self, lag: float) -> None:
        self._lag = lag
        self._past: dict[str, list[_PastState]] = {}

    def keep(self, id_: str, record: Identified | None, job: Job | None, at: float) -> None:
        """Keep the state that a record has until now.

        Args:
            id_: Identifier of the record.
            record: The record before its change; None if it is new.
            job: The job that ran on it.
            at: Moment of the change, in seconds of the sandbox's clock.
        """
        if self._lag > 0:
            states = self._past.setdefault(id_, [])
            del states[: bisect_right(states, at - self._lag, key=attrgetter("until"))]
            states.append(_PastState(at, copy(record), job))

    def seen(self, record: Record, job: Job | None, at: float) -> Seen[Record] | None:
        """Return a record as it was at a moment; None if it did not exist.

        Args:
            record: The record as it is now.
            job: The job that runs on it now.
            at: The moment, in seconds of the sandbox's clock.
        """
        states = self._past.get(record.id, ())
        place = bisect_right(states, at, key=attrgetter("until"))
        if place == len(states):
            return Seen(record, job, at)
        past = states[place]
        return None if past.record is None else Seen(cast("Record", past.record), past.job, at)
