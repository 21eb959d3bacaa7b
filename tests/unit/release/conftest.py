"""A small project in a git repository of its own, which can be released."""

from __future__ import annotations

from pathlib import Path

import pytest

from release.repository import Repository

FILES = {
    "pyproject.toml": """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "cmsapi"
dynamic = ["version"]
requires-python = ">=3.11"
[project.urls]
Repository = "https://github.com/cmsapi/cmsapi"
[tool.hatch.version]
path = "cmsapi/_version.py"
""",
    "cmsapi/__init__.py": "",
    "cmsapi/_version.py": '"""The version."""\n\n__version__ = "0.2.0"\n',
    "README.md": "# A small project\n",
    "CHANGELOG.md": "# Changelog\n\n## [0.2.0] - 2026-11-01\n\n### Added\n\n- All.\n",
    "docs/changes/README.md": "Write one file for each change.\n",
    "docs/changes/quick.md": "### Fixed\n\n- It is quick.\n",
    ".gitignore": "dist/\n",
}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """Return a clean repository whose version 0.2.0 has a tag, and which has something to tell."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for variable in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "EMAIL"):
        monkeypatch.delenv(variable, raising=False)
    root = tmp_path / "project"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    made = Repository(root)
    made.git("init", "--quiet", "--initial-branch", "main")
    made.git("config", "user.name", "Releaser")
    made.git("config", "user.email", "releaser@example.com")
    made.commit("Begin")
    made.git("tag", "--annotate", "--message", "cmsapi 0.2.0", "v0.2.0")
    return made
