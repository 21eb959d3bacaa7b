"""The processing of a knowledge document (specification 2.5b, 3 and 4.6b)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from cmsapi.api.model import Model
from cmsapi.api.models import KnowledgeDocument, KnowledgeStatus
from cmsapi.jobs.kinds.kind import JobKind, Kind, Shown
from cmsapi.jobs.kinds.observation import JobHistory, Observation, of_word
from cmsapi.jobs.status import Phase

_PHASES: Mapping[Any, Phase] = {
    KnowledgeStatus.PENDING: Phase.RUNNING,
    KnowledgeStatus.SUCCESS: Phase.SUCCEEDED,
    KnowledgeStatus.FAILED: Phase.FAILED,
}


class KnowledgeProcessing(Kind):
    """Describe the processing of a knowledge document; creating the document starts it, and it costs no credit."""

    name: ClassVar[JobKind] = JobKind.KNOWLEDGE_DOCUMENT
    operation: ClassVar[str] = "get_knowledge_document"
    parameter: ClassVar[str] = "knowledgeDocumentId"
    model: ClassVar[type[Model]] = KnowledgeDocument
    initial_duration: ClassVar[float] = 30.0

    def interpret(self, document: KnowledgeDocument, history: JobHistory, now: float) -> Observation:
        """Say what the status means."""
        return of_word(document.status, _PHASES)

    def shown(self, document: KnowledgeDocument) -> Shown:
        """Say that any document shows all that there is."""
        return Shown.RESULT
