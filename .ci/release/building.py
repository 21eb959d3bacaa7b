"""Build the wheel and the source distribution twice, and compare: `python -m release.building` fills `dist/`.

What is built is the commit, not the work tree. Both builds start from a clone of their own, which differ in what must
not matter: path, times, modes and order of the files, time zone, language and the seed of hashes.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

from release.description import check_page
from release.errors import ReleaseError
from release.materials import write_materials
from release.project import written_version
from release.repository import Repository
from release.running import Steps, run

# 3 September 2001: older than each file, and no time of a commit.
_LONG_AGO = 999_500_000


def build_twice(repository: Repository, scratch: Path) -> list[Path]:
    """Build the wheel and the source distribution of what is checked out, in two clones.

    Args:
        repository: What is built.
        scratch: An empty folder.

    Returns:
        The wheel and the source distribution.

    Raises:
        ReleaseError: The two builds differ. The error names the files that do.
    """
    plain = scratch / "plain"
    repository.clone(plain)
    other = scratch / "another place" / "of the same"
    _clone_differently(repository, other)
    first = _build(plain, scratch / "first", repository.time, {"TZ": "UTC", "PYTHONHASHSEED": "1"})
    different = {"TZ": "Asia/Kolkata", "PYTHONHASHSEED": "2", "LC_ALL": "C", "LANG": "C"}
    second = _build(other, scratch / "second", repository.time, different)
    if [path.name for path in first] != [path.name for path in second]:
        raise ReleaseError(f"The two builds must make the same files, got {first} and {second}.")
    unequal = [one.name for one, two in zip(first, second, strict=True) if digest(one) != digest(two)]
    if unequal:
        raise ReleaseError(
            f"Two builds of one commit must have the same bytes, and those of {' and '.join(unequal)} differ. Find out "
            "what matters: path, times, modes or order of the files, time zone, language, or the seed of hashes."
        )
    return first


def _clone_differently(repository: Repository, place: Path) -> None:
    previous = os.umask(0o077)
    try:
        place.parent.mkdir(parents=True)
        run(["git", "clone", "--quiet", "--no-checkout", str(repository.root), str(place)], repository.root)
        clone = Repository(place)
        clone.git("reset", "--quiet")
        names = clone.git("ls-files", "-z").split("\0")
        for begin in range(0, len(names), 500):
            batch = [name for name in reversed(names[begin : begin + 500]) if name]
            clone.git("checkout", "--quiet", "--", *batch)
    finally:
        os.umask(previous)
    for path in place.rglob("*"):
        if ".git" not in path.parts:
            os.utime(path, (_LONG_AGO, _LONG_AGO), follow_symlinks=False)


def _build(source: Path, directory: Path, epoch: str, env: dict[str, str]) -> list[Path]:
    # With the hatchling of this environment, which uv.lock names, so that another machine can have the same one.
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(directory)]
    run(command, source, {"SOURCE_DATE_EPOCH": epoch, **env})
    return sorted(directory.iterdir(), key=lambda path: path.suffix != ".whl")


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def check_packages(built: list[Path], scratch: Path) -> None:
    """Let twine, check-wheel-contents and the renderer of the index judge what was built.

    Raises:
        ReleaseError: One of them complains.
    """
    names = [str(path) for path in built]
    run([sys.executable, "-m", "twine", "check", "--strict", *names], scratch)
    run([sys.executable, "-m", "check_wheel_contents", names[0]], scratch)
    check_page(built[0], scratch)


def make_packages(repository: Repository, scratch: Path, steps: Steps) -> list[Path]:
    """Build, check and describe the packages, and print each step.

    Args:
        repository: What is built.
        scratch: An empty folder.
        steps: The list of steps.

    Returns:
        The wheel, the source distribution and the bill of materials.
    """
    with steps.step("Build twice, from two clones, and compare"):
        built = build_twice(repository, scratch)
        for path in built:
            steps.say(f"{path.name}  {path.stat().st_size:,} bytes  sha256 {digest(path)}")
    with steps.step("Check the packages with twine and check-wheel-contents, and the page that an index shows"):
        check_packages(built, scratch)
    with steps.step("Write the bill of materials (CycloneDX), with all extras in their newest versions"):
        materials, count = write_materials(repository, built[0], digest(built[0]), scratch)
        steps.say(f"{materials.name}  {count} components")
    return [*built, materials]


def place(built: list[Path], root: Path) -> list[Path]:
    """Put the packages into `dist/`, and what is not for an index into `build/`."""
    placed = []
    for folder in ("dist", "build"):
        shutil.rmtree(root / folder, ignore_errors=True)
        (root / folder).mkdir()
    for path in built:
        folder = "dist" if path.suffix in (".whl", ".gz") else "build"
        placed.append(Path(shutil.copy2(path, root / folder)))
    return placed


def main() -> None:
    """Build the commit that is checked out."""
    repository = Repository(Path.cwd())
    steps = Steps()
    if changed := repository.changed:
        sys.exit(f"The commit is built, not the work tree; commit or remove: {', '.join(changed)}.")
    try:
        print(f"Packages of cmsapi {written_version(repository.root)}, commit {repository.head[:12]}\n")
        with tempfile.TemporaryDirectory(prefix="cmsapi-") as scratch:
            for path in place(make_packages(repository, Path(scratch), steps), repository.root):
                print(path.relative_to(repository.root))
    except ReleaseError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
