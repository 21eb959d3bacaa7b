"""The generation of an article with AI (specification 2.5, 3 and 4.4).

A content has one current generation. It may be another one than the job's, because a newer one was launched since: that
is *superseded*, not progress.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from datetime import datetime
from typing import ClassVar

import anyio

from cmsapi.api.model import Model
from cmsapi.api.models.content import Content, ContentSummary
from cmsapi.api.models.generation import Generation
from cmsapi.config import WordMap
from cmsapi.errors import DecodeError, NotFoundError
from cmsapi.jobs.kinds.doubt import Doubt
from cmsapi.jobs.kinds.evidence import Finding, Verdict
from cmsapi.jobs.kinds.kind import (
    NO_WORDS,
    Balance,
    JobHistory,
    JobKind,
    Kind,
    Observation,
    Shown,
    job_before,
)
from cmsapi.jobs.kinds.review import GENERATION_WORDS, PAUSES, GenerationReview, differ
from cmsapi.jobs.kinds.words import Words
from cmsapi.jobs.status import Phase
from cmsapi.state.entry import Entry, Fact
from cmsapi.transport.call import CallOptions
from cmsapi.transport.caller import OperationCaller

_OVER = (Phase.SUCCEEDED, Phase.FAILED)


class ArticleGeneration(Kind):
    """Describe the generation of an article; the content is the target, and the job has an identifier of its own."""

    name: ClassVar[JobKind] = JobKind.GENERATION
    operation: ClassVar[str] = "get_generation"
    parameter: ClassVar[str] = "contentId"
    model: ClassVar[type[Model]] = Generation
    running: ClassVar[Words] = GENERATION_WORDS[Phase.RUNNING]
    # Decided elsewhere: a decision made here ends the job before its next poll.
    succeeded: ClassVar[Words] = GENERATION_WORDS[Phase.SUCCEEDED]
    failed: ClassVar[Words] = GENERATION_WORDS[Phase.FAILED]
    in_review: ClassVar[Words] = GENERATION_WORDS[Phase.REVIEW]
    initial_duration: ClassVar[float] = 120.0
    # Its `lastGeneration` may be of another type, so that it only makes a poll due.
    shown_by: ClassVar[type[Model] | None] = Content
    name_field: ClassVar[str] = "title"
    named_by: ClassVar[tuple[type[Model], ...] | None] = (Content, ContentSummary)
    launch_operation: ClassVar[str] = "generate_content"
    answer: ClassVar[type[Model] | None] = Generation
    balance: ClassVar[Balance | None] = Balance("ai_writing", "ai_writing")
    where_to_look: ClassVar[str] = (
        "client.contents.generation shows whether there is one; client.jobs.watch waits for it."
    )

    def interpret(
        self, document: Generation, history: JobHistory, age: float, words: WordMap = NO_WORDS
    ) -> Observation:
        """Say what the status means, if the generation is the job's.

        The one from before the launch is an old copy, however often it is shown. Another one is newer if it stays.
        """
        if history.job_id is None and document.id != history.before:
            history.job_id = document.id
        if not differ(document.id, history.job_id):
            return self.of_word(document.status, words)
        if document.id == history.before:
            return Observation(Phase.RUNNING, None, Doubt.EARLIER_RUN, other_id=document.id)
        return Observation(Phase.RUNNING, None, Doubt.OTHER_JOB, Phase.SUPERSEDED, document.id)

    def shown(self, document: Content, words: WordMap = NO_WORDS) -> Shown:
        """Say whether a content shows that its generation may be over."""
        generation = document.last_generation
        over = generation is not None and self.of_word(generation.status, words).phase is not Phase.RUNNING
        return Shown.HINT if over else Shown.NOTHING

    async def read_result(
        self, caller: OperationCaller, target: str, document: Generation, history: JobHistory, options: CallOptions
    ) -> GenerationReview:
        """Make the review of the generation; no request."""
        return GenerationReview(caller, target, document, before=history.before)

    async def read_review(self, caller: OperationCaller, entry: Entry) -> GenerationReview | None:
        """Read the current generation, and return its review if it is the launch's and waits for a decision."""
        current = await _current(caller, entry.target)
        if current is None or differ(current.id, entry.job_id):
            return None
        review = GenerationReview(caller, entry.target, current, before=job_before(entry))
        return review if review.phase is Phase.REVIEW else None

    async def read_baseline(self, caller: OperationCaller, target: str) -> Mapping[str, Fact]:
        """Read which generation there is, so that another one is known to be newer."""
        try:
            current = await _shown(caller, target)
        except NotFoundError:
            return {"baseline": None}
        # What shows nothing may hide an old one, which would pass for that of a launch whose answer is lost.
        return {} if current is None or current.id is None else {"baseline": current.id}

    async def read_evidence(self, caller: OperationCaller, entry: Entry) -> Generation | None:
        """Read the current generation."""
        return await _current(caller, entry.target)

    def judge_shown(
        self, entry: Entry, document: Generation | None, now: datetime | None, words: WordMap = NO_WORDS
    ) -> Finding | None:
        """Say what the current generation of a content shows: another one than before the launch is newer."""
        if document is None:
            return None
        if "baseline" not in entry.facts:
            if self.of_word(document.status, words).phase in (*_OVER, Phase.REVIEW):
                why = f"the content has generation {document.id}, and it was not read which one it had before"
                return Finding.unknown(why)
            why = f"generation {document.id} runs, and it was not read which one there was before"
            return Finding(verdict=Verdict.LAUNCHED, why=why, job_id=document.id, ours=False)
        before = entry.facts["baseline"]
        if document.id is None and before is not None:
            return Finding.unknown("the content has a generation without an identifier, which may be the one of before")
        if document.id is not None and document.id == before:
            return None
        why = f"the content has a new generation, {document.id}"
        return Finding(verdict=Verdict.LAUNCHED, why=why, job_id=document.id)

    async def is_over(self, caller: OperationCaller, entry: Entry) -> bool:
        """Read whether the generation is decided, has failed, or was replaced.

        An old copy does not tell. One without a generation counts only if several readings show none.
        """
        for pause in (0.0, *PAUSES):
            await anyio.sleep(pause)
            if (current := await _current(caller, entry.target)) is not None:
                break
        else:
            return True
        if differ(current.id, entry.job_id):
            return current.id != job_before(entry)
        return self.of_word(current.status, caller.words).phase in _OVER


async def _current(caller: OperationCaller, content_id: str) -> Generation | None:
    """Read the current generation of a content, None when it has none."""
    with contextlib.suppress(NotFoundError):
        return await _shown(caller, content_id)
    return None


async def _shown(caller: OperationCaller, content_id: str) -> Generation | None:
    """Read the current generation of a content, None when the service shows nothing in its place.

    Raises:
        NotFoundError: There is none.
    """
    try:
        return await caller.call(Generation, "get_generation", {"contentId": content_id})
    except DecodeError as error:
        # It is not specified how a service says that there is none: with a 404, or with null.
        if (error.path, error.excerpt) != ("$", "null"):
            raise
        return None
