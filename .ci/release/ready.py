"""What has to be true before a release."""

from __future__ import annotations

import re

from packaging.version import InvalidVersion, Version

from release import changelog
from release.errors import ReleaseError
from release.project import VERSION_FILE, written_version
from release.repository import Repository

# What README.md says until the first version is published.
UNPUBLISHED = "not on a package index yet"


def problems(repository: Repository, text: str) -> list[str]:
    """Return what stands in the way of a release, nothing if it may begin.

    Args:
        repository: What is to be released.
        text: The version, as it was given.
    """
    return [*_of_the_version(repository, text), *_of_the_work_tree(repository), *_of_what_is_told(repository)]


def _of_the_version(repository: Repository, text: str) -> list[str]:
    try:
        version = Version(text)
    except InvalidVersion:
        version = None
    if version is None or str(version) != text or not re.fullmatch(r"\d+\.\d+\.\d+(rc\d+)?", text):
        return [f"VERSION must look like 1.2.3, or like 1.2.3rc1 for a trial, got {text!r}."]
    found = []
    if repository.versions and version <= repository.versions[-1]:
        last = repository.versions[-1]
        found.append(f"VERSION must be greater than {last}, the last one that has a tag, got {version}.")
    if version < (written := written_version(repository.root)):
        found.append(f"VERSION must not be less than {written}, which {VERSION_FILE} has, got {version}.")
    if repository.git("tag", "--list", f"v{version}"):
        found.append(f"The tag v{version} exists. A version is released once.")
    return found


def _of_the_work_tree(repository: Repository) -> list[str]:
    found = []
    if repository.branch != "main":
        found.append(f"The branch `main` must be checked out, got {repository.branch or 'none'}.")
    if changed := repository.changed:
        found.append(f"The work tree must be clean; commit or remove: {', '.join(changed)}.")
    if repository.behind:
        found.append("`main` lacks commits of `origin/main`: pull them first.")
    if repository.nameless:
        found.append("git does not know who makes the release: set `user.name` and `user.email`.")
    return found


def _of_what_is_told(repository: Repository) -> list[str]:
    root = repository.root
    found = changelog.problems(root)
    if not found:
        try:
            changelog.released(root, "0")
        except ReleaseError as error:
            found.append(str(error))
    if repository.versions and UNPUBLISHED in (root / "README.md").read_text(encoding="utf-8"):
        found.append(f"README.md says that the package is {UNPUBLISHED}, and there is a tag: say how to install it.")
    return found
