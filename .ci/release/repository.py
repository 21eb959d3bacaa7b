"""The git repository that is released: what is in it, and the few changes that a release makes."""

from __future__ import annotations

from pathlib import Path

from packaging.version import InvalidVersion, Version

from release.errors import ReleaseError
from release.running import run

# What a commit in the clone has to have in common with one here.
_SETTINGS = ("user.name", "user.email", "user.signingkey", "commit.gpgsign", "gpg.format", "gpg.program")


class Repository:
    """Ask and change a git repository.

    Args:
        root: Its work tree.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def git(self, *arguments: str) -> str:
        """Run git and return what it printed, without the last line break."""
        return run(["git", *arguments], self.root).rstrip("\n")

    @property
    def branch(self) -> str:
        """The branch that is checked out, empty if none is."""
        return self.git("branch", "--show-current")

    @property
    def head(self) -> str:
        """The commit that is checked out."""
        return self.git("rev-parse", "HEAD")

    @property
    def time(self) -> str:
        """When the commit that is checked out was made, in seconds."""
        return self.git("show", "--no-patch", "--format=%ct", "HEAD")

    @property
    def changed(self) -> list[str]:
        """The files that are changed, or that git neither knows nor ignores."""
        return [line[3:] for line in self.git("status", "--porcelain").splitlines()]

    @property
    def versions(self) -> list[Version]:
        """The versions of all tags, the greatest last."""
        found = []
        for tag in self.git("tag", "--list", "v*").splitlines():
            try:
                found.append(Version(tag.removeprefix("v")))
            except InvalidVersion:
                continue
        return sorted(found)

    @property
    def behind(self) -> bool:
        """Whether `origin/main`, as last fetched, has commits that are missing here."""
        if not self.git("for-each-ref", "refs/remotes/origin/main"):
            return False
        return self.git("rev-list", "--count", "HEAD..refs/remotes/origin/main") != "0"

    @property
    def nameless(self) -> bool:
        """Whether git does not know who makes a commit."""
        try:
            self.git("var", "GIT_COMMITTER_IDENT")
        except ReleaseError:
            return True
        return False

    def clone(self, place: Path) -> Repository:
        """Clone what is checked out, with the settings for commits."""
        run(["git", "clone", "--quiet", str(self.root), str(place)], self.root)
        clone = Repository(place)
        for setting in _SETTINGS:
            if value := self.git("config", "--default", "", "--get", setting):
                clone.git("config", setting, value)
        return clone

    def commit(self, message: str) -> str:
        """Commit all changes and return the commit."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)
        return self.head

    def take(self, clone: Repository, commit: str, tag: str, message: str) -> None:
        """Put a commit of a clone, which follows the present one, on the branch, and tag it.

        Raises:
            ReleaseError: The branch has moved meanwhile, or the tag exists. Then nothing has changed.
        """
        self.git("fetch", "--quiet", str(clone.root), commit)
        self.git("tag", "--annotate", "--message", message, tag, commit)
        try:
            self.git("merge", "--quiet", "--ff-only", commit)
        except ReleaseError:
            self.git("tag", "--delete", tag)
            raise
