"""Try what was built as its users do: install the wheel, and run the tests of the source distribution.

`python -m release.trying` does the latter with what is in `dist/`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from release.errors import ReleaseError
from release.running import Steps, run


def install(root: Path, environment: Path, wheel: str, python: str) -> None:
    """Install a wheel into a new environment, with uv or pip, as the Makefile finds them."""
    command = ["make", "--no-print-directory", f"VENV={environment}", f"PYTHON={python}", f"WHEEL={wheel}"]
    run([*command, "install-wheel"], root)


def try_wheel(root: Path, steps: Steps) -> None:
    """Install the wheel in `dist/` for each Python that is claimed and found, and run what the README begins with.

    Args:
        root: The project.
        steps: The list of steps.
    """
    for name in run([".ci/find-python", "all"], root).split():
        with steps.step(f"Install the wheel for {name}; run the first program of README.md and `cmsapi demo`"):
            printed = run(["make", "--no-print-directory", "installed", f"PYTHON={name}"], root)
            # The last line tells the versions.
            steps.say(printed.strip().splitlines()[-1])


def try_source(packed: Path) -> str:
    """Unpack the source distribution into a clean folder and run its quick tests there, with the present interpreter.

    Args:
        packed: The source distribution.

    Returns:
        The last line of the tests, which counts them.
    """
    with tempfile.TemporaryDirectory(prefix="cmsapi-sdist-") as folder:
        # The module of Python cannot refuse dangerous names in all versions of 3.11.
        run(["tar", "-xzf", str(packed), "-C", folder], packed.parent)
        (unpacked,) = Path(folder).iterdir()
        tests = [
            "-m",
            "pytest",
            "-q",
            "-n",
            "3",
            "-m",
            "not slow",
            "-p",
            "no:cacheprovider",
            "tests/docs",
            "tests/unit",
        ]
        return run([sys.executable, *tests], unpacked).strip().splitlines()[-1]


def main() -> None:
    """Try the source distribution in `dist/`."""
    try:
        (packed,) = Path("dist").glob("*.tar.gz")
        print(try_source(packed))
    except ValueError:
        sys.exit("dist/ must have one source distribution: run make dist.")
    except ReleaseError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
