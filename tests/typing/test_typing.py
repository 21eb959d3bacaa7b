"""The programs beside this module, under pyright; mypy checks them with all other modules."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_pyright_sees_the_expected_errors_and_no_others() -> None:
    """Each program is checked in strict mode, and a comment that expects an error which does not come is one."""
    command = [sys.executable, "-m", "pyright", "--warnings", "--pythonpath", sys.executable, "--project", str(HERE)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
