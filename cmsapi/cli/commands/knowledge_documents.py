"""`cmsapi knowledge-documents`."""

from __future__ import annotations

import cmsapi
from cmsapi.cli.support.completing import WorkspaceId
from cmsapi.cli.support.connecting import connect
from cmsapi.cli.terminal.output import TABLE, Columns, Output, print_list

_COLUMNS: Columns[cmsapi.KnowledgeDocument] = {
    "id": lambda document: document.id,
    "name": lambda document: document.name,
    "status": lambda document: document.status,
    "type": lambda document: document.type,
    "created": lambda document: document.created_at,
    "url": lambda document: document.url,
}


async def knowledge_documents(workspace_id: WorkspaceId, *, output: Output = TABLE) -> None:
    """List the knowledge documents of a workspace; one request per hundred.

    Args:
        workspace_id: The workspace.
    """
    async with connect() as client:
        found = [document async for document in client.knowledge_documents.list(workspace_id)]
    print_list(found, _COLUMNS, output, cmsapi.to_dict)
