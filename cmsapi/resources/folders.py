"""Folders of a workspace (specification 2.3 and 4.2)."""

from __future__ import annotations

from cmsapi.api.arguments import optional_text, text
from cmsapi.api.models.folder import Folder, FolderTree
from cmsapi.api.pagination import Paginator
from cmsapi.resources.resource import Resource


class Folders(Resource):
    """Read, create and delete folders."""

    def list(self, workspace_id: str) -> Paginator[Folder, FolderTree]:
        """List the folders of a workspace; one request, no credit. The service does not page them.

        Returns:
            The list; `await` it for all folders in the service's order, with `.roots`, `.children(id)` and `.path(id)`.
        """
        return self._caller.list_whole(Folder, "list_folders", {"workspaceId": workspace_id}, FolderTree)

    async def create(self, workspace_id: str, name: str, *, parent_folder_id: str | None = None) -> Folder:
        """Create a folder; one request, no credit.

        Args:
            workspace_id: The workspace.
            name: Its name, at least one character.
            parent_folder_id: The folder to put it into; None for the top level.

        Raises:
            OutcomeUnknownError: No answer came. It may have been created; list the folders before you repeat the call.
            ServerError: The service failed; the same holds.
        """
        body = {"name": text("name", name), "parentFolderId": optional_text("parent_folder_id", parent_folder_id)}
        return await self._caller.call(Folder, "create_folder", {"workspaceId": workspace_id}, body=body)

    async def delete(self, folder_id: str) -> None:
        """Delete a folder; one request, no credit. Needs the role Admin.

        Its contents are kept and become unorganised.
        """
        await self._caller.exchange("delete_folder", {"folderId": folder_id})
