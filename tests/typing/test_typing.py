"""The programs beside this module, under pyright; mypy checks them with all other modules.

The program of the README is checked as it is printed there, by both.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs" / "how-to" / "fan-out.md"
README = ROOT / "README.md"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_pyright_sees_the_expected_errors_and_no_others() -> None:
    """Each program is checked in strict mode, and a comment that expects an error which does not come is one."""
    command = [sys.executable, "-m", "pyright", "--warnings", "--pythonpath", sys.executable, "--project", str(HERE)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def batch_program(tmp_path: Path) -> Path:
    """Write the program of the README that runs a batch to a file."""
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    (program,) = [block for block in blocks if "client.jobs.batch(" in block]
    path = tmp_path / "program.py"
    path.write_text(program)
    return path


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("mode", ["standard", "strict"])
def test_pyright_accepts_the_program_of_the_readme(mode: str, batch_program: Path) -> None:
    """A user who copies the batch gets no error in either mode."""
    settings = {"include": ["program.py"], "extraPaths": [str(ROOT)], "typeCheckingMode": mode}
    (batch_program.parent / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "--warnings", "--pythonpath", sys.executable]
    done = subprocess.run([*command, "--project", str(batch_program.parent)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_mypy_accepts_the_program_of_the_readme(batch_program: Path) -> None:
    """A user who copies the batch gets no error in the strict mode of mypy."""
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir=.mypy", str(batch_program)]
    environment = {**os.environ, "MYPYPATH": str(ROOT)}
    done = subprocess.run(command, cwd=batch_program.parent, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


CHECKS = """
import cmsapi

def check(outcome: cmsapi.Outcome[str, cmsapi.Keyword]) -> None:
"""
CHECK = """
    {line}
        outcome.value.lacks("")
    else:
        outcome.error.add_note("")
"""


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_checks_of_outcomes_narrow_as_the_page_says(checker: str, tmp_path: Path) -> None:
    """Each line of the table is one that the checker understands, or one that it does not, as its column says."""
    rows = re.findall(r"^\| `(if .*:)` \| (yes|no).* \| (yes|no).* \|$", PAGE.read_text(), re.MULTILINE)
    assert rows[0][0] in README.read_text()
    program = CHECKS + "".join(CHECK.format(line=line) for line, *_ in rows)
    (tmp_path / "program.py").write_text(program)
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"include": ["program.py"], "extraPaths": [str(ROOT)]}))
    options = ["--pythonpath", sys.executable] if checker == "pyright" else ["program.py", "--config-file="]
    environment = {**os.environ, "MYPYPATH": str(ROOT)}
    command = [sys.executable, "-m", checker, *options]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    refused = {int(line) for line in re.findall(r"program\.py:(\d+):.*error", done.stdout)}
    starts = [number for number, text in enumerate(program.split("\n"), 1) if "if " in text]
    found = ["no" if refused & set(range(start, start + 4)) else "yes" for start in starts]
    assert found == [mypy if checker == "mypy" else pyright for _, mypy, pyright in rows], done.stdout
