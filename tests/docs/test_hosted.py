"""The hosted pipeline calls what there is, on the versions that are claimed, with actions that cannot move."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
HOSTED = sorted([*ROOT.glob(".github/workflows/*.yml"), *ROOT.glob(".github/actions/*/action.yml")])
# Jobs that call something else than the Makefile: they start no program of the project.
PLAIN = {"checks/passed", "release/attest", "release/announce"}


def read(path: Path) -> dict[str, Any]:
    """Return what a file of the pipeline says."""
    found: dict[str, Any] = YAML(typ="safe").load(path)
    return found


def jobs() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Give each job with the name of its workflow and its own."""
    for path in ROOT.glob(".github/workflows/*.yml"):
        for name, job in read(path)["jobs"].items():
            yield path.stem, name, job


def commands() -> dict[str, list[str]]:
    """Return what each job runs, by its name."""
    return {f"{of}/{name}": [step["run"] for step in job.get("steps", ()) if "run" in step] for of, name, job in jobs()}


def test_jobs_run_commands_of_the_makefile() -> None:
    """Whatever a job runs is a target of the Makefile, so that a contributor can run it, too."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for name, runs in commands().items():
        for run in runs if name not in PLAIN else ():
            called = re.match(r"make ([a-z-]+)(?: [A-Z]+=(?:\w+|\"\$\w+\"|\"\$\{GITHUB_REF_NAME#v\}\"))*$", run)
            assert called is not None, f"{name} runs {run}"
            assert called[1] in targets, f"{name} runs {run}"


def test_the_required_check_waits_for_all_others() -> None:
    """A branch requires one check, which needs every other job."""
    checks = read(ROOT / ".github/workflows/checks.yml")["jobs"]
    assert sorted(checks["passed"]["needs"]) == sorted(set(checks) - {"passed"})


def test_the_matrix_has_the_claimed_versions() -> None:
    """The versions that must pass on Linux are those of the classifiers and of `make versions`."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    classifiers = re.findall(r"'Programming Language :: Python :: (3\.\d+)'", str(settings["classifiers"]))
    here = re.findall(r"^claimed='(.*)'$", (ROOT / ".ci/find-python").read_text(), re.MULTILINE)
    quick = read(ROOT / ".github/workflows/checks.yml")["jobs"]["quick"]
    assert quick["strategy"]["matrix"]["python"] == classifiers == here[0].split()
    assert settings["requires-python"] == f">={classifiers[0]}"
    installed = read(ROOT / ".github/workflows/checks.yml")["jobs"]["installed"]
    newest = read(ROOT / ".github/workflows/nightly.yml")["jobs"]["newest"]
    assert all(job["strategy"]["matrix"]["python"] == classifiers for job in (installed, newest))
    assert installed["continue-on-error"] == quick["continue-on-error"]
    assert quick["continue-on-error"] == "${{ matrix.os != 'ubuntu-24.04' }}"


def test_each_action_is_pinned() -> None:
    """An action is named by a whole commit, with its version as a comment, and by the same one everywhere."""
    pinned: dict[str, set[str]] = {}
    for path in HOSTED:
        for action in re.findall(r"^ *-? *uses: (.*)$", path.read_text(), re.MULTILINE):
            if action.startswith("./"):
                assert (ROOT / action).exists(), action
                continue
            found = re.fullmatch(r"([\w.-]+/[\w.-]+)[\w/-]*@([0-9a-f]{40} # v\d+\.\d+\.\d+)", action)
            assert found is not None, f"{path.name}: {action}"
            pinned.setdefault(found[1], set()).add(found[2])
    assert pinned
    assert [name for name, versions in pinned.items() if len(versions) > 1] == []


def test_no_job_has_rights_by_default() -> None:
    """A workflow gives no rights, and only the jobs that need one have it."""
    assert {name for name in ROOT.glob(".github/workflows/*.yml") if read(name)["permissions"] != {}} == set()
    writing = {
        f"{workflow}/{name}": sorted(right for right, level in job["permissions"].items() if level == "write")
        for workflow, name, job in jobs()
        if "write" in job.get("permissions", {}).values()
    }
    assert writing == {
        "codeql/analyse": ["security-events"],
        "release/announce": ["contents"],
        "release/attest": ["attestations", "id-token"],
        "release/publish": ["id-token"],
        "scorecard/scorecard": ["id-token", "security-events"],
    }


def test_what_is_published_is_what_was_checked() -> None:
    """A release builds nothing: it takes the packages that the checks built, after all of them have passed."""
    release = read(ROOT / ".github/workflows/release.yml")["jobs"]
    assert release["checks"]["uses"] == "./.github/workflows/checks.yml"
    assert [release[name]["needs"] for name in ("attest", "publish", "announce")] == ["checks", "attest", "publish"]
    assert release["publish"]["environment"]["name"] == "pypi"
    built = [
        step["run"] for step in read(ROOT / ".github/workflows/checks.yml")["jobs"]["package"]["steps"] if "run" in step
    ]
    assert built[0] == "make dist"
    taken = [step["with"]["name"] for step in release["publish"]["steps"] if "download" in step["uses"]]
    assert taken == ["packages"]


def test_the_host_of_the_documentation_installs_what_the_makefile_does() -> None:
    """Read the Docs builds with the same extras as `make docs`, and warnings are errors there, too."""
    host = read(ROOT / ".readthedocs.yaml")
    extras = re.findall(r"^EVERYTHING := --editable ('.*')$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert host["build"]["jobs"]["install"][-1] == f"pip install --editable {extras[0]} --group docs"
    assert host["sphinx"] == {"configuration": "docs/conf.py", "fail_on_warning": True}


def test_addresses_are_those_of_the_project() -> None:
    """Each address of the host of the code or of the documentation is below one that `pyproject.toml` names."""
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]
    for path in [*ROOT.glob(".github/**/*.*"), *ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for address in re.findall(r"https://(?:github\.com/cmsapi|[\w.-]*cmsapi[\w-]*\.)[^\s)>\"']*", path.read_text()):
            assert f"{address}/".startswith((f"{urls['Repository']}/", urls["Documentation"])), (
                f"{path.name}: {address}"
            )
