"""Release a version: `python -m release 1.2.3`, with `--dry-run` to only try it."""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from pathlib import Path

from packaging.version import Version

from release import changelog, ready
from release.building import make_packages, place
from release.errors import ReleaseError
from release.project import write_version
from release.repository import Repository
from release.running import Steps, run
from release.trying import try_source, try_wheel

# What the Makefile of the project may have; each that it has must pass.
CHECKS = ("check", "docs", "interface")


def release(repository: Repository, text: str, *, dry: bool) -> None:
    """Release a version, or do all of it but what stays.

    Args:
        repository: What is released.
        text: The version.
        dry: Whether to leave the repository as it was.

    Raises:
        ReleaseError: Something stands in the way, or a step failed. The repository is as it was.
    """
    steps = Steps()
    with steps.step("Look at the repository: branch, work tree, version, tags, fragments"):
        if found := ready.problems(repository, text):
            raise ReleaseError("\n".join(["This stands in the way of a release:", *(f"- {line}" for line in found)]))
        last = repository.versions[-1] if repository.versions else "none"
        steps.say(f"main at {repository.head[:12]}, last version: {last}")
    targets = re.findall(r"^([a-z-]+):", (repository.root / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for target in (target for target in CHECKS if target in targets):
        with steps.step(f"make {target}"):
            # A trial has the interface of the version that it tries.
            run(["make", "--no-print-directory", target, f"VERSION={Version(text).base_version}"], repository.root)
    if changed := repository.changed:
        raise ReleaseError(f"The checks have changed {', '.join(changed)}: commit that first.")
    with tempfile.TemporaryDirectory(prefix="cmsapi-release-") as folder:
        scratch = Path(folder)
        with steps.step("Write the version and its section of the changelog, and commit, in a clone"):
            clone, commit = prepare(repository, Version(text), scratch / "clone")
            steps.say(clone.git("show", "--stat=100", "--format=%h %s", commit))
        built = make_packages(clone, scratch / "packages", steps)
        with steps.step("Unpack the source distribution, and run its quick tests there"):
            steps.say(try_source(built[1]))
        place(built, clone.root)
        try_wheel(clone.root, steps)
        if dry:
            return
        with steps.step(f"Commit to main, tag v{text}, and fill dist/ and build/"):
            repository.take(clone, commit, f"v{text}", f"cmsapi {text}")
            for path in place(built, repository.root):
                steps.say(str(path.relative_to(repository.root)))


def prepare(repository: Repository, version: Version, place: Path) -> tuple[Repository, str]:
    """Make the commit of a version in a clone.

    Returns:
        The clone, and the commit.
    """
    clone = repository.clone(place)
    write_version(clone.root, version)
    changelog.collect(clone.root, str(version))
    return clone, clone.commit(f"Release {version}")


def main() -> None:
    """Read the command line, and say what to do next."""
    parser = argparse.ArgumentParser(prog="make release", description="Release a version.")
    parser.add_argument("version")
    parser.add_argument("--dry-run", action="store_true", help="leave no commit, no tag and no file")
    options = parser.parse_args()
    began = time.monotonic()
    print(f"Release of cmsapi {options.version}{', dry run' if options.dry_run else ''}\n")
    try:
        release(Repository(Path.cwd()), options.version, dry=options.dry_run)
    except ReleaseError as error:
        sys.exit(f"\n{error}\n\nNothing was released; the repository is as it was.")
    print(f"\nAll steps passed, in {(time.monotonic() - began) / 60:.0f} min.")
    if options.dry_run:
        print(f"No commit, tag or file is left. `make release VERSION={options.version}` makes the release.")
    else:
        print(f"Next: git push --atomic origin main v{options.version}")
        print("The hosted pipeline runs everything for the tag, and then publishes. docs/releasing.md tells the rest.")


if __name__ == "__main__":
    main()
