"""What is published: the source distribution has all that its own tests need."""

from __future__ import annotations

import email
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the source distribution and unpack it."""
    place = tmp_path_factory.mktemp("distribution")
    # Not in an environment of its own, which would need the network.
    build = [sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", str(place)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (packed,) = place.glob("*.tar.gz")
    with tarfile.open(packed) as archive:
        archive.extractall(place, filter="data")
    return packed.with_name(packed.name.removesuffix(".tar.gz"))


def test_its_tests_are_all_found_and_run(unpacked: Path) -> None:
    """Every test is collected where it was unpacked, and those that read the files of the project pass."""
    for arguments in (["--collect-only"], ["tests/docs/test_contributing.py"]):
        run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
        ended = subprocess.run(run, cwd=unpacked, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stdout[-2000:]


def test_its_description_stands_alone(unpacked: Path) -> None:
    """On an index no link or picture leads to a file of the repository, and each licence is named."""
    told = email.message_from_string((unpacked / "PKG-INFO").read_text(encoding="utf-8"))
    assert told.get_all("License-File") == ["LICENSE", "tests/support/naughty/LICENSE"]
    assert "docs/tutorial.md" in str(told.get_payload())
    assert re.findall(r"\]\((?!https?:|#).*?\)|<(?:img|picture|source)", str(told.get_payload())) == []
    assert "\nOne hour of 300 keyword analyses" in str(told.get_payload())
