"""Sources for generated articles: brand voices and knowledge documents (specification 2.5b, 4.6b, 4.8)."""

from __future__ import annotations

from cmsapi.errors import ArgumentError
from cmsapi.jobs.job import Job
from cmsapi.jobs.kinds import JobKind
from cmsapi.models import BrandVoice, KnowledgeDocument
from cmsapi.resources.base import Resource, texts
from cmsapi.wire.arguments import MAX_LIMIT, check_text
from cmsapi.wire.paging import Paginator


class BrandVoices(Resource):
    """Read brand voices. The specification does not show these calls."""

    def list(self, workspace_id: str, *, page: int = 1, limit: int = MAX_LIMIT) -> Paginator[BrandVoice]:
        """List the brand voices of a workspace; one request per page, no credit.

        Args:
            workspace_id: Identifier of the workspace.
            page: Number of the first page to read, from 1.
            limit: Brand voices per page, 1 to 100.
        """
        return self._pipeline.list("list_brand_voices", BrandVoice, workspace_id, page=page, limit=limit)

    async def get(self, brand_voice_id: str) -> BrandVoice:
        """Return a brand voice; one request, no credit.

        Raises:
            NotFoundError: The brand voice does not exist, or is not visible to this key.
        """
        return await self._pipeline.call("get_brand_voice", BrandVoice, brand_voice_id)


class KnowledgeDocuments(Resource):
    """Create and read knowledge documents."""

    def list(self, workspace_id: str, *, page: int = 1, limit: int = MAX_LIMIT) -> Paginator[KnowledgeDocument]:
        """List the knowledge documents of a workspace; one request per page, no credit (specification 4.8).

        Args:
            workspace_id: Identifier of the workspace.
            page: Number of the first page to read, from 1.
            limit: Documents per page, 1 to 100.
        """
        return self._pipeline.list("list_knowledge_documents", KnowledgeDocument, workspace_id, page=page, limit=limit)

    async def create(
        self, workspace_id: str, name: str, *, text: str | None = None, url: str | None = None
    ) -> Job[KnowledgeDocument]:
        """Create a knowledge document from a text or an address; one request, no credit. The service then processes it.

        The specification does not show this call.

        Args:
            workspace_id: Identifier of the workspace.
            name: Name of the document, at least one character.
            text: Text of the document.
            url: Address from which the service reads the text, instead of ``text``.

        Returns:
            The processing job; ``job.id`` is the document's id, and ``await job`` returns the processed document.

        Raises:
            ArgumentError: Neither or both of ``text`` and ``url`` are given.
            LaunchUnknownError: No response confirmed the creation; list the documents before you call again.
        """
        if (text is None) == (url is None):
            raise ArgumentError("text", "or url must be given, and not both")
        body = {"name": check_text("name", name), **texts(text=text, url=url)}
        return await self._launcher.launch(JobKind.KNOWLEDGE_DOCUMENT, workspace_id, name=name, body=body)

    async def get(self, knowledge_document_id: str) -> KnowledgeDocument:
        """Return a knowledge document; one request, no credit (specification 4.6b).

        Raises:
            NotFoundError: The document does not exist, or is not visible to this key.
        """
        return await self._pipeline.call("get_knowledge_document", KnowledgeDocument, knowledge_document_id)
