"""The lock file of the dependencies."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_locked_versions_come_from_the_public_index() -> None:
    """The lock file names no other index than the public one, and each file with its digest."""
    text = (ROOT / "uv.lock").read_text()
    assert set(re.findall(r"https?://[^/\"]+", text)) == {"https://pypi.org", "https://files.pythonhosted.org"}
    for package in tomllib.loads(text)["package"]:
        files = [*package.get("wheels", []), *filter(None, [package.get("sdist")])]
        assert all(file["hash"].startswith("sha256:") for file in files)
        assert files or package["name"] == "cmsapi"
