"""The service's status words for jobs, and their meanings."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from attrs import frozen


class Phase(StrEnum):
    """Phase of a job, as its document shows it."""

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
    """What one poll has shown about a job."""

    phase: Phase
    reason: str | None = None  # why it is unclear
    moving: bool = False  # whether the status says running, so that a later terminal status belongs to this launch


def observe(word: str | None, words: Mapping[str, str], *, reviewed: bool) -> Observation:
    """Return the meaning of a status word, ignoring case; `Phase.UNCLEAR` if the word is missing or not listed.

    Args:
        word: The status word; None if the document has none.
        words: Additional status words and their meanings, from `PollPolicy.words`; they take precedence.
        reviewed: Whether jobs of this kind can wait for a review; if not, ``review`` is unclear.
    """
    if word is None:
        return Observation(Phase.UNCLEAR, "the document has no status")
    folded = word.strip().casefold()
    added = {name.casefold(): phase for name, phase in words.items()}
    phase = Phase(added[folded]) if folded in added else _WORDS.get(folded)
    if phase is None or (phase is Phase.REVIEW and not reviewed):
        return Observation(Phase.UNCLEAR, f"unlisted status {word!r}")
    return Observation(phase, moving=phase is Phase.RUNNING)
