"""Knowledge documents that feed AI generation (specification 2.5b, 4.6b and 4.8)."""

from __future__ import annotations

from typing import overload

from cmsapi.api.arguments import text as check_text, texts
from cmsapi.api.models.knowledge_document import KnowledgeDocument
from cmsapi.api.page import Page
from cmsapi.api.pagination import Paginator
from cmsapi.errors import ArgumentError, DecodeError
from cmsapi.jobs import Job, JobKind
from cmsapi.jobs.job import job_of
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.resources.resource import Resource
from cmsapi.transport.caller import LARGEST_PAGE


class KnowledgeDocuments(Resource):
    """Read and create knowledge documents.

    `client.jobs.watch("knowledge_document", id)` waits for the processing of one that another program created.
    """

    def list(
        self, workspace_id: str, *, page: int = 1, limit: int = LARGEST_PAGE
    ) -> Paginator[KnowledgeDocument, Page[KnowledgeDocument]]:
        """List the knowledge documents of a workspace; one request a page, no credit."""
        path = {"workspaceId": workspace_id}
        return self._caller.paginate(KnowledgeDocument, "list_knowledge_documents", path, page=page, limit=limit)

    @overload
    async def create(self, workspace_id: str, name: str, *, text: str) -> Job[KnowledgeDocument]: ...
    @overload
    async def create(self, workspace_id: str, name: str, *, url: str) -> Job[KnowledgeDocument]: ...
    async def create(
        self, workspace_id: str, name: str, *, text: str | None = None, url: str | None = None
    ) -> Job[KnowledgeDocument]:
        """Create a knowledge document from a text or a URL, which the service then processes; one request, no credit.

        Args:
            workspace_id: The workspace.
            name: Its name, at least one character.
            text: The text, of a file for example `Path("brief.md").read_text()`; or
            url: an address to read it from.

        Returns:
            The job of its processing: `job.id` is the document's identifier, and `await job` gives the document.

        Raises:
            ArgumentError: Neither or both of `text` and `url` were given.
            OutcomeUnknownError: No answer came. It may have been created; list the documents before another try.
            ServerError: The service failed; the same holds.
        """
        if (text is None) == (url is None):
            got = "neither" if text is None else "both"
            raise ArgumentError(
                f"Exactly one of `text` and `url` must be given, got {got}. Nothing was sent.", parameter="text"
            )
        body = {"name": check_text("name", name), **texts(text=text, url=url)}
        path, poller = {"workspaceId": workspace_id}, self._open_launcher().poller
        operation = "create_knowledge_document"
        document = await self._caller.call(KnowledgeDocument, operation, path, body=body)
        if not document.id:
            raise DecodeError(
                "The document was created, and its identifier is needed to wait for its processing: list the documents "
                "to find it. Expected an identifier",
                path="$.id",
                operation=operation,
            )
        return job_of(poller.created(KINDS[JobKind.KNOWLEDGE_DOCUMENT], document), poller)

    async def get(self, knowledge_document_id: str) -> KnowledgeDocument:
        """Read a knowledge document and its processing status; one request, no credit."""
        path = {"knowledgeDocumentId": knowledge_document_id}
        return await self._caller.call(KnowledgeDocument, "get_knowledge_document", path)
