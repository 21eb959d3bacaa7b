"""The kinds of jobs: how each is launched and polled, and how the polled document is read.

Most jobs have no document of their own: a keyword shows only its newest analysis, a content only its newest generation.
So a terminal status may be from before the launch. An analysis has ended if its status is terminal and either a poll
since the launch has shown it running, or ``lastAnalyzedAt`` is not before the launch by the service's clock. Any other
terminal status counts as running, or as unclear if it is a success without times to compare. After `_BELIEVED`
seconds, such a success, or any failure, is believed. An unlisted status is `Phase.UNCLEAR`, with the reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Any, ClassVar

from attrs import evolve, field, frozen

from cmsapi.errors import DecodeError
from cmsapi.jobs.words import Observation, Phase, observe
from cmsapi.messages import Response
from cmsapi.models import (
    ContentIdea,
    ContentIdeas,
    ContentIdeaSearch,
    CreditType,
    Generation,
    Keyword,
    KnowledgeDocument,
    Model,
    Prompt,
    User,
)
from cmsapi.wire.converter import structure, to_dict

_BELIEVED = 60.0  # seconds after which a failure or an undated success is believed to be of this launch


class JobKind(StrEnum):
    """Kinds of jobs."""

    ANALYSIS = "analysis"
    PROMPT = "prompt"
    SEARCH = "search"
    GENERATION = "generation"
    KNOWLEDGE_DOCUMENT = "knowledge_document"


@frozen
class LaunchContext:
    """What is known about a launch when a document is read."""

    at: datetime | None  # time by the service's clock; None if no answer has shown it
    age: float  # seconds since the launch
    moved: bool = False  # whether a poll has shown the job running
    own: str | None = None  # identifier that the service gave this job, if its kind has one
    before: str | None = None  # identifier of the generation that the document showed before the launch


def service_time(response: Response, then: float) -> datetime | None:
    """Convert a loop time to the service's clock, by the ``Date`` of a new answer; None without a valid ``Date``."""
    try:
        date = parsedate_to_datetime(response.headers["date"])
    except (KeyError, ValueError):
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return date - timedelta(seconds=asyncio.get_running_loop().time() - then)


@frozen
class Kind:
    """A kind of job; this base class is for jobs with a document of their own (searches, knowledge documents)."""

    name: JobKind
    launch: str  # operation that launches it
    poll: str  # operation that reads its document
    shape: type[Model]  # model of that document
    answer: Any  # type of the answer to a launch: a model, or its union with None
    credit: CreditType | None = None  # type of credit that a launch costs
    words: Mapping[str, str] = field(factory=dict)  # additional words, from `PollPolicy.words`

    status_field: ClassVar[str] = "status"
    # Whether a target has at most one such job, shown by its document: launches join it, and a lost one can be found.
    exclusive: ClassVar[bool] = False

    def balance(self, user: User) -> int | None:
        """Return the credits left for launches of this kind; None if these cost no credit or the balance is unknown."""
        if user.organization is None or user.organization.credits is None or self.credit is None:
            return None
        name = "content_ideas_searches" if self.credit is CreditType.CONTENT_IDEA_SEARCH else self.credit.value
        left: int | None = getattr(user.organization.credits, name)
        return left

    def read(self, document: Any, launch: LaunchContext) -> Observation:
        """Return what a document shows about a launch."""
        word = getattr(document, self.status_field)
        return observe(word and str(word), self.words, reviewed=self.name is JobKind.GENERATION)

    def shows(self, document: Any, launch: LaunchContext) -> bool:
        """Return True if a document shows that a launch whose answer was lost has been accepted."""
        return False

    def identify(self, target: str, answer: Any) -> tuple[str, str | None]:
        """Return, from the answer to a launch, the identifier to poll and the job's own identifier, if it has one."""
        return answer.id, answer.id

    def pack(self, value: Any) -> Any:
        """Return a result as JSON that `unpack` reads."""
        return to_dict(value)

    def unpack(self, data: Any) -> Any:
        """Return the result that `pack` was given."""
        return structure(data, self.shape)


