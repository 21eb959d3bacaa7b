"""Run the project on the page about testing."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

PAGE = (Path(__file__).parents[3] / "docs/how-to/testing.md").read_text()


@pytest.mark.slow
def test_the_project_of_the_page_passes_its_tests(pytester: pytest.Pytester) -> None:
    """Its tests pass; the one that the page shows failing prints the message of the page."""
    files = re.findall(r"^```(?:py|toml)\n# (\S+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert [name for name, _ in files] == [
        "pyproject.toml",
        "nightly.py",
        "test_nightly.py",
        "test_wrong.py",
        "test_weather.py",
        "test_answers.py",
    ]
    assert len(files) == len(re.findall(r"^```(?:py|toml)$", PAGE, re.MULTILINE))
    for name, text in files:
        (pytester.path / name).write_text(text)
    result = pytester.runpytest_inprocess("-p", "no:randomly", "-p", "no:cacheprovider", "--durations=6")
    result.assert_outcomes(passed=14, failed=1)
    said = "".join(f"{line[1:].strip()}\n" for line in result.outlines if line.startswith("E  "))
    (promised,) = re.findall(r"^```\n(expected .*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    same = doctest.OutputChecker().check_output(
        f"AssertionError: {promised}", said, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    assert same, said
