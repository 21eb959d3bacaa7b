"""Knowledge documents (specification 2.5b, 4.6b)."""

from __future__ import annotations

from cmsapi.models import KnowledgeDocument
from cmsapi.resources.base import Resource
from cmsapi.wire.arguments import MAX_LIMIT
from cmsapi.wire.paging import Paginator


class KnowledgeDocuments(Resource):
    """Read knowledge documents."""

    def list(self, workspace_id: str, *, page: int = 1, limit: int = MAX_LIMIT) -> Paginator[KnowledgeDocument]:
        """List the knowledge documents of a workspace; one request a page, no credit (specification 4.8).

        Args:
            workspace_id: The workspace.
            page: Number of the first page to read, from 1.
            limit: Documents a page, 1 to 100.
        """
        return self._pipeline.list("list_knowledge_documents", KnowledgeDocument, workspace_id, page=page, limit=limit)

    async def get(self, knowledge_document_id: str) -> KnowledgeDocument:
        """Return a knowledge document; one request, no credit (specification 4.6b)."""
        return await self._pipeline.call("get_knowledge_document", KnowledgeDocument, knowledge_document_id)
