"""Workspaces: tracked websites (specification 2.2, 4.2 and 4.8)."""

from __future__ import annotations

import builtins

from cmsapi.api.models.content import ContentStatus
from cmsapi.api.models.user import Member
from cmsapi.api.models.workspace import Workspace
from cmsapi.api.pagination import Paginator
from cmsapi.resources.resource import Resource
from cmsapi.transport.caller import LARGEST_PAGE


class Workspaces(Resource):
    """Read workspaces, their members and their workflow statuses."""

    def list(self, *, limit: int = LARGEST_PAGE, first: int = 1) -> Paginator[Workspace]:
        """List the workspaces that the key's user belongs to; one request a page.

        Args:
            limit: Workspaces a page, 1 to 100.
            first: Number of the page to begin with.
        """
        return self._caller.paginate(Workspace, "list_workspaces", limit=limit, first=first)

    async def get(self, workspace_id: str) -> Workspace:
        """Read a workspace; one request.

        Raises:
            NotFoundError: There is none, or the key's user does not belong to it.
        """
        return await self._caller.call(Workspace, "get_workspace", {"workspaceId": workspace_id})

    def members(self, workspace_id: str, *, limit: int = LARGEST_PAGE, first: int = 1) -> Paginator[Member]:
        """List the members of a workspace; one request a page.

        The role words here are others than those of `users.list`.
        """
        path = {"workspaceId": workspace_id}
        return self._caller.paginate(Member, "list_workspace_members", path, limit=limit, first=first)

    async def content_statuses(self, workspace_id: str) -> builtins.list[ContentStatus]:
        """List the workflow statuses that contents of a workspace can have; one request."""
        return await self._caller.call_for_list(ContentStatus, "list_content_statuses", {"workspaceId": workspace_id})
