"""Folders (specification 2.3, 4.2)."""

from __future__ import annotations

import builtins
from types import NoneType

from cmsapi.models import Folder, FolderTree
from cmsapi.resources.base import Resource, texts
from cmsapi.wire.arguments import check_text
from cmsapi.wire.paging import Page


class Folders(Resource):
    """Read, create and delete folders."""

    async def list(self, workspace_id: str) -> builtins.list[Folder]:
        """Return all folders of a workspace as a flat list; one request, no credit (specification 4.2)."""
        return list(await self._pipeline.call("list_folders", Page[Folder], workspace_id))

    async def tree(self, workspace_id: str) -> FolderTree:
        """Return all folders of a workspace as a tree; one request, no credit (specification 2.3)."""
        return FolderTree(await self.list(workspace_id))

    async def create(self, workspace_id: str, name: str, parent_folder_id: str | None = None) -> Folder:
        """Create a folder; one request, no credit. The specification does not show this call.

        Args:
            workspace_id: Identifier of the workspace.
            name: Name, at least one character.
            parent_folder_id: Identifier of the folder to put the new one in; None for the top level.

        Raises:
            OutcomeUnknownError: The response was lost, and the folder may exist: list folders before you call again.
        """
        body = {"name": check_text("name", name), **texts(parent_folder_id=parent_folder_id)}
        return await self._pipeline.call("create_folder", Folder, workspace_id, json=body)

    async def delete(self, folder_id: str) -> None:
        """Delete a folder for good; one request, no credit (specification 4.2).

        Content items in the folder are kept, but no longer belong to a folder. Afterwards, nothing shows which items
        were in the folder. If the response is lost, the request is repeated, and a 404 then counts as success.

        Raises:
            NotFoundError: The folder does not exist, or is not visible to this key.
        """
        await self._pipeline.call("delete_folder", NoneType, folder_id)
