"""The processing of a knowledge document (specification 2.5b, 3 and 4.6b)."""

from __future__ import annotations

from typing import ClassVar

from cmsapi.api.model import Model
from cmsapi.api.models.knowledge_document import KnowledgeDocument
from cmsapi.config import WordMap
from cmsapi.jobs.kinds.kind import NO_WORDS, JobKind, Kind, Shown


class KnowledgeProcessing(Kind):
    """Describe the processing of a knowledge document; creating the document starts it, and it costs no credit."""

    name: ClassVar[JobKind] = JobKind.KNOWLEDGE_DOCUMENT
    operation: ClassVar[str] = "get_knowledge_document"
    parameter: ClassVar[str] = "knowledgeDocumentId"
    model: ClassVar[type[Model]] = KnowledgeDocument
    name_field: ClassVar[str] = "name"
    initial_duration: ClassVar[float] = 30.0

    def shown(self, document: KnowledgeDocument, words: WordMap = NO_WORDS) -> Shown:
        """Say that any document shows all that there is."""
        return Shown.RESULT
