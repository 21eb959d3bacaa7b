"""What the project says of itself: its version and its address."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.version import Version

from release.errors import ReleaseError

VERSION_FILE = Path("cmsapi/_version.py")
_ASSIGNED = re.compile(r'^__version__ = "([^"]*)"$', re.MULTILINE)


def written_version(root: Path) -> Version:
    """Return the version that the package has now."""
    found = _ASSIGNED.search((root / VERSION_FILE).read_text(encoding="utf-8"))
    if found is None:
        raise ReleaseError(f'{VERSION_FILE} must have a line `__version__ = "1.2.3"`.')
    return Version(found[1])


def write_version(root: Path, version: Version) -> None:
    """Give the package a version."""
    path = root / VERSION_FILE
    path.write_text(_ASSIGNED.sub(f'__version__ = "{version}"', path.read_text(encoding="utf-8")), encoding="utf-8")


def address(root: Path) -> str:
    """Return the address of the repository on its host."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["urls"]["Repository"])
