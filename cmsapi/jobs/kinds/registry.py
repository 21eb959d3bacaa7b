"""What a look at a job means, kind by kind.

The answer depends on the document, the time, and what was seen before. That is kept in the job's trail, and judging a
look writes there what decides about later ones. Nothing here sends anything.

Completion is an *edge*, not a level. Analysis has no job id, so a `success` read just after a launch may be the
previous analysis. A finished word counts as *this* analysis by the first rule that applies:

1. a running word was seen since the launch;
2. the time of the last analysis is not before the launch, on the service's clock, or where that is not known by two
   minutes on this machine's;
3. there is no such time to compare with, and the look came 5 s or more after the launch was answered.

Otherwise it is stale. A stale word, an unlisted word or a null decides nothing; when the same one stands for three
looks *and* for longer than such jobs take, the job ends with an error instead of being watched for ever.

The current generation of a content may be somebody else's newer one: another id is *superseded*, not progress.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import attrs

from cmsapi.api.model import Model
from cmsapi.api.models import (
    AnalysisStatus,
    ContentIdeaSearch,
    Generation,
    GenerationStatus,
    Keyword,
    KnowledgeDocument,
    KnowledgeStatus,
    Prompt,
    SearchStatus,
)
from cmsapi.jobs.polling.failures import Failures
from cmsapi.jobs.status import Phase
from cmsapi.transport.protocol import expand

# `Date` and the times in documents are exact to a second each.
CLOCK_BLUR = timedelta(seconds=2)
# By how much this machine's clock may be wrong, where the service tells no time.
OWN_CLOCK = timedelta(seconds=120)
# How long after a launch the service may still show the previous analysis.
SETTLING_TIME = 5.0
STALE_LOOKS = 3


def by_own_clock(wall: float) -> datetime:
    """Return the earliest time of the service at a moment of this machine's clock, where the service tells no time."""
    return datetime.fromtimestamp(wall, UTC) - OWN_CLOCK


class JobKind(enum.StrEnum):
    """List the kinds of asynchronous work (specification 3)."""

    KEYWORD_ANALYSIS = "keyword_analysis"
    PROMPT_ANALYSIS = "prompt_analysis"
    IDEA_SEARCH = "idea_search"
    GENERATION = "generation"
    KNOWLEDGE_DOCUMENT = "knowledge_document"


@attrs.define
class JobHistory:
    """Remember what decides about later looks.

    Args:
        began: Loop time at which the launch was answered, or the watch began.
        launched_at: The service's time of the launch, or the earliest that it may have been; None when it is not known.
        watched: Whether somebody else launched it, so that any finished word is its end.
        job_id: Identifier of the job where the kind has one and it is known.
        fresh: Whether it was launched just now, so that a look at once would be wasted.
        settings: What it was launched with.
        search: The search of ideas as it was last seen.
    """

    began: float
    launched_at: datetime | None = None
    watched: bool = False
    job_id: str | None = None
    fresh: bool = False
    settings: Mapping[str, Any] | None = None
    search: ContentIdeaSearch | None = None
    saw_running: bool = False
    undecided: object = None
    undecided_looks: int = 0
    failures: Failures = attrs.Factory(Failures)


@attrs.frozen
class Observation:
    """Say what one look means.

    Args:
        phase: Where the job stands.
        state: The service's own word, or None.
        decided: False when the look says nothing certain: a stale word, an unlisted word or a null.
    """

    phase: Phase
    state: str | None
    decided: bool = True


def _state(word: Any) -> str | None:
    return None if word is None else str(word)


def _analysis(document: Keyword | Prompt, history: JobHistory, now: float) -> Observation:
    word = document.analysis_status
    if word in (AnalysisStatus.QUEUED, AnalysisStatus.PENDING):
        return Observation(Phase.RUNNING, _state(word))
    if word not in (AnalysisStatus.SUCCESS, AnalysisStatus.FAILED):
        return Observation(Phase.UNKNOWN, _state(word), decided=False)
    if not _is_this_analysis(document.last_analyzed_at, history, now):
        return Observation(Phase.RUNNING, _state(word), decided=False)
    return Observation(Phase.SUCCEEDED if word == AnalysisStatus.SUCCESS else Phase.FAILED, _state(word))


