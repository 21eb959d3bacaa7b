"""Workspaces: tracked websites (specification 2.2, 4.2 and 4.8)."""

from __future__ import annotations

from cmsapi.api.models.content import ContentStatus
from cmsapi.api.models.user import Member
from cmsapi.api.models.workspace import Workspace
from cmsapi.api.page import Page
from cmsapi.api.pagination import Paginator
from cmsapi.resources.resource import Resource
from cmsapi.transport.caller import LARGEST_PAGE


class Workspaces(Resource):
    """Read workspaces, their members and their workflow statuses."""

    def list(self, *, page: int = 1, limit: int = LARGEST_PAGE) -> Paginator[Workspace, Page[Workspace]]:
        """List the workspaces that the key's user belongs to; one request a page, no credit.

        Args:
            page: Number of the page to begin with.
            limit: Workspaces a page, 1 to 100.
        """
        return self._caller.paginate(Workspace, "list_workspaces", page=page, limit=limit)

    async def get(self, workspace_id: str) -> Workspace:
        """Read a workspace; one request, no credit.

        Raises:
            NotFoundError: There is none, or the key's user does not belong to it.
        """
        return await self._caller.call(Workspace, "get_workspace", {"workspaceId": workspace_id})

    def members(
        self, workspace_id: str, *, page: int = 1, limit: int = LARGEST_PAGE
    ) -> Paginator[Member, Page[Member]]:
        """List the members of a workspace; one request a page, no credit.

        The role words here are others than those of `users.list`.
        """
        path = {"workspaceId": workspace_id}
        return self._caller.paginate(Member, "list_workspace_members", path, page=page, limit=limit)

    def content_statuses(self, workspace_id: str) -> Paginator[ContentStatus, Page[ContentStatus]]:
        """List the workflow statuses that contents of a workspace can have; one request, no credit, one page."""
        return self._caller.list_whole(ContentStatus, "list_content_statuses", {"workspaceId": workspace_id}, Page)
