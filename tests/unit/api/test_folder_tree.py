"""The tree of folders takes every list the service may send."""

from __future__ import annotations

import copy
import itertools
import pickle

import pytest
from hypothesis import given, strategies as st

from cmsapi.api.models.folder import Folder, FolderTree
from cmsapi.api.wire.converter import to_dict

identifiers = st.sampled_from("abcdefgh")


def folder(id_: str, parent: str | None = None) -> Folder:
    """Make a folder."""
    return Folder(id=id_, name=id_.upper(), depth=0, nb_associated_contents=0, parent_folder_id=parent)


def ids(folders: tuple[Folder, ...]) -> str:
    """Return the identifiers of folders as one word."""
    return "".join(each.id for each in folders)


def test_a_tree_is_walked_both_ways() -> None:
    """Roots, children and paths keep the service's order."""
    tree = FolderTree([folder("b", "a"), folder("a"), folder("c", "b"), folder("d"), folder("e", "a")])

    assert (
        ids(tree.roots),
        ids(tree.children("a")),
        ids(tree.children("d")),
        ids(tree.path("c")),
    ) == ("ad", "be", "", "abc")
    assert "bacde" == ids(tuple(tree)) == ids(tree[:])
    assert (len(tree), tree[0].id, tree[-1].id) == (5, "b", "e")
    assert tree[1] is tree.get("a")
    assert tree.get("z") is None
    assert tree[0] in tree


def test_ownership_are_refused() -> None:
    """A mistyped identifier is an error, not an empty folder."""
    tree = FolderTree()

    assert tree.roots == ()
    for look in (tree.path, tree.children):
        with pytest.raises(KeyError):
            look("z")


def test_orphans_and_circles_become_roots() -> None:
    """What cannot hang below its parent is a root; of a circle, the first folder is."""
    assert ids(FolderTree([folder("a", "gone")]).roots) == "a"
    assert ids(FolderTree([folder("a", "a")]).roots) == "a"
    tree = FolderTree([folder("t", "c"), folder("b", "a"), folder("c", "b"), folder("a", "c")])
    assert (
        ids(tree.roots),
        ids(tree.children("b")),
        ids(tree.children("c")),
        ids(tree.path("t")),
    ) == ("b", "c", "ta", "bct")


def test_the_first_of_equal_identifiers_is_in_the_tree() -> None:
    """A repeated folder stays in the sequence only."""
    tree = FolderTree([folder("a"), folder("a", "b"), folder("b")])

    assert (ids(tree.roots), ids(tree.children("b")), ids(tuple(tree))) == ("ab", "", "aab")
    assert tree.get("a") is tree[0]


@given(st.lists(st.builds(folder, identifiers, st.none() | identifiers), max_size=12))
def test_every_folder_is_reached_exactly_once(folders: list[Folder]) -> None:
    """Whatever the parents, walking down meets each identifier once, and walking up ends at a root."""
    tree = FolderTree(folders)
    reached: list[str] = []
    below = list(tree.roots)
    while below:
        here = below.pop()
        reached.append(here.id)
        below.extend(tree.children(here.id))

    assert sorted({each.id for each in folders}) == sorted(reached)
    for id_ in reached:
        path = tree.path(id_)
        assert path[0] in tree.roots
        assert id_ == path[-1].id
        assert all(child in tree.children(parent.id) for parent, child in itertools.pairwise(path))


@given(st.lists(st.builds(folder, identifiers, st.none() | identifiers), max_size=5))
def test_trees_are_values(folders: list[Folder]) -> None:
    """Equal lists make equal trees, which hash, pickle, copy and go back to documents."""
    tree = FolderTree(folders)

    for twin in (FolderTree(iter(folders)), pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree)):  # noqa: S301
        assert tree == twin
        assert hash(tree) == hash(twin)
        assert tree.roots == twin.roots
    assert tree != folders
    assert to_dict(folders) == to_dict(tree)
    assert f"FolderTree({folders!r})" == repr(tree)


def test_a_long_chain_is_no_burden() -> None:
    """A chain and a circle of 20,000 folders are built without recursion."""
    chain = [folder(str(number), str(number + 1)) for number in range(20_000)]
    assert len(FolderTree(chain).path("0")) == 20_000
    assert FolderTree([*chain, folder("20000", "0")]).roots[0].id == "0"
