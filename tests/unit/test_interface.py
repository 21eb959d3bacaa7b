"""The public interface changes on purpose: its record is fresh, and a change that breaks programs is named."""

from __future__ import annotations

import inspect
import shutil
import subprocess
from pathlib import Path

import pytest

import cmsapi
from tools.interface import comparison
from tools.interface.outside import CHAPTERS
from tools.interface.public import ROOT, is_read_only
from tools.interface.record import PLACE, PYTHON, chapters, is_fresh
from tools.interface.surface import Surface

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def surface() -> Surface:
    """The public names of this checkout."""
    return Surface.of()


def test_the_record_is_fresh() -> None:
    """A changed signature, option, variable, tool or format shows in the record, which a reviewer reads."""
    assert is_fresh(), f"run `make interface`, and look at what changed in {PLACE}"


def test_constructors_are_those_of_python(surface: Surface) -> None:
    """What is read without importing has the parameters that Python sees, also where attrs makes the constructor."""
    compared = 0
    for name, thing in surface.things.items():
        module, _, short = name.rpartition(".")
        kind = getattr(__import__(module, fromlist=[short]), short)
        if not thing.is_class or is_read_only(kind) or "__init__" not in thing.all_members:
            continue
        read = [(each.name, each.kind.name, each.required) for each in thing.all_members["__init__"].parameters]
        seen = [
            (each.name, each.kind.name.lower(), each.default is each.empty and "VAR" not in each.kind.name)
            for each in inspect.signature(kind).parameters.values()
        ]
        assert [each for each in read if each[0] != "self"] == seen, name
        compared += 1
    assert compared > 25


def test_the_page_has_each_chapter_of_the_record() -> None:
    """The page on versions says of each chapter what it promises."""
    page = (ROOT / "docs/versioning.md").read_text(encoding="utf-8")
    titles = list(chapters((ROOT / PLACE).read_text(encoding="utf-8")))
    assert titles == [PYTHON, *CHAPTERS]
    rows = [line.split("|")[1].strip().replace("`", "") for line in page.splitlines() if line.startswith("| ")]
    assert set(titles) <= set(rows)


BREAKING: dict[str, tuple[str, str, str, str]] = {
    "a parameter is removed": (
        "cmsapi/client.py",
        "        trust_env: bool = False,\n",
        "",
        "cmsapi.Client.__init__: parameter was removed (trust_env = False, keyword-only)",
    ),
    "a default changes": (
        "cmsapi/jobs/job.py",
        "async def wait(self, timeout: float | None = None,",
        "async def wait(self, timeout: float | None = 60.0,",
        (
            "cmsapi.Job.wait: parameter default was changed "
            "(timeout = None, positional or keyword → timeout = 60.0, positional or keyword)"
        ),
    ),
    "a default of attrs changes": (
        "cmsapi/config.py",
        "    max_attempts: int = attrs.field(default=5,",
        "    max_attempts: int = attrs.field(default=3,",
        (
            "cmsapi.RetryPolicy.__init__: parameter default was changed "
            "(max_attempts = 5, keyword-only → max_attempts = 3, keyword-only)"
        ),
    ),
    "a class is renamed": (
        "cmsapi/__init__.pyi",
        "Finished as Finished",
        "Finished as Ended",
        "cmsapi.Finished: was removed",
    ),
    "a word of an enumeration is removed": (
        "cmsapi/api/models/keyword.py",
        '    QUEUED = "queued"\n',
        "",
        "cmsapi.AnalysisStatus.QUEUED: public object was removed",
    ),
    "a parameter becomes keyword-only": (
        "cmsapi/jobs/namespace.py",
        "    def batch(self, name: str)",
        "    def batch(self, *, name: str)",
        "cmsapi.Jobs.batch: parameter kind was changed (name, positional or keyword → name, keyword-only)",
    ),
    "a new parameter is required": (
        "cmsapi/jobs/namespace.py",
        "    async def status(self, token: str)",
        "    async def status(self, token: str, why: str)",
        "cmsapi.Jobs.status: parameter was added as required (why, positional or keyword)",
    ),
    "a field of a model is renamed": (
        "cmsapi/api/models/keyword.py",
        "    search_volume: int | None",
        "    volume: int | None",
        "cmsapi.Keyword.search_volume: public object was removed",
    ),
}


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """A copy of the code and the reference with all of these changes."""
    for part in ("cmsapi", "docs/reference"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))
    for case, (name, before, after, _) in BREAKING.items():
        file = tmp_path / name
        text = file.read_text(encoding="utf-8")
        assert text.count(before) == 1, case
        file.write_text(text.replace(before, after), encoding="utf-8")
    return tmp_path


