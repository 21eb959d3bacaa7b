"""What a release refuses, on a real repository."""

from __future__ import annotations

import pytest

from release import ready
from release.repository import Repository


def refused(repository: Repository, version: str = "0.3.0") -> str:
    """Return the only thing that stands in the way of a release."""
    (problem,) = ready.problems(repository, version)
    return problem


@pytest.mark.parametrize("version", ["0.2.1", "0.3.0", "1.0.0", "0.3.0rc1", "0.10.0"])
def test_a_clean_repository_may_be_released(repository: Repository, version: str) -> None:
    """Nothing stands in the way of a greater version, or of a trial of one."""
    assert ready.problems(repository, version) == []


@pytest.mark.parametrize(
    "version", ["", "1", "0.3", "v0.3.0", "0.3.0-rc1", "0.3.0.dev1", "0.3.0b1", "0.3.0+x", "00.3.0", "0.3.0\n", "x"]
)
def test_a_malformed_version_is_refused(repository: Repository, version: str) -> None:
    """A version has three numbers, and at most the number of a trial."""
    assert (
        refused(repository, version) == f"VERSION must look like 1.2.3, or like 1.2.3rc1 for a trial, got {version!r}."
    )


@pytest.mark.parametrize("version", ["0.1.9", "0.2.0rc1"])
def test_a_version_that_is_not_greater_is_refused(repository: Repository, version: str) -> None:
    """A version is greater than that of each tag, and not less than what the package says."""
    assert ready.problems(repository, version) == [
        f"VERSION must be greater than 0.2.0, the last one that has a tag, got {version}.",
        f"VERSION must not be less than 0.2.0, which cmsapi/_version.py has, got {version}.",
    ]


def test_versions_are_compared_as_numbers(repository: Repository) -> None:
    """A tag of 0.10.0 is later than 0.9.0, and a tag that is no version counts for nothing."""
    repository.git("tag", "v0.10.0")
    repository.git("tag", "vacation")
    assert (
        refused(repository, "0.9.0") == "VERSION must be greater than 0.10.0, the last one that has a tag, got 0.9.0."
    )


def test_a_version_is_released_once(repository: Repository) -> None:
    """The tag of the version may not exist."""
    assert "The tag v0.2.0 exists. A version is released once." in ready.problems(repository, "0.2.0")


def test_another_branch_is_refused(repository: Repository) -> None:
    """A release is made on main."""
    repository.git("switch", "--quiet", "--create", "feature")
    assert refused(repository) == "The branch `main` must be checked out, got feature."
    repository.git("switch", "--quiet", "--detach")
    assert refused(repository) == "The branch `main` must be checked out, got none."


def test_a_changed_file_is_refused(repository: Repository) -> None:
    """A file that is changed, or that git does not know, would not be what is released."""
    (repository.root / "README.md").write_text("Other.\n")
    (repository.root / "note.txt").touch()
    (repository.root / "dist").mkdir()
    (repository.root / "dist" / "ignored").touch()
    assert refused(repository) == "The work tree must be clean; commit or remove: README.md, note.txt."


def test_a_branch_that_is_behind_is_refused(repository: Repository) -> None:
    """What others have pushed, as last fetched, belongs to the release."""
    repository.git("update-ref", "refs/remotes/origin/main", repository.head)
    assert ready.problems(repository, "0.3.0") == []
    later = repository.git("commit-tree", "-p", "HEAD", "-m", "Later", "HEAD^{tree}")
    repository.git("update-ref", "refs/remotes/origin/main", later)
    assert refused(repository) == "`main` lacks commits of `origin/main`: pull them first."


def test_a_release_has_a_maker(repository: Repository) -> None:
    """Git has to know who makes the commit and the tag."""
    repository.git("config", "user.useConfigOnly", "true")
    repository.git("config", "--unset", "user.email")
    assert refused(repository) == "git does not know who makes the release: set `user.name` and `user.email`."


def test_a_release_has_something_to_tell(repository: Repository) -> None:
    """A version without an entry of the changelog is refused."""
    (repository.root / "docs/changes/quick.md").unlink()
    repository.commit("Tell nothing")
    assert (
        refused(repository)
        == "There is nothing to tell: docs/changes has no fragment, CHANGELOG.md no unreleased entry."
    )


def test_a_malformed_fragment_is_refused(repository: Repository) -> None:
    """A fragment that the changelog cannot take is named."""
    (repository.root / "docs/changes/quick.md").write_text("It is quick.\n")
    repository.commit("Tell anything")
    assert refused(repository).startswith("docs/changes/quick.md:1: a line must be a heading")


def test_a_readme_that_tells_of_no_index_is_refused(repository: Repository) -> None:
    """Once there is a version, the README says how to install it."""
    (repository.root / "README.md").write_text("The package is not on a package index yet.\n")
    repository.commit("Forget it")
    assert refused(repository).startswith(
        "README.md says that the package is not on a package index yet, and there is a tag"
    )
    repository.git("tag", "--delete", "v0.2.0")
    assert ready.problems(repository, "0.3.0") == []


def test_all_that_stands_in_the_way_is_named_at_once(repository: Repository) -> None:
    """A second try is not needed to learn of the second problem."""
    repository.git("switch", "--quiet", "--create", "feature")
    (repository.root / "docs/changes/quick.md").unlink()
    assert len(ready.problems(repository, "0.2")) == 4
