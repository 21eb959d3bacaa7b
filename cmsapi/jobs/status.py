"""Snapshots of a job, and the events that its listeners get."""

from __future__ import annotations

import enum
from datetime import datetime
from typing import Any, TypeAlias

import attrs

from cmsapi.display import markup


class Phase(enum.StrEnum):
    """Name the phases of a job, whatever words the service has for them.

    `LAUNCHING` is for work that is being sent; a `Job` exists only after that, so no job shows it.
    """

    LAUNCHING = "launching"
    RUNNING = "running"
    REVIEW = "review"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SUPERSEDED = "superseded"
    VANISHED = "vanished"
    UNKNOWN = "unknown"


@attrs.frozen(kw_only=True)
class JobStatus:
    """Show a job as the last poll left it. Times are the service's, as far as its clock is known.

    Args:
        state: The service's own word, or None.
        phase: Where the job stands.
        done: Whether the job is finished, with a result or an error.
        since: When the phase began, as far as polls can tell.
        observed_at: When the job was last observed, or None.
        polls: Polls so far.
        next_poll_at: When it is polled next, or None when it has no waiters.
        why_next: The reason for that time, in words.
        elapsed: Seconds since the launch, or since the watch began.
        eta: When it is expected to end, or None when that is not known.
    """

    state: str | None
    phase: Phase
    done: bool
    since: datetime
    observed_at: datetime | None
    polls: int
    next_poll_at: datetime | None
    why_next: str
    elapsed: float
    eta: datetime | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as values of JSON; times are texts in ISO 8601."""
        return attrs.asdict(self, value_serializer=in_json)

    def _repr_html_(self) -> str:
        return markup.facts("Job status", described(self))


def in_json(instance: object, field: object, value: Any) -> Any:
    """Return the value of a field as JSON has it: a time as a text in ISO 8601; for `attrs.asdict`."""
    return value.isoformat() if isinstance(value, datetime) else value


def with_word(state: str, word: str | None) -> str:
    """Return a state in words, with the service's own word where that says more."""
    return state if word in (None, state) else f"{state} ({markup.plain(str(word))})"


def described(status: JobStatus) -> list[tuple[str, object]]:
    """Return the rows of a table that describes a job; times are of the zone of this machine."""
    word = status.state if status.phase in (Phase.RUNNING, Phase.FAILED, Phase.UNKNOWN) else None
    at = None if status.observed_at is None else markup.brief(status.observed_at.astimezone())
    rows: list[tuple[str, object]] = [
        ("state", with_word(status.phase.value, word)),
        ("elapsed", markup.minutes(status.elapsed)),
        ("polls", str(status.polls) if at is None else f"{status.polls}, the last one at {at}"),
    ]
    if not status.done:
        end, poll = status.eta, status.next_poll_at
        rows.append(("expected end", "not known yet" if end is None else end.astimezone()))
        planned = "none planned" if poll is None else markup.brief(poll.astimezone())
        rows.append(("next poll", f"{planned}: {status.why_next}"))
    return rows


@attrs.frozen
class Observed:
    """Report a poll that succeeded.

    Args:
        status: The job after the poll.
        changed: Whether the state or the phase differs from the one before.
    """

    status: JobStatus
    changed: bool


@attrs.frozen
class PollFailed:
    """Report a poll that failed; that says nothing about the job, and the next poll comes as usual.

    Args:
        status: The job as it was last observed.
        error: Why the poll failed.
    """

    status: JobStatus
    error: Exception


@attrs.frozen
class Finished:
    """Report that the job is finished; it is the last event.

    Args:
        status: The job at its end.
        error: The error that its waiters get, or None when they get a result.
    """

    status: JobStatus
    error: Exception | None


JobEvent: TypeAlias = Observed | PollFailed | Finished
