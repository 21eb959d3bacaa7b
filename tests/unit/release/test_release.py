"""Commit and tag of a release, and two builds of it, on a real repository."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from release.__main__ import prepare
from release.building import build_twice
from release.description import judge
from release.errors import ReleaseError
from release.materials import complete
from release.repository import Repository

ROOT = Path(__file__).parents[3]


def state(repository: Repository) -> tuple[str, ...]:
    """Return all that a release may change."""
    files = sorted(str(path) for path in repository.root.rglob("*") if ".git" not in path.parts)
    objects = repository.git("count-objects", "-v")
    return (repository.git("show-ref"), repository.git("status", "--porcelain"), objects, *files)


def test_a_release_is_prepared_beside_the_repository(repository: Repository, tmp_path: Path) -> None:
    """The commit of a clone has the version and its section, takes the fragments away, and changes nothing here."""
    before = state(repository)
    clone, commit = prepare(repository, Version("0.3.0"), tmp_path / "clone")
    assert state(repository) == before
    assert clone.git("show", "--no-patch", "--format=%s by %an", commit) == "Release 0.3.0 by Releaser"
    assert clone.git("show", "--name-status", "--format=", commit).splitlines() == [
        "M\tCHANGELOG.md",
        "M\tcmsapi/_version.py",
        "D\tdocs/changes/quick.md",
    ]
    assert '__version__ = "0.3.0"' in (clone.root / "cmsapi/_version.py").read_text()
    assert "### Fixed\n\n- It is quick.\n\n## [0.2.0]" in (clone.root / "CHANGELOG.md").read_text()


def test_a_release_ends_with_a_commit_and_an_annotated_tag(repository: Repository, tmp_path: Path) -> None:
    """The branch has the commit, the tag names it and says the version, and the work tree is clean."""
    clone, commit = prepare(repository, Version("0.3.0"), tmp_path / "clone")
    repository.take(clone, commit, "v0.3.0", "cmsapi 0.3.0")
    assert (repository.branch, repository.head, repository.changed) == ("main", commit, [])
    assert repository.git("cat-file", "-t", "v0.3.0") == "tag"
    assert repository.git("rev-parse", "v0.3.0^{commit}") == commit
    assert repository.git("tag", "--list", "--format=%(contents:subject)", "v0.3.0") == "cmsapi 0.3.0"
    assert '__version__ = "0.3.0"' in (repository.root / "cmsapi/_version.py").read_text()


def test_a_branch_that_moves_meanwhile_is_left_alone(repository: Repository, tmp_path: Path) -> None:
    """A commit during the release makes it fail, and leaves no tag."""
    clone, commit = prepare(repository, Version("0.3.0"), tmp_path / "clone")
    repository.git("commit", "--quiet", "--allow-empty", "--message", "Meanwhile")
    head = repository.head
    with pytest.raises(ReleaseError, match="merge"):
        repository.take(clone, commit, "v0.3.0", "cmsapi 0.3.0")
    assert (repository.head, repository.git("tag", "--list")) == (head, "v0.2.0")


@pytest.mark.slow
def test_a_refused_release_says_why_and_changes_nothing(repository: Repository) -> None:
    """The command fails and lists all that stands in the way."""
    repository.git("switch", "--quiet", "--create", "feature")
    before = state(repository)
    command = [sys.executable, "-m", "release", "0.2.0"]
    env = {**os.environ, "PYTHONPATH": str(ROOT / ".ci")}
    ended = subprocess.run(command, cwd=repository.root, env=env, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert [line for line in ended.stderr.splitlines() if line.startswith("- ")] == [
        "- VERSION must be greater than 0.2.0, the last one that has a tag, got 0.2.0.",
        "- The tag v0.2.0 exists. A version is released once.",
        "- The branch `main` must be checked out, got feature.",
    ]
    assert "Nothing was released; the repository is as it was." in ended.stderr
    assert state(repository) == before


@pytest.mark.slow
def test_a_check_that_fails_stops_the_release(repository: Repository) -> None:
    """The end of what the check printed is shown, and nothing has changed."""
    (repository.root / "Makefile").write_text("check:\n\t@echo 'a name is misspelt'; exit 3\n")
    repository.commit("Check")
    before = state(repository)
    command = [sys.executable, "-m", "release", "0.3.0"]
    env = {**os.environ, "PYTHONPATH": str(ROOT / ".ci")}
    ended = subprocess.run(command, cwd=repository.root, env=env, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert re.search(r"make .* check .*failed with exit code 2:\na name is misspelt\n", ended.stderr)
    assert state(repository) == before


def test_the_bill_of_materials_names_what_the_wheel_needs() -> None:
    """It names the package by version and digest, leaves out installers, and has the same serial each time."""
    bill: dict[str, Any] = {
        "metadata": {"component": {"bom-ref": "root", "name": "cmsapi"}},
        "components": [{"bom-ref": name} for name in ("aiohttp", "yarl", "pip")],
        "dependencies": [
            {"ref": "root", "dependsOn": ["aiohttp"]},
            {"ref": "aiohttp", "dependsOn": ["yarl"]},
            {"ref": "yarl"},
            {"ref": "pip"},
        ],
    }
    complete(bill, "cmsapi", "0.2.0", "abc")
    assert [each["bom-ref"] for each in bill["components"]] == ["aiohttp", "yarl"]
    assert [each["ref"] for each in bill["dependencies"]] == ["root", "aiohttp", "yarl"]
    package = bill["metadata"]["component"]
    assert (package["purl"], package["hashes"][0]["content"]) == ("pkg:pypi/cmsapi@0.2.0", "abc")
    serial = bill["serialNumber"]
    complete(bill, "cmsapi", "0.2.0", "abc")
    assert bill["serialNumber"] == serial


@pytest.mark.parametrize(
    ("text", "page", "told"),
    [
        ('<img src="https://x/a.svg">', "<p></p>", "leaves some out"),
        ("![A](https://x/a.svg)", "<p>A</p>", "leaves some out"),
        ('<img src="docs/a.svg">', '<img src="docs/a.svg">', "got docs/a.svg"),
        ("[why](docs/why.md)", '<a href="docs/why.md">why</a>', "got docs/why.md"),
    ],
)
def test_a_page_that_leads_nowhere_is_refused(text: str, page: str, told: str) -> None:
    """What an index cannot show is named before it is published."""
    with pytest.raises(ReleaseError, match=told):
        judge(text, page)


def test_a_page_that_is_whole_is_published() -> None:
    """Whole addresses and parts of the page itself are fine."""
    judge('# A\n<img src="https://x/a.svg">', '<h1><a href="#a">A</a></h1><img src="https://x/a.svg">')


@pytest.mark.slow
def test_two_builds_have_the_same_bytes(repository: Repository, tmp_path: Path) -> None:
    """Path, times, modes, order of files, time zone and seed of hashes do not matter, and the time is the commit's."""
    wheel, packed = build_twice(repository, tmp_path)
    assert (wheel.name, packed.name) == ("cmsapi-0.2.0-py3-none-any.whl", "cmsapi-0.2.0.tar.gz")
    with tarfile.open(packed) as archive:
        assert {member.mtime for member in archive} == {int(repository.time)}
    with zipfile.ZipFile(wheel) as archive:
        assert {member.external_attr >> 16 & 0o777 for member in archive.infolist()} == {0o644}


@pytest.mark.slow
def test_builds_that_differ_are_refused(repository: Repository, tmp_path: Path) -> None:
    """A build that writes its path into the wheel is found out, and the packages are named."""
    (repository.root / "hatch_build.py").write_text(
        "from pathlib import Path\n"
        "from hatchling.builders.hooks.plugin.interface import BuildHookInterface\n"
        "class Hook(BuildHookInterface):\n"
        "    def initialize(self, version, build_data):\n"
        "        Path(self.root, 'cmsapi', 'where.txt').write_text(self.root)\n"
    )
    with (repository.root / "pyproject.toml").open("a") as file:
        file.write("[tool.hatch.build.targets.wheel.hooks.custom]\n")
    repository.commit("Write where it was built")
    with pytest.raises(ReleaseError, match=r"those of cmsapi-0.2.0-py3-none-any.whl differ"):
        build_twice(repository, tmp_path)
