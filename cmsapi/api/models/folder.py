"""Folders of a workspace and the tree they form (specification, section 2.3).

The service returns the folders flat, and the client rebuilds the hierarchy with `parentFolderId`. Its value at the top
is not shown (published: null), and nothing rules out parents that are missing, repeated or their own descendants. The
tree takes every list: what cannot hang below its parent becomes a root, so that each folder is reached exactly once.
"""

from __future__ import annotations

import functools
from typing import Any

import attrs

from cmsapi.api.model import REQUIRED, Model
from cmsapi.api.page import Page
from cmsapi.display import markup


@attrs.frozen(kw_only=True)
class Folder(Model):
    """Describe a folder of contents.

    Args:
        id: Identifier.
        name: Name, which a folder may lack.
        depth: Distance from the top, where it is 0.
        nb_associated_contents: Number of contents in it.
        parent_folder_id: The folder around it; None at the top.
    """

    id: str = attrs.field(metadata=REQUIRED)
    name: str | None = None
    depth: int
    nb_associated_contents: int
    parent_folder_id: str | None = None


class FolderTree(Page[Folder]):
    """Describe the folders of a workspace: a sequence in the service's order, and a tree.

    A folder whose parent is missing is a root. Of folders that contain each other in a circle, the first one is a
    root. Of folders with the same identifier, the first one is in the tree, and all are in the sequence.

    Args:
        items: The folders as the service listed them.
    """

    @functools.cached_property
    def _by_id(self) -> dict[str, Folder]:
        by_id: dict[str, Folder] = {}
        for folder in self.items:
            by_id.setdefault(folder.id, folder)
        return by_id

    @functools.cached_property
    def _parents(self) -> dict[str, str]:
        return _parents(self._by_id)

    @functools.cached_property
    def _children(self) -> dict[str, list[Folder]]:
        children: dict[str, list[Folder]] = {}
        for id_, parent in self._parents.items():
            children.setdefault(parent, []).append(self._by_id[id_])
        return children

    @functools.cached_property
    def roots(self) -> tuple[Folder, ...]:
        """The folders at the top."""
        return tuple(folder for id_, folder in self._by_id.items() if id_ not in self._parents)

    def get(self, id: str) -> Folder | None:  # noqa: A002  the word of the interface
        """Return the folder with this identifier, or None."""
        return self._by_id.get(id)

    def children(self, id: str) -> tuple[Folder, ...]:  # noqa: A002  likewise
        """Return the folders directly inside a folder.

        Raises:
            KeyError: No folder has this identifier.
        """
        self._by_id[id]
        return tuple(self._children.get(id, ()))

    def path(self, id: str) -> tuple[Folder, ...]:  # noqa: A002  likewise
        """Return the folders from the root down to and including a folder.

        Raises:
            KeyError: No folder has this identifier.
        """
        way = [self._by_id[id]]
        while (parent := self._parents.get(way[-1].id)) is not None:
            way.append(self._by_id[parent])
        return tuple(reversed(way))

    def __eq__(self, other: object) -> bool:
        return self.items == other.items if isinstance(other, FolderTree) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.items)

    def __repr__(self) -> str:
        return f"FolderTree({list(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return FolderTree, (self.items,)

    def _repr_html_(self) -> str:
        parts = [f"<p>{len(self)} folders</p>"]
        # An own stack: nothing bounds how deep folders nest.
        unwritten: list[Folder | None] = list(reversed(self.roots))
        parts.append("<ul>")
        while unwritten:
            folder = unwritten.pop()
            if folder is None:
                parts.append("</ul></li>")
                continue
            label = f"{markup.brief(folder.name or folder.id)} ({folder.nb_associated_contents})"
            parts.append(f"<li>{markup.text(label)}<ul>")
            unwritten += [None, *reversed(self.children(folder.id))]
        return "".join([*parts, "</ul>"])


def _parents(by_id: dict[str, Folder]) -> dict[str, str]:
    """Map each folder that hangs below another to it, without circles."""
    parents = {
        id_: folder.parent_folder_id
        for id_, folder in by_id.items()
        if folder.parent_folder_id is not None and folder.parent_folder_id in by_id
    }
    order = {id_: place for place, id_ in enumerate(by_id)}
    visited: set[str] = set()
    for start in by_id:
        way: list[str] = []
        here: str | None = start
        while here is not None and here not in visited:
            visited.add(here)
            way.append(here)
            here = parents.get(here)
        if here in way:
            circle = way[way.index(here) :]
            del parents[min(circle, key=order.__getitem__)]
    return parents
