"""What the documentation shows is what happens."""

from __future__ import annotations

import asyncio
import pkgutil
import re
import runpy
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import cmsapi
import cmsapi.sandbox
import cmsapi.testing
from cmsapi.sandbox import Sandbox
from tests.support.pages import PAGES, PROGRAMS, ROOT, VirtualTime, run_page
from tools.interface import tables

#: Where the events of the log and the metrics have their names, which begin like those of modules.
EVENTS_AND_METRICS = sorted((ROOT / "cmsapi/observability").glob("*.py"))


#: Classes whose page names them in no block, each with the reason. Resources are shown as `client.users` and so on.
UNSHOWN = {
    # The page links to the example of the page on errors.
    "cmsapi.IdentifierWarning",
    # It is part of an answer; a `Page` has its facts.
    "cmsapi.Pagination",
    # The three are keyword arguments of `create` and `update`, and what a change of `edit` returns.
    "cmsapi.ContentFields",
    "cmsapi.NewContent",
    "cmsapi.ContentChanges",
}


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.fixture
def virtual_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[VirtualTime]:
    """A loop on which hours take no time; `asyncio.run` uses it too, and the environment names a sandbox."""
    # A page imports on its loop, where no file may be read; a program imports before its loop.
    dir(cmsapi.testing)
    monkeypatch.chdir(tmp_path)
    with VirtualTime() as time:
        sandbox = Sandbox()
        time.run(sandbox.serve())
        monkeypatch.setenv("CMSAPI_API_KEY", sandbox.api_key)
        monkeypatch.setenv("CMSAPI_BASE_URL", sandbox.base_url)
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        monkeypatch.setattr(asyncio, "run", time.run)
        yield time
        time.run(sandbox.aclose())


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_block_of_a_page_runs(page: Path, virtual_time: VirtualTime) -> None:
    """Each Python block runs, in order, and prints what the page says."""
    run_page(page, virtual_time)


@pytest.mark.parametrize("program", PROGRAMS, ids=_name)
def test_an_example_runs(
    program: Path,
    virtual_time: VirtualTime,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each example runs on its own sandbox without an argument, and ends with the line that its docstring promises."""
    monkeypatch.setattr(sys, "argv", [str(program)])
    monkeypatch.delenv("CMSAPI_API_KEY")
    monkeypatch.delenv("CMSAPI_BASE_URL")
    names = runpy.run_path(str(program), run_name="__main__")
    promised = names["__doc__"].strip().splitlines()[-1].strip()
    assert promised == capsys.readouterr().out.strip().splitlines()[-1]


def test_the_reference_has_every_public_name() -> None:
    """A public name that the reference does not describe is not public."""
    text = "\n".join(page.read_text() for page in ROOT.glob("docs/reference/*.md"))
    described = set(re.findall(r"^\.\. (?:auto\w+|py:data):: (cmsapi[\w.]*)", text, re.MULTILINE))
    public = {f"cmsapi.{name}" for name in cmsapi.__all__ if name != "__version__"}
    public |= {f"cmsapi.sandbox.{name}" for name in cmsapi.sandbox.__all__}
    public |= {f"cmsapi.testing.{name}" for name in set(cmsapi.testing.__all__) - set(cmsapi.sandbox.__all__)}
    assert set() == public - described


def test_the_reference_shows_every_class_at_work() -> None:
    """A class of the reference is in a block of its page that runs, or in what that block prints."""
    missing = set()
    for page in ROOT.glob("docs/reference/*.md"):
        text = page.read_text()
        blocks = "".join(re.findall(r"^```(?:python|text)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
        named = set(re.findall(r"\w+", blocks))
        described = re.findall(r"^\.\. auto(?:class|exception):: (cmsapi\.(?!resources)[\w.]+)", text, re.MULTILINE)
        missing |= {name for name in described if name.rpartition(".")[2] not in named}
    assert missing == UNSHOWN


def test_pages_attach_jobs_with_their_kind() -> None:
    """Without the kind the result is `Any` to a type checker."""
    texts = [path.read_text() for path in (*PAGES, *PROGRAMS)]
    untyped = [call for text in texts for call in re.findall(r"jobs\.attach\([^,()]*\)", text)]
    # The page on errors shows what is no token.
    assert untyped == ['jobs.attach("no token")']


def test_every_command_of_the_documentation_exists() -> None:
    """`make something` names a target of the Makefile."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {name for page in PAGES for name in re.findall(r"(?:`|^)make ([a-z-]+)", page.read_text(), re.MULTILINE)}
    assert named
    assert set() == named - targets


def test_paths_of_the_drawing_exist() -> None:
    """A module or test that a page names is there, so that the drawing cannot rot."""
    for page in PAGES:
        for path in re.findall(r"\b(?:cmsapi|tests|docs)/[\w/]+\.(?:py|md)\b", page.read_text()):
            assert (ROOT / path).exists(), f"{_name(page)} names {path}"


def test_files_of_the_packages_exist() -> None:
    """Each file that the table of packages names is there, below the package of its row."""
    rows = re.findall(r"^\| `([\w/]+/)` \| (.*) \|$", (ROOT / "docs/architecture.md").read_text(), re.MULTILINE)
    assert len(rows) > 10
    for package, told in rows:
        for path in re.findall(r"`([\w/]+(?:\.py|/))`", told):
            assert (ROOT / "cmsapi" / package / path).exists(), f"{package} has no {path}"


def test_names_of_the_table_of_changes_exist() -> None:
    """Each path of the table that says where to change what is there, and each name is in a file of its row."""
    table = (ROOT / "docs/architecture.md").read_text().partition("| to change … | go to |")[2].partition("\n\n")[0]
    rows = [re.findall(r"`([^`]+)`", row) for row in table.splitlines()[2:]]
    assert len(rows) > 15
    for told in rows:
        paths = [ROOT / path for path in told if "/" in path]
        assert paths, told
        assert all(path.exists() for path in paths), told
        files = [file for path in paths for file in ([path] if path.is_file() else path.glob("*.py"))]
        text = "\n".join(file.read_text() for file in files)
        for name in told:
            assert "/" in name or re.search(rf"\b{name.rpartition('.')[2].rstrip('=')}\b", text), f"{name} in {paths}"


def test_names_in_comments_lead_somewhere() -> None:
    """A module, or a name in a module, that a docstring, a comment or a page names is there."""
    told = set(re.findall(r'"(cmsapi(?:\.\w+)+)"', "".join(path.read_text() for path in EVENTS_AND_METRICS)))
    assert "cmsapi.call.started" in told
    code = [path for folder in ("cmsapi", "tests", "benchmarks") for path in ROOT.glob(f"{folder}/**/*.py")]
    for file in [*set(PAGES) - {ROOT / "CHANGELOG.md"}, *code]:
        for name in set(re.findall(r"`(cmsapi(?:\.\w+)+)`", file.read_text())) - told:
            try:
                pkgutil.resolve_name(name)
            except (ImportError, AttributeError):
                pytest.fail(f"{_name(file)} names {name}")


def test_the_drawing_has_the_layers_of_the_contract() -> None:
    """The layers of the drawing are those that import-linter holds."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contract = next(found for found in settings["tool"]["importlinter"]["contracts"] if found["type"] == "layers")
    drawing = (ROOT / "docs/architecture.md").read_text().split("```")[1]
    assert contract["layers"] == [re.split(r" {2,}", line)[0] for line in drawing.strip().splitlines()]


def test_the_table_of_operations_is_fresh() -> None:
    """Each row of the table in the documentation is the row of the table in the code."""
    assert (ROOT / tables.OPERATIONS).read_text() == tables.of_operations()
