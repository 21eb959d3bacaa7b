"""What is published: a wheel without surprises, and a source distribution that has all that its own tests need."""

from __future__ import annotations

import email
import re
import subprocess
import sys
import tomllib
import zipfile
from email.message import Message
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def build(source: Path, target: str, directory: Path) -> Path:
    """Build the wheel or the source distribution of a folder."""
    # Not in an environment of its own, which would need the network.
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(directory)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (built,) = directory.glob("*.whl" if target == "wheel" else "*.tar.gz")
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel."""
    return build(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def names(wheel: Path) -> list[str]:
    """Return the names of the files of the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the source distribution and unpack it."""
    packed = build(ROOT, "sdist", tmp_path_factory.mktemp("distribution"))
    subprocess.run(["tar", "-xzf", str(packed), "-C", str(packed.parent)], check=True)  # noqa: S607
    return packed.with_name(packed.name.removesuffix(".tar.gz"))


@pytest.fixture(scope="module")
def told(unpacked: Path) -> Message:
    """Return what an index is told of the package."""
    return email.message_from_string((unpacked / "PKG-INFO").read_text(encoding="utf-8"))


def test_the_wheel_has_the_package_and_nothing_else(names: list[str], told: Message) -> None:
    """It has the files of the package, among them the marker of types, and no tests, caches or other folders."""
    information = f"cmsapi-{told['Version']}.dist-info"
    listed = {
        f"{information}/{name}" for name in ("METADATA", "WHEEL", "entry_points.txt", "licenses/LICENSE", "RECORD")
    }
    package = ROOT / "cmsapi"
    files = {path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert set(names) == listed | {path.relative_to(ROOT).as_posix() for path in files}
    assert len(names) == len(set(names))
    assert "cmsapi/py.typed" in names
    assert {path.suffix for path in files} == {".py", ".pyi", ".typed", ".html", ".js", ".css"}


def test_licences_are_those_of_what_is_inside(unpacked: Path, told: Message) -> None:
    """The notice of the strings that the tests borrow lies beside them; the wheel has neither."""
    assert told.get_all("License-File") == ["LICENSE"]
    assert "The cmsapi authors" in (unpacked / "LICENSE").read_text(encoding="utf-8")
    assert (unpacked / "tests/support/naughty/strings.json").is_file()
    assert "Max Woolf" in (unpacked / "tests/support/naughty/LICENSE").read_text(encoding="utf-8")


def test_a_wheel_of_the_source_distribution_is_the_same(wheel: Path, unpacked: Path, tmp_path: Path) -> None:
    """The wheel that somebody builds from the source distribution has the same bytes."""
    assert build(unpacked, "wheel", tmp_path).read_bytes() == wheel.read_bytes()


def test_its_tests_are_all_found_and_run(unpacked: Path) -> None:
    """Every test is collected where it was unpacked, and those that read the files of the project pass."""
    for arguments in (["--collect-only"], ["tests/docs/test_contributing.py"]):
        run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
        ended = subprocess.run(run, cwd=unpacked, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stdout[-2000:]


def test_its_description_stands_alone(told: Message) -> None:
    """On an index no picture or link is relative, no comment is left, and no command needs a checkout."""
    description = str(told.get_payload())
    assert re.findall(r"\]\((?!https?:|#).*?\)|<(?:picture|source|!--)|(?:src|href)=\"(?!https:)", description) == []
    assert "\npip install 'cmsapi[cli]'\n" in description
    assert re.findall(r"checkout\[|make demo|not on a package index", description) == []


def test_links_of_its_description_lead_to_its_version(told: Message) -> None:
    """Each link leads to a page, and each picture to a file, of the version that is published."""
    addresses = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]
    description, version = str(told.get_payload()), told["Version"]
    pages = f"{addresses['Documentation']}en/v{version}/"
    repository = re.escape(addresses["Repository"])
    files = rf"(?:{repository}/(?:blob|tree)|{repository.replace('github', 'raw.githubusercontent')})/v{version}/"
    found = re.findall(r"(?:\]\(|src=\")(https:[^)\"]+)", description)
    assert len(found) > 20
    for address in found:
        if address.startswith(pages):
            path = "docs/" + address.removeprefix(pages).partition("#")[0].replace(".html", ".md")
        else:
            path, replaced = re.subn(f"^{files}", "", address)
            assert replaced, address
        assert (ROOT / path).exists(), address
        assert not (ROOT / path).is_dir() or "/tree/" in address
