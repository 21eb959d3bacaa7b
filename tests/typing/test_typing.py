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
