"""Folders of a workspace, and the tree that they form (specification 2.3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import frozen

from cmsapi.models.base import Model


@frozen(kw_only=True, slots=False)
class Folder(Model):
    """A folder for contents.

    Attributes:
        depth: Number of folders above it, as counted by the service.
        parent_folder_id: Identifier of the folder above it; None for a top-level folder.
    """

    id: str
    name: str | None = None
    depth: int | None = None
    nb_associated_contents: int | None = None
    parent_folder_id: str | None = None


class FolderTree:
    """The tree of a workspace's folders, made from the service's flat list.

    The roots are the folders without a parent in the list, and one folder of each cycle of parents. Siblings keep the
    order of the list. Iterating over the tree yields each folder once, before the folders below it.

    Attributes:
        roots: Folders at the top of the tree.
    """

    def __init__(self, folders: Iterable[Folder]) -> None:
        self._folders = {folder.id: folder for folder in folders}
        self._parents: dict[str, str | None] = {}
        for id_ in self._folders:
            self._place(id_)
        below: dict[str | None, list[Folder]] = {None: []}
        for folder in self._folders.values():
            below.setdefault(self._parents[folder.id], []).append(folder)
        self.roots: tuple[Folder, ...] = tuple(below.pop(None))
        self._children = {id_: tuple(below.get(id_, ())) for id_ in self._folders}

    def _place(self, id_: str) -> None:
        """Record the parent of a folder and of each folder above it; None for a root. A cycle is cut at one folder."""
        passed = set()
        while id_ not in self._parents:
            passed.add(id_)
            parent = self._folders[id_].parent_folder_id
            if parent is None or parent not in self._folders or parent in passed:
                self._parents[id_] = None  # the top, or the place where a cycle is cut
                return
            self._parents[id_] = parent
            id_ = parent

    def children(self, folder: Folder | str) -> tuple[Folder, ...]:
        """Return the folders directly below ``folder``, which is a `Folder` or its identifier.

        Raises:
            KeyError: The folder is not in the tree.
        """
        return self._children[_id(folder)]

    def path(self, folder: Folder | str) -> tuple[Folder, ...]:
        """Return the path from a root to ``folder``, including both. ``folder`` is a `Folder` or its identifier.

        Raises:
            KeyError: The folder is not in the tree.
        """
        upwards = [self._folders[_id(folder)]]
        while (parent := self._parents[upwards[-1].id]) is not None:
            upwards.append(self._folders[parent])
        return tuple(reversed(upwards))

    def walk(self) -> Iterator[tuple[int, Folder]]:
        """Yield ``(depth, folder)`` for all folders, each before the folders below it; a root has depth 0."""
        pending = [(0, folder) for folder in reversed(self.roots)]
        while pending:
            depth, folder = pending.pop()
            yield depth, folder
            pending += [(depth + 1, child) for child in reversed(self.children(folder))]

    def __iter__(self) -> Iterator[Folder]:
        return (folder for _, folder in self.walk())

    def __len__(self) -> int:
        return len(self._folders)


def _id(folder: Folder | str) -> str:
    return folder.id if isinstance(folder, Folder) else folder
