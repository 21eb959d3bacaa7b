"""The kinds of jobs: how each is launched and polled, and how the polled document is read.

Most kinds have no document for each job: a keyword shows only its newest analysis, a content item only its newest
generation. So a terminal status may belong to an earlier job. The terminal status of an analysis is accepted if an
earlier poll has shown the analysis running, or if ``lastAnalyzedAt`` is not before the launch by the service's clock.
Otherwise the job counts as running, or as `Phase.UNCLEAR` if a success cannot be dated because a time is missing.
After `_BELIEVED` seconds, every failure is accepted, and so is a success that cannot be dated.
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
    """Kind of a job, which determines how the job is launched and polled."""

    ANALYSIS = "analysis"
    PROMPT = "prompt"
    SEARCH = "search"
    GENERATION = "generation"
    KNOWLEDGE_DOCUMENT = "knowledge_document"


@frozen
class LaunchContext:
    """What is known about a launch when a polled document is interpreted."""

    at: datetime | None  # time by the service's clock; None if no response has shown it
    age: float  # seconds since the launch
    moved: bool = False  # whether a poll has shown the job running
    own: str | None = None  # identifier that the service gave this job, if its kind has one
    before: str | None = None  # identifier of the generation that the document showed before the launch


def service_time(response: Response, then: float) -> datetime | None:
    """Return the service's time at loop time ``then``, using the ``Date`` of a new ``response``; None if unusable."""
    try:
        date = parsedate_to_datetime(response.headers["date"])
    except (KeyError, ValueError):
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return date - timedelta(seconds=asyncio.get_running_loop().time() - then)


@frozen
class Kind:
    """A kind of job. The base class is for searches and knowledge documents, which have resources of their own."""

    name: JobKind
    launch: str  # operation that launches it
    poll: str  # operation that reads its document
    shape: type[Model]  # model of that document
    response: Any  # type of the response to a launch: a model, or its union with None
    credit: CreditType | None = None  # type of credit that a launch costs
    words: Mapping[str, str] = field(factory=dict)  # additional words, from `PollPolicy.words`

    status_field: ClassVar[str] = "status"
    # Whether a target has at most one such job, shown by its document: launches join it, and a lost one can be found.
    exclusive: ClassVar[bool] = False

    def balance(self, user: User) -> int | None:
        """Return how many credits ``user`` has left for this kind; None if it costs none or the number is unknown."""
        if user.organization is None or user.organization.credits is None or self.credit is None:
            return None
        name = "content_ideas_searches" if self.credit is CreditType.CONTENT_IDEA_SEARCH else self.credit.value
        left: int | None = getattr(user.organization.credits, name)
        return left

    def read(self, document: Any, launch: LaunchContext) -> Observation:
        """Return what ``document`` shows about the job of ``launch``."""
        word = getattr(document, self.status_field)
        return observe(word and str(word), self.words, reviewed=self.name is JobKind.GENERATION)

    def shows(self, document: Any, launch: LaunchContext) -> bool:
        """Return True if ``document`` shows that the unconfirmed ``launch`` was accepted; always False in `Kind`."""
        return False

    def identify(self, target: str, response: Any) -> tuple[str, str | None]:
        """Return the identifier to poll, and the job's own identifier or None, from the ``response`` to its launch."""
        return response.id, response.id

    def pack(self, value: Any) -> Any:
        """Return the result ``value`` as JSON-compatible data that `unpack` reads."""
        return to_dict(value)

    def unpack(self, data: Any) -> Any:
        """Return the result from which `pack` made ``data``."""
        return structure(data, self.shape)


@frozen
class SearchKind(Kind):
    """Searches for content ideas. The result is a `ContentIdeas`: the search with the list of its ideas."""

    def pack(self, value: Any) -> Any:
        ideas = [to_dict(idea) for idea in value.ideas]
        return {"search": to_dict(value.search), "ideas": ideas, "complete": value.complete}

    def unpack(self, data: Any) -> Any:
        ideas = tuple(structure(idea, ContentIdea) for idea in data["ideas"])
        return ContentIdeas(search=structure(data["search"], ContentIdeaSearch), ideas=ideas, complete=data["complete"])


@frozen
class AnalysisKind(Kind):
    """Analyses of keywords and prompts. An analysis has no identifier of its own."""

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

    def identify(self, target: str, response: Any) -> tuple[str, str | None]:
        return target, None

    def _is_new(self, document: Any, launch: LaunchContext) -> bool:
        analyzed = getattr(document, self.time_field)
        return analyzed is not None and launch.at is not None and bool(analyzed >= launch.at)


@frozen
class GenerationKind(Kind):
    """Generations of articles. A content item shows only its newest generation, which may be from another launch."""

    exclusive: ClassVar[bool] = True

    def read(self, document: Any, launch: LaunchContext) -> Observation:
        if launch.own is not None and document.id is not None and document.id != launch.own:
            return Observation(Phase.UNCLEAR, "the content shows another generation")
        return super().read(document, launch)

    def shows(self, document: Any, launch: LaunchContext) -> bool:
        return document.id is not None and document.id != launch.before

    def identify(self, target: str, response: Any) -> tuple[str, str | None]:
        if response.id is None:
            raise DecodeError("the response to the launch has no identifier", path="$.id", operation=self.launch)
        return target, response.id


def kinds_of(words: Mapping[str, str] | None = None) -> dict[JobKind, Kind]:
    """Return all kinds of jobs by name; ``words`` maps additional status words to their meanings."""
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
