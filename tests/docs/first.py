"""Run the first program of the README in a process of its own, on a real loop: `python -m tests.docs.first`.

The pages run in virtual time, where a loop of their own takes the place of the one that `asyncio.run` makes. What only
happens to a newcomer's program shows here.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"
# Seconds; it takes about ten.
PATIENCE = 60


def blocks() -> tuple[str, str]:
    """Return the program that the README calls first.py, and what it says that is printed."""
    program = r"first\.py`[^`]*```python\n(?P<program>.*?)```\n+```text\n(?P<printed>.*?)```"
    found = re.search(program, README.read_text(), re.DOTALL)
    assert found is not None
    return found["program"], found["printed"]


def main() -> None:
    """Run it, and fail when it prints something else, warns, or does not end."""
    program, printed = blocks()
    command = [sys.executable, "-W", "error", "-c", program]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    sys.stdout.write(ended.stdout)
    sys.stderr.write(ended.stderr)
    if (ended.returncode, ended.stdout, ended.stderr) != (0, printed, ""):
        sys.exit(f"The first program of the README did not print {printed!r}, exit {ended.returncode}.")


if __name__ == "__main__":
    main()
