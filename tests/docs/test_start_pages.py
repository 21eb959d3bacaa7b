"""What a newcomer reads first: each page for programs says the same of batches and restarts, and times are true."""

from __future__ import annotations

import pytest

from tests.support.pages import ROOT


@pytest.mark.parametrize("name", ["service", "workers", "synchronous"])
def test_each_start_page_says_what_a_restart_means(name: str) -> None:
    """It names the batch, a shared state, what is paid again, and where that is explained."""
    page = " ".join((ROOT / f"docs/start/{name}.md").read_text().split())
    for part in ("{term}`batch`", "{term}`state`", "sqlite:///", "background-workers.md"):
        assert part in page
    assert "A batch knows what it has launched, not what was analysed before." in page
    assert "pay again for the same keyword" in page


def test_the_readme_installs_before_it_explains() -> None:
    """Installing stands before the first steps, and the demonstration has the time of a fresh clone."""
    readme = (ROOT / "README.md").read_text()
    assert readme.index("## Install it") < readme.index("## Try it") < readme.index("## Why")
    first = next(line for line in readme.splitlines() if line.startswith("make demo"))
    assert "two minutes the first time" in first
    assert "two minutes the first time" in next(
        line for line in (ROOT / "Makefile").read_text().splitlines() if line.startswith("demo:")
    )
