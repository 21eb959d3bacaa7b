"""The organization of a key: members, workspaces and credit usages (specification 2.1, 2.2, 2.7, 4.2, 4.7, 4.8)."""

from __future__ import annotations

import builtins
from typing import Literal

from cmsapi.models import ContentStatus, CreditType, CreditUsage, Member, Workspace
from cmsapi.resources.base import Resource
from cmsapi.wire.arguments import MAX_LIMIT, check_word
from cmsapi.wire.paging import Page, Paginator


class Users(Resource):
    """List the members of the organization. `Client.me` returns the key's own user."""

    def list(self, *, page: int = 1, limit: int = MAX_LIMIT) -> Paginator[Member]:
        """List the members with their roles; one request per page, no credit (specification 4.8).

        Args:
            page: Number of the first page to read, from 1.
            limit: Members per page, 1 to 100.

        Raises:
            ForbiddenError: The key's user is not an admin.
        """
        return self._pipeline.list("list_users", Member, page=page, limit=limit)


class Workspaces(Resource):
    """Read workspaces, their members and their workflow statuses."""

    def list(self, *, page: int = 1, limit: int = MAX_LIMIT) -> Paginator[Workspace]:
        """List the workspaces that the key's user can see; one request per page, no credit (specification 4.8).

        Args:
            page: Number of the first page to read, from 1.
            limit: Workspaces per page, 1 to 100.
        """
        return self._pipeline.list("list_workspaces", Workspace, page=page, limit=limit)

    async def get(self, workspace_id: str) -> Workspace:
        """Return a workspace; one request, no credit (specification 4.2).

        Raises:
            NotFoundError: The workspace does not exist, or is not visible to this key.
        """
        return await self._pipeline.call("get_workspace", Workspace, workspace_id)

    def members(self, workspace_id: str, *, page: int = 1, limit: int = MAX_LIMIT) -> Paginator[Member]:
        """List the members of a workspace; one request per page, no credit. The specification does not show this call.

        Args:
            workspace_id: Identifier of the workspace.
            page: Number of the first page to read, from 1.
            limit: Members per page, 1 to 100.
        """
        return self._pipeline.list("list_workspace_members", Member, workspace_id, page=page, limit=limit)

    async def content_statuses(self, workspace_id: str) -> builtins.list[ContentStatus]:
        """Return a workspace's workflow statuses; one request, no credit. The specification does not show this call."""
        return list(await self._pipeline.call("list_content_statuses", Page[ContentStatus], workspace_id))


class CreditUsages(Resource):
    """List the organization's credit usages."""

    def list(
        self,
        type: CreditType | Literal["analysis", "ai_writing", "content_idea_search"],  # noqa: A002  the service's name
        *,
        text: str | None = None,
        page: int = 1,
        limit: int = MAX_LIMIT,
    ) -> Paginator[CreditUsage]:
        """List the organization's credit usages of one type; one request per page, no credit (specification 4.7).

        Args:
            type: Type of credit; the service takes one type per request.
            text: Only entries that contain this text.
            page: Number of the first page to read, from 1.
            limit: Entries per page, 1 to 100.
        """
        params = {"type": check_word("type", type, CreditType), "q": text}
        return self._pipeline.list("list_credit_usages", CreditUsage, params=params, page=page, limit=limit)
