"""The folder tree accepts every list that the service may send."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given

from cmsapi.models import Folder, FolderTree
from tests.support.spec import spec
from tests.support.strategies import folder_lists


def folder(id_: str, parent: str | None = None) -> Folder:
    """Return a folder."""
    return Folder(id=id_, parent_folder_id=parent)


@spec("2.3:parentFolderId")
def test_a_tree_keeps_the_order_of_the_list() -> None:
    """Roots, children and the walk follow the list, whether parents come before or after their children."""
    tree = FolderTree([folder("b", "a"), folder("a"), folder("c", "b"), folder("d"), folder("e", "a")])
    assert "".join(each.id for each in tree.roots) == "ad"
    assert "".join(each.id for each in tree.children("a")) == "be"
    assert [(depth, each.id) for depth, each in tree.walk()] == [(0, "a"), (1, "b"), (2, "c"), (1, "e"), (0, "d")]
    assert "".join(each.id for each in tree.path(folder("c"))) == "abc"
    assert len(tree) == 5


def test_a_parent_that_is_missing_makes_a_root() -> None:
    """A folder whose parent is not in the list is at the top level."""
    tree = FolderTree([folder("a", "gone")])
    assert [each.id for each in tree.roots] == ["a"]


def test_an_unknown_folder_is_refused() -> None:
    """A mistyped identifier raises an error instead of giving an empty folder."""
    tree = FolderTree([folder("a")])
    with pytest.raises(KeyError):
        tree.children("b")
    with pytest.raises(KeyError):
        tree.path("b")


@given(folder_lists)
def test_no_folder_is_lost(folders: list[Folder]) -> None:
    """Whatever the parents, a walk meets each folder once, at the depth of its path."""
    tree = FolderTree(folders)
    walked = list(tree.walk())
    assert sorted(each.id for each in folders) == sorted(each.id for _, each in walked)
    for depth, each in walked:
        path = tree.path(each)
        assert path[-1] == each
        assert path[0] in tree.roots
        assert depth == len(path) - 1
        assert all(child in tree.children(parent) for parent, child in pairwise(path))


@given(folder_lists)
def test_a_parent_is_kept_where_there_is_no_circle(folders: list[Folder]) -> None:
    """A folder is below its parent, unless the parent is missing or the folder is a root that cuts a cycle."""
    tree = FolderTree(folders)
    by_id = {each.id: each for each in folders}
    for each in tree.roots:
        above, parent = set[str](), each.parent_folder_id
        while parent in by_id and parent not in above:
            above.add(parent)
            parent = by_id[parent].parent_folder_id
        assert each.parent_folder_id not in by_id or each.id in above


def test_a_long_chain_is_no_burden() -> None:
    """A chain and a cycle of thousands of folders are built and walked without recursion."""
    chain = [folder(str(number), str(number + 1)) for number in range(5_000)]
    assert len(FolderTree(chain).path("0")) == 5_000
    assert len(list(FolderTree([*chain, folder("5000", "0")]))) == 5_001
