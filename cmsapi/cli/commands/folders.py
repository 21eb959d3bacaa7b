"""`cmsapi folders`."""

from __future__ import annotations

import sys

from rich.text import Text
from rich.tree import Tree

import cmsapi
from cmsapi.cli.support.completing import WorkspaceId
from cmsapi.cli.support.connecting import connect
from cmsapi.cli.terminal.output import TABLE, Columns, Output, print_list, printable
from cmsapi.cli.terminal.progress import PipeConsole
from cmsapi.jobs.fanout.forecast import counted

_COLUMNS: Columns[cmsapi.Folder] = {
    "id": lambda folder: folder.id,
    "name": lambda folder: folder.name,
    "contents": lambda folder: folder.nb_associated_contents,
    "parent": lambda folder: folder.parent_folder_id,
}


async def folders(workspace_id: WorkspaceId, *, output: Output = TABLE) -> None:
    """Show the folders of a workspace as a tree; one request.

    Args:
        workspace_id: The workspace.
    """
    async with connect() as client:
        tree = await client.folders.list(workspace_id)
    if output:
        print_list(tree, _COLUMNS, output, cmsapi.to_dict)
        return
    drawn = Tree(counted(len(tree), "folder"))
    # Folders may nest deeper than Python's own stack allows.
    above = [(drawn, folder) for folder in reversed(tree.roots)]
    while above:
        parent, folder = above.pop()
        count = folder.nb_associated_contents
        label = Text(f"{printable(folder.name)}  {counted(count, 'content')}  ")
        below = parent.add(label.append(folder.id, style="dim"))
        above += [(below, child) for child in reversed(tree.children(folder.id))]
    console = PipeConsole(width=None if sys.stdout.isatty() else 1000)
    console.print(drawn)