def test_what_breaks_programs_is_named(changed: Path, surface: Surface) -> None:
    """Each kind of change is found, and nothing else is said to break."""
    found = [each.text for each in comparison.breakages(surface, Surface.of(changed))]
    assert sorted(told for *_, told in BREAKING.values()) == sorted(found)


@pytest.mark.slow
def test_a_change_outside_python_is_named(tmp_path: Path) -> None:
    """What a record had and another has no more breaks, too; what is new does not."""
    for part in ("cmsapi", "docs/reference"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))
    record = tmp_path / PLACE
    text = record.read_text(encoding="utf-8")
    text = text.replace("cmsapi jobs list\n", "cmsapi jobs list\n    [--all]\n").replace("CMSAPI_LOG\n", "")
    record.write_text(text, encoding="utf-8")
    found = comparison.compare(tmp_path, ROOT)
    assert found == comparison.Comparison(("Commands: cmsapi jobs list: [--all]",), (), ("CMSAPI_LOG",))


@pytest.mark.parametrize(
    ("found", "earlier", "needed"),
    [
        (comparison.Comparison((), (), ()), "0.1.0", "0.1.1"),
        (comparison.Comparison((), (), ("cmsapi.New",)), "0.1.0", "0.2.0"),
        (comparison.Comparison(("cmsapi.Old: was removed",), (), ()), "0.1.2", "0.2.0"),
        (comparison.Comparison((), (), ("cmsapi.New",)), "1.4.2", "1.5.0"),
        (comparison.Comparison((), ("cmsapi.Job: async def wait()",), ()), "1.4.2", "1.5.0"),
        (comparison.Comparison(("cmsapi.Old: was removed",), (), ()), "1.4.2", "2.0.0"),
        (comparison.Comparison((), (), ()), "1.4.2", "1.4.3"),
    ],
)
def test_changes_say_which_version_is_next(found: comparison.Comparison, earlier: str, needed: str) -> None:
    """What breaks raises the first number, before 1.0 the second; what is new raises the second."""
    assert found.needed(earlier) == needed


def git(root: Path, *arguments: str) -> None:
    """Run git as somebody."""
    somebody = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.com", "-c", "commit.gpgSign=false"]
    subprocess.run(["git", *somebody, *arguments], cwd=root, check=True, capture_output=True)  # noqa: S607


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="NOT TESTED: no git")
def test_the_last_version_is_that_of_its_tag(tmp_path: Path) -> None:
    """The newest tag of a version is compared with, and no trial; before the first tag there is none."""
    for part in ("cmsapi", "docs/reference"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "Begin")
    assert comparison.last_tag(tmp_path) is None
    git(tmp_path, "tag", "--annotate", "v0.1.0", "--message", "0.1.0")
    name, before, after, told = BREAKING["a word of an enumeration is removed"]
    file = tmp_path / name
    file.write_text(file.read_text(encoding="utf-8").replace(before, after), encoding="utf-8")
    git(tmp_path, "commit", "--quiet", "--all", "--message", "Remove a word")
    git(tmp_path, "tag", "--annotate", "v0.2.0rc1", "--message", "0.2.0rc1")
    assert comparison.last_tag(tmp_path) == "v0.1.0"
    found = comparison.compare_with("v0.1.0", tmp_path)
    assert (found.breaking, found.changed, found.added) == ((told,), (), ())
    assert comparison.version_at("v0.1.0", tmp_path) == cmsapi.__version__
    with pytest.raises(comparison.NoSuchVersion):
        comparison.compare_with("v9.9.9", tmp_path)