def _is_this_analysis(analyzed_at: datetime | None, history: JobHistory, now: float) -> bool:
    if history.watched or history.saw_running:
        return True
    if analyzed_at is not None and history.launched_at is not None:
        return analyzed_at >= history.launched_at - CLOCK_BLUR
    return analyzed_at is None and now - history.began >= SETTLING_TIME


def _search(document: ContentIdeaSearch, history: JobHistory, now: float) -> Observation:
    phases = {
        SearchStatus.PENDING: Phase.RUNNING,
        SearchStatus.SUCCESS: Phase.SUCCEEDED,
        SearchStatus.FAILED: Phase.FAILED,
    }
    return _listed(document.status, phases)


def _knowledge(document: KnowledgeDocument, history: JobHistory, now: float) -> Observation:
    phases = {
        KnowledgeStatus.PENDING: Phase.RUNNING,
        KnowledgeStatus.SUCCESS: Phase.SUCCEEDED,
        KnowledgeStatus.FAILED: Phase.FAILED,
    }
    return _listed(document.status, phases)


def _generation(document: Generation, history: JobHistory, now: float) -> Observation:
    if history.job_id is None:
        history.job_id = document.id
    elif document.id != history.job_id:
        return Observation(Phase.SUPERSEDED, _state(document.status))
    phases = {
        GenerationStatus.QUEUED: Phase.RUNNING,
        GenerationStatus.REVIEW: Phase.REVIEW,
        # Decided by somebody else: this side's decisions end the job before it is looked at again.
        GenerationStatus.APPLIED: Phase.SUCCEEDED,
        GenerationStatus.DISCARDED: Phase.SUCCEEDED,
        GenerationStatus.FAILED: Phase.FAILED,
    }
    return _listed(document.status, phases)


def _listed(word: Any, phases: Mapping[Any, Phase]) -> Observation:
    if word in phases:
        return Observation(phases[word], _state(word))
    return Observation(Phase.UNKNOWN, _state(word), decided=False)


@attrs.frozen
class Strategy:
    """Describe how a kind of job is looked at.

    Args:
        operation: The operation that a look calls.
        parameter: Its path parameter, which takes the job's target.
        model: What it answers with.
        weigh: Says what the document means.
        median: Seconds that such a job is expected to take before one was seen.
    """

    operation: str
    parameter: str
    model: type[Model]
    weigh: Callable[[Any, JobHistory, float], Observation]
    median: float = 60.0

    def check(self, target: str) -> None:
        """Refuse what cannot be an identifier: looking at it would fail for ever.

        Raises:
            ArgumentError: It cannot.
        """
        expand("{id}", {"id": target})

    def judge(self, document: Model, history: JobHistory, now: float) -> Observation:
        """Say what a document means, and remember it."""
        observation = self.weigh(document, history, now)
        if observation.decided:
            history.saw_running = history.saw_running or observation.phase is Phase.RUNNING
            history.undecided_looks = 0
        elif history.undecided_looks and history.undecided == observation.state:
            history.undecided_looks += 1
        else:
            history.undecided, history.undecided_looks = observation.state, 1
        return observation


STRATEGIES: Mapping[JobKind, Strategy] = {
    JobKind.KEYWORD_ANALYSIS: Strategy("get_keyword", "keywordId", Keyword, _analysis),
    JobKind.PROMPT_ANALYSIS: Strategy("get_prompt", "promptId", Prompt, _analysis),
    JobKind.IDEA_SEARCH: Strategy("get_content_idea_search", "contentIdeaSearchId", ContentIdeaSearch, _search),
    JobKind.GENERATION: Strategy("get_generation", "contentId", Generation, _generation, median=120.0),
    JobKind.KNOWLEDGE_DOCUMENT: Strategy(
        "get_knowledge_document", "knowledgeDocumentId", KnowledgeDocument, _knowledge, median=30.0
    ),
}


def kind_of(word: str) -> JobKind | None:
    """Return the kind of a word that was written down, or None when only another version of this package knows it."""
    return next((kind for kind in STRATEGIES if kind.value == word), None)
