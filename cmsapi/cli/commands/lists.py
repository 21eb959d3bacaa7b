"""`cmsapi users`, `workspaces`, `brand-voices` and `knowledge-documents`: lists without options of their own."""

from __future__ import annotations

import cmsapi
from cmsapi.cli.support.completing import WorkspaceId
from cmsapi.cli.support.listing import print_all
from cmsapi.cli.terminal.output import TABLE, Columns, Output

_USERS: Columns[cmsapi.Member] = {
    "id": lambda member: member.id,
    "name": lambda member: f"{member.first_name} {member.last_name}",
    "role": lambda member: member.role,
    "email": lambda member: member.email,
    "job title": lambda member: member.job_title,
}


async def users(*, output: Output = TABLE) -> None:
    """List the members of the organisation; one request per hundred. Needs the role Admin."""
    await print_all(lambda client: client.users.list(), _USERS, output)


_WORKSPACES: Columns[cmsapi.Workspace] = {
    "id": lambda workspace: workspace.id,
    "name": lambda workspace: workspace.name,
    "website": lambda workspace: workspace.website_url,
    "country": lambda workspace: workspace.country_code,
    "language": lambda workspace: workspace.language_code,
}


async def workspaces(*, output: Output = TABLE) -> None:
    """List the workspaces that the key can access; one request per hundred."""
    await print_all(lambda client: client.workspaces.list(), _WORKSPACES, output)


_BRAND_VOICES: Columns[cmsapi.BrandVoice] = {
    "id": lambda voice: voice.id,
    "name": lambda voice: voice.name,
    "enabled": lambda voice: voice.enabled,
    "brand": lambda voice: voice.brand_name,
    "audience": lambda voice: voice.target_audience,
}


async def brand_voices(workspace_id: WorkspaceId, *, output: Output = TABLE) -> None:
    """List the brand voices of a workspace; one request per hundred.

    Args:
        workspace_id: The workspace.
    """
    await print_all(lambda client: client.brand_voices.list(workspace_id), _BRAND_VOICES, output)


_KNOWLEDGE_DOCUMENTS: Columns[cmsapi.KnowledgeDocument] = {
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
    await print_all(lambda client: client.knowledge_documents.list(workspace_id), _KNOWLEDGE_DOCUMENTS, output)
