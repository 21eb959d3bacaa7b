"""Each line of the page about threats names a test that exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/threat-model.md").read_text(encoding="utf-8")
#: The lines that have a defence: in tables whose last column is that of tests.
LINES = [
    line
    for table in re.findall(r"^\| threat \| defence \| test \|\n\|---\|---\|---\|\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    for line in table.splitlines()
]


def test_every_chapter_has_lines() -> None:
    """Each chapter but those of assets and of what is not defended has a table with tests."""
    chapters = re.findall(r"^## (.*)$", PAGE, re.MULTILINE)
    assert len(chapters) == PAGE.count("| threat | defence | test |") + 1
    assert len(LINES) > 40


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.split("|")[1].strip())
def test_a_line_names_tests_that_exist(line: str) -> None:
    """Each named file is there, and has the named test."""
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert len(cells) == 3
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", cells[2])
    assert named, line
    for name, function in named:
        tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
        tests = {
            node.name
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
        }
        assert function in tests, f"{name} has no {function}"
