"""Workspaces, their members and their workflow statuses (specification 2.2, 4.2)."""

from __future__ import annotations

import builtins

from cmsapi.models import ContentStatus, Member, Workspace
from cmsapi.resources.base import Resource
from cmsapi.wire.arguments import MAX_LIMIT
from cmsapi.wire.paging import Page, Paginator


class Workspaces(Resource):
    """Read workspaces."""

    def list(self, *, page: int = 1, limit: int = MAX_LIMIT) -> Paginator[Workspace]:
        """List the workspaces that the key's user can see; one request a page, no credit (specification 4.8).

        Args:
            page: Number of the first page to read, from 1.
            limit: Workspaces a page, 1 to 100.
        """
        return self._pipeline.list("list_workspaces", Workspace, page=page, limit=limit)

    async def get(self, workspace_id: str) -> Workspace:
        """Return a workspace; one request, no credit (specification 4.2)."""
        return await self._pipeline.call("get_workspace", Workspace, workspace_id)

    def members(self, workspace_id: str, *, page: int = 1, limit: int = MAX_LIMIT) -> Paginator[Member]:
        """List the members of a workspace; one request a page, no credit. The specification does not show it.

        Args:
            workspace_id: The workspace.
            page: Number of the first page to read, from 1.
            limit: Members a page, 1 to 100.
        """
        return self._pipeline.list("list_workspace_members", Member, workspace_id, page=page, limit=limit)

    async def content_statuses(self, workspace_id: str) -> builtins.list[ContentStatus]:
        """Return the statuses of a workspace's workflow; one request, no credit. The specification does not show it."""
        return list(await self._pipeline.call("list_content_statuses", Page[ContentStatus], workspace_id))
