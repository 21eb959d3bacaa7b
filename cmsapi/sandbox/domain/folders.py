"""Folders: a flat list that describes a tree (specification, sections 2.3 and 4.2)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from cmsapi.sandbox.messages.resources import show
from cmsapi.sandbox.world.records import Folder

if TYPE_CHECKING:
    from cmsapi.sandbox.messages.call import Call
    from cmsapi.sandbox.messages.resources import Document
    from cmsapi.sandbox.world.store import Store


def list_folders(call: Call) -> Document:
    """List all folders of a workspace, without pagination (section 1, rule 5)."""
    workspace = call.workspace()
    folders = call.store.of_workspace(call.store.folders, workspace.id)
    contents = Counter(content.folder_id for content in call.store.contents.values())
    if call.world.behaviour.order == "newest":
        folders.reverse()
    return {"data": [_show(call.store, folder, contents[folder.id]) for folder in folders]}


def create_folder(call: Call) -> Document:
    """Create a folder, at the top level or below another."""
    workspace = call.workspace()
    parent_id = call.body.get("parentFolderId")
    call.reference(call.store.folders, workspace.id, parent_id, "parentFolderId")
    folder = Folder(call.store.new_id("fld"), workspace.id, call.body["name"], parent_id, call.world.now)
    call.store.folders[folder.id] = folder
    call.target_id = folder.id
    return _show(call.store, folder, 0)


def delete_folder(call: Call) -> None:
    """Delete a folder; its contents stay, without a folder."""
    folder = call.find(call.store.folders, "folderId")
    new_parent = folder.parent_id if call.world.behaviour.subfolders == "parent" else None
    call.store.delete_folder(folder.id, new_parent=new_parent)


def _show(store: Store, folder: Folder, contents: int) -> Document:
    depth, parent_id = 0, folder.parent_id
    while parent_id is not None:
        depth, parent_id = depth + 1, store.folders[parent_id].parent_id
    return show("Folder", folder, depth=depth, nb_associated_contents=contents, parent_folder_id=folder.parent_id)