@frozen
class SearchKind(Kind):
    """Searches for ideas, whose result is the search with a list of its ideas."""

    def pack(self, value: Any) -> Any:
        ideas = [to_dict(idea) for idea in value.ideas]
        return {"search": to_dict(value.search), "ideas": ideas, "complete": value.complete}

    def unpack(self, data: Any) -> Any:
        ideas = tuple(structure(idea, ContentIdea) for idea in data["ideas"])
        return ContentIdeas(search=structure(data["search"], ContentIdeaSearch), ideas=ideas, complete=data["complete"])


@frozen
class AnalysisKind(Kind):
    """Analyses of keywords and prompts; an analysis has no identifier of its own."""

    status_field: ClassVar[str] = "analysis_status"
    time_field: ClassVar[str] = "last_analyzed_at"
    exclusive: ClassVar[bool] = True

    def read(self, document: Any, launch: LaunchContext) -> Observation:
        if getattr(document, self.status_field) is None:
            return Observation(Phase.RUNNING)  # as it is before the first analysis
        seen = super().read(document, launch)
        if seen.phase in (Phase.UNCLEAR, Phase.RUNNING) or launch.moved or self._is_new(document, launch):
            return seen
        untimed = getattr(document, self.time_field) is None or launch.at is None
        if launch.age >= _BELIEVED and (seen.phase is Phase.FAILED or untimed):
            return seen
        if untimed and seen.phase is Phase.SUCCEEDED:
            return Observation(Phase.UNCLEAR, "a success that may be of an earlier analysis")
        return Observation(Phase.RUNNING)  # the status may be from before the launch

    def shows(self, document: Any, launch: LaunchContext) -> bool:
        return super().read(document, launch).phase is Phase.RUNNING or self._is_new(document, launch)

    def identify(self, target: str, answer: Any) -> tuple[str, str | None]:
        return target, None

    def _is_new(self, document: Any, launch: LaunchContext) -> bool:
        analyzed = getattr(document, self.time_field)
        return analyzed is not None and launch.at is not None and bool(analyzed >= launch.at)


@frozen
class GenerationKind(Kind):
    """Generations of articles; a content shows only the newest one, which may be from another launch."""

    exclusive: ClassVar[bool] = True

    def read(self, document: Any, launch: LaunchContext) -> Observation:
        if launch.own is not None and document.id is not None and document.id != launch.own:
            return Observation(Phase.UNCLEAR, "the content shows another generation")
        return super().read(document, launch)

    def shows(self, document: Any, launch: LaunchContext) -> bool:
        return document.id is not None and document.id != launch.before

    def identify(self, target: str, answer: Any) -> tuple[str, str | None]:
        if answer.id is None:
            raise DecodeError("the answer to the launch has no identifier", path="$.id", operation=self.launch)
        return target, answer.id


def kinds_of(words: Mapping[str, str] | None = None) -> dict[JobKind, Kind]:
    """Return the kinds by name; ``words`` are additional status words."""
    paid, writing, idea = CreditType.ANALYSIS, CreditType.AI_WRITING, CreditType.CONTENT_IDEA_SEARCH
    search, document, anything = ContentIdeaSearch, KnowledgeDocument, Model | None
    kinds = (
        AnalysisKind(JobKind.ANALYSIS, "analyze_keyword", "get_keyword", Keyword, anything, paid),
        AnalysisKind(JobKind.PROMPT, "analyze_prompt", "get_prompt", Prompt, anything, paid),
        SearchKind(JobKind.SEARCH, "start_content_idea_search", "get_content_idea_search", search, search, idea),
        GenerationKind(JobKind.GENERATION, "generate_content", "get_generation", Generation, Generation, writing),
        Kind(JobKind.KNOWLEDGE_DOCUMENT, "create_knowledge_document", "get_knowledge_document", document, document),
    )
    return {kind.name: evolve(kind, words=words or {}) for kind in kinds}
