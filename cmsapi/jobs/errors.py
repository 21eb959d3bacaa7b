"""Errors of launches that may have happened, and of items of a batch that ended without a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cmsapi.display import markup
from cmsapi.errors import JobError, JobFailedError, LaunchUnknownError
from cmsapi.jobs.kinds.kind import Kind
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.state.entry import Entry, EntryStatus

#: The fact, and the evidence, that the service has named a launch by something that is no identifier.
UNUSABLE_ID = "unusable_id"


def unknown_launch(kind: str, target: str, evidence: Mapping[str, Any]) -> LaunchUnknownError:
    """Tell that a launch may have happened, or several if it was sent several times."""
    sent = evidence.get("sent")
    several = isinstance(sent, int) and sent > 1
    if (identifier := evidence.get(UNUSABLE_ID)) is not None:
        return LaunchUnknownError(
            f"The {kind} for {markup.plain(target)} was launched and its credit counts as spent, but the service named "
            f"it {identifier}, by which no request can ask for it: its result cannot be read. It is not repeated, "
            f"because that would be paid twice. {(KINDS.get(kind) or Kind).where_to_look}",
            kind=str(kind),
            target=target,
            evidence=evidence,
        )
    charged = f" It was sent {sent} times, so that up to {sent} credits may have been charged." if several else ""
    found, stays = evidence.get("found"), evidence.get("open")
    told = "" if found is None else f" What was found: {markup.plain(in_a_sentence(found))}."
    ways = (
        f"As for the rest, {stays}."
        if stays
        else "If nothing was charged, launch it again; batch.retry_unknown() lets the next map launch it in a batch."
    )
    return LaunchUnknownError(
        f"The {kind} for {markup.plain(target)} may have been launched and charged, and there is no usable "
        f"answer; it is not repeated, because that could be paid twice.{charged}{told} "
        f"{(KINDS.get(kind) or Kind).where_to_look} {ways}",
        kind=str(kind),
        target=target,
        evidence=evidence,
    )


def in_a_sentence(said: object) -> str:
    """Return what an error says first, without its full stop, for a sentence that goes on after it."""
    return str(said).partition("\n")[0].rstrip(".")


def sent_times(entry: Entry) -> int:
    """Return how often a launch was sent, as far as it may have been executed."""
    sent = entry.facts.get("sent")
    return sent if isinstance(sent, int) else 0


def without_result(entry: Entry) -> JobError | None:
    """Tell how an item of a batch ended in another run; None when its job may have a result.

    An end that the service has not reported itself, such as a job that it did not know, is read again.
    """
    if entry.status not in (EntryStatus.UNKNOWN, EntryStatus.FAILED):
        if KINDS.get(entry.kind) is not None:
            return None
        return JobError(
            f"The {entry.kind} of {markup.plain(entry.target)} has ended, but this version of cmsapi does not know "
            "such jobs and cannot read its result; nothing was sent or forgotten. The version that launched it can."
        )
    if entry.status == EntryStatus.UNKNOWN:
        return unknown_launch(entry.kind, entry.target, entry.facts)
    return JobFailedError(
        f"The {entry.kind} of {markup.plain(entry.target)} failed in an earlier run. batch.retry_failed() lets the "
        "next map launch it again, which costs a credit."
    )
