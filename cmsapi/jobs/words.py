"""The service's words for the status of a job, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from attrs import frozen


class Phase(StrEnum):
    """Phase of a job, as a document shows it."""

    RUNNING = "running"
    REVIEW = "review"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNCLEAR = "unclear"


# The specification shows queued, pending, review, success and failed; the others are common in similar services.
_WORDS: Mapping[str, Phase] = {
    **dict.fromkeys(("queued", "pending", "running", "processing", "in_progress", "generating"), Phase.RUNNING),
    "review": Phase.REVIEW,
    **dict.fromkeys(("success", "succeeded", "completed", "done", "applied", "discarded"), Phase.SUCCEEDED),
    **dict.fromkeys(("failed", "error"), Phase.FAILED),
}


@frozen
class Observation:
    """What one poll found."""

    phase: Phase
    reason: str | None = None  # why it is unclear
    moving: bool = False  # whether the status says running, so that a later terminal status belongs to this launch


def observe(word: str | None, words: Mapping[str, str], *, reviewed: bool) -> Observation:
    """Return the meaning of a status word, ignoring case; unclear if the word is not listed.

    Args:
        word: The word; None if the document has none.
        words: Additional words, from `PollPolicy.words`.
        reviewed: Whether jobs of this kind can wait for a review.
    """
    if word is None:
        return Observation(Phase.UNCLEAR, "the document has no status")
    folded = word.strip().casefold()
    added = {name.casefold(): phase for name, phase in words.items()}
    phase = Phase(added[folded]) if folded in added else _WORDS.get(folded)
    if phase is None or (phase is Phase.REVIEW and not reviewed):
        return Observation(Phase.UNCLEAR, f"unlisted status {word!r}")
    return Observation(phase, moving=phase is Phase.RUNNING)
