"""What contributors are told to run is what there is, and what a change has to pass."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def targets_with_help() -> set[str]:
    """Return what `make help` lists."""
    return set(re.findall(r"^([a-z-]+):.*## .", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_hooks_are_quick_and_known() -> None:
    """A commit runs the checks, a push the unit tests, and `make help` lists both."""
    hooks = re.findall(r"^ +entry: (.*)$", (ROOT / ".pre-commit-config.yaml").read_text(), re.MULTILINE)
    assert hooks == ["make check", "make unit"]
    assert {f"make {target}" for target in targets_with_help()} >= {*hooks}


def test_every_command_is_explained_to_contributors() -> None:
    """CONTRIBUTING.md names what `make help` lists, and nothing else."""
    named = set(re.findall(r"^\| `make ([a-z-]+)`", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE))
    assert named == targets_with_help() - {"help"}
