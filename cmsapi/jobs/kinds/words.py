"""What words of the service mean that the specification does not list, but that services of this kind use.

Specification 3 leaves most words "not shown". A synonym is understood where it can mean only one thing, because a wrong
guess costs money or an article, whereas an unlisted word ends a wait with an error that says how to map it
(`PollPolicy(words=)`). Hence these rules:

- "ready" and "ok" are no synonyms: something may be ready to begin.
- The synonyms of success hold for work whose end is its result. Of a generation they do not tell whether the article
  was applied or waits for a decision. Taken for "applied", a paid article would never be decided on; taken for
  "review", an article could be confirmed twice.
- "waiting" is a synonym of running, but not for a generation, which may wait for its decision.
- What was cancelled has no result, so that it failed. A generation is discarded by the request "cancel" (specification
  4.4), so that a cancelled one is discarded, whether that was its decision or came before it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from cmsapi.config import WordMap, fold
from cmsapi.jobs.status import Phase

#: Words for one state of a job, as `fold` spells them.
Words: TypeAlias = tuple[str, ...]

CANCELLED: Words = ("cancelled", "canceled")
# For all kinds
RUNNING: Words = (
    *("queued", "enqueued", "pending", "scheduled", "starting", "started"),
    *("running", "processing", "in_progress", "inprogress", "ongoing"),
)
FAILED: Words = ("failed", "fail", "failure", "error", "errored", "aborted", "timed_out", "timeout")
# For kinds whose end is their result
WAITING: Words = ("waiting",)
SUCCEEDED: Words = ("success", "succeeded", "successful", "completed", "complete", "done", "finished")
# For generations
IN_REVIEW: Words = (
    *("review", "in_review", "to_review", "needs_review", "ready_for_review"),
    *("awaiting_review", "waiting_for_review", "pending_review", "review_pending"),
)
APPLIED: Words = ("applied", "confirmed")
DISCARDED: Words = ("discarded", *CANCELLED)


def phase_of(word: object, kind: str, listed: Iterable[tuple[Phase, Words]], words: WordMap) -> Phase:
    """Return what a word means for a kind of job; `UNKNOWN` for an unlisted word and for none.

    Args:
        word: The service's word, or None.
        kind: The kind of job.
        listed: The words that this package lists for the kind.
        words: What the settings say of other words; they win.
    """
    if not isinstance(word, str):
        return Phase.UNKNOWN
    spelled = fold(word)
    chosen = words.get(kind, {}).get(spelled)
    if chosen is not None:
        return Phase(chosen)
    return next((phase for phase, known in listed if spelled in known), Phase.UNKNOWN)
