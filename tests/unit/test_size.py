"""The record of sizes shows when a package grows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import size

MODULE = '''"""What it is for,
in two lines."""

import os  # a reason


class Thing:
    """A thing."""

    # Why it has a name.
    name: str = """a text
of two lines"""
    """Its name."""
'''


def test_only_code_counts() -> None:
    """Docstrings, comments and empty lines do not count; each line of a text does."""
    assert size.lines_of_code(MODULE) == 4


def test_rooms_are_counted_with_all_below_them(tmp_path: Path) -> None:
    """A folder of the package is one room; of the jobs each folder is."""
    for name in ("client.py", "api/wire/json.py", "jobs/job.py", "jobs/fanout/batch.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("ONE = 1\n")
    assert size.measured(tmp_path) == {tmp_path.name: 1, "api": 1, "jobs": 1, "jobs/fanout": 1}


@pytest.mark.parametrize(("lines", "refused"), [(900, False), (1020, False), (1021, True)])
def test_a_fiftieth_is_admitted(lines: int, refused: bool) -> None:
    """More growth than that is named, with the room and both numbers."""
    found = list(size.grown({"state": lines}, size.read("state 1000\n")))
    assert bool(found) is refused
    assert all("state" in line and "1,000" in line for line in found)


def test_a_new_package_is_recorded() -> None:
    """A package that the record does not have is named."""
    assert len(list(size.grown({"state": 5}, {}))) == 1
