"""Folders are listed flat, seen as a tree, created and deleted."""

from __future__ import annotations

import pytest

from cmsapi import Client, Folder
from cmsapi.sandbox import Sandbox
from tests.support.spec import spec

pytestmark = pytest.mark.looptime


async def nested(client: Client, sandbox: Sandbox) -> tuple[Folder, Folder]:
    """Return a folder and another one inside it."""
    parent = await client.folders.create(sandbox.workspace_id, "Guides")
    return parent, await client.folders.create(sandbox.workspace_id, "Shoes", parent.id)


@spec("4.2:list_folders", "1.5", "2.3:depth", "2.3:parentFolderId")
async def test_folders_come_flat_and_make_a_tree(client: Client, sandbox: Sandbox) -> None:
    """The list contains each folder, and the tree shows it below its parent."""
    parent, child = await nested(client, sandbox)
    folders, tree = await client.folders.list(sandbox.workspace_id), await client.folders.tree(sandbox.workspace_id)
    assert {parent.id, child.id} <= {folder.id for folder in folders}
    assert len(tree) == len(folders)
    assert [folder.name for folder in tree.path(child)] == ["Guides", "Shoes"]
    assert {folder.id: folder.depth for folder in folders} == {folder.id: depth for depth, folder in tree.walk()}


@spec("4.2:delete_folder")
async def test_contents_of_a_deleted_folder_stay(client: Client, sandbox: Sandbox) -> None:
    """A content loses its folder and nothing else."""
    folder, _ = await nested(client, sandbox)
    content = await client.contents.create(sandbox.workspace_id, "Title", folder_id=folder.id)
    await client.folders.delete(folder.id)
    assert (await client.contents.get(content.id)).folder is None
    assert folder.id not in {each.id for each in await client.folders.list(sandbox.workspace_id)}
