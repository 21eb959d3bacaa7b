"""Compare the public interface with that of an earlier version, and say which changes break programs."""

from __future__ import annotations

import re
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import attrs
import griffe

from tools.interface.public import ROOT
from tools.interface.record import PLACE, PYTHON, chapters, written
from tools.interface.surface import Surface


class NoSuchVersion(Exception):  # noqa: N818  an answer for the command line
    """There is no such tag or commit."""


@attrs.frozen
class Comparison:
    """Hold the changes since an earlier version.

    Args:
        breaking: Changes that break programs.
        changed: Other changes of what was there, which somebody has to judge: types, and what griffe cannot tell.
        added: What is new.
    """

    breaking: tuple[str, ...]
    changed: tuple[str, ...]
    added: tuple[str, ...]

    def needed(self, earlier: str) -> str:
        """Return the least version that may follow an earlier one with these changes."""
        major, minor, patch = numbers(earlier)
        if self.breaking and major:
            return f"{major + 1}.0.0"
        if self.breaking or self.changed or self.added:
            return f"{major}.{minor + 1}.0"
        return f"{major}.{minor}.{patch + 1}"


def numbers(version: str) -> tuple[int, int, int]:
    """Return the numbers of a version; a trial like 1.2.3rc1 has those of the version that it tries.

    Raises:
        NoSuchVersion: The text is none.
    """
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    if found is None:
        raise NoSuchVersion(f"{version!r} is no version like 1.2.3.")
    major, minor, patch = map(int, found.groups())
    return major, minor, patch


def last_tag(root: Path = ROOT) -> str | None:
    """Return the newest tag of a version that the present commit contains, trials aside, or None before the first."""
    line = ["git", "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*", "--exclude", "*[0-9][a-z]*"]
    ended = subprocess.run(line, cwd=root, capture_output=True, text=True, check=False)
    return ended.stdout.strip() or None


def version_at(base: str, root: Path = ROOT) -> str:
    """Return the version that the package had at a tag or commit."""
    line = ["git", "show", f"{base}:cmsapi/_version.py"]
    ended = subprocess.run(line, cwd=root, capture_output=True, text=True, check=False)
    found = re.search(r'^__version__ = "(.*)"$', ended.stdout, re.MULTILINE)
    if ended.returncode or found is None:
        raise NoSuchVersion(f"{base} is no tag or commit with a cmsapi/_version.py.")
    return found[1]


def compare_with(base: str, root: Path = ROOT) -> Comparison:
    """Compare a checkout with what it was at a tag or commit."""
    line = ["git", "archive", "--format=tar", base, "cmsapi", "docs/reference"]
    ended = subprocess.run(line, cwd=root, capture_output=True, check=False)
    if ended.returncode:
        raise NoSuchVersion(f"{base} is no tag or commit with a cmsapi: {ended.stderr.decode().strip()}")
    with tempfile.TemporaryDirectory() as place:
        with tarfile.open(fileobj=BytesIO(ended.stdout)) as archive:
            # Versions before 3.11.4 have no filter, and ignore this.
            archive.extraction_filter = getattr(tarfile, "data_filter", None)
            archive.extractall(place)  # noqa: S202  git wrote the archive
        return compare(Path(place), root)


def compare(earlier: Path, later: Path) -> Comparison:
    """Compare two checkouts."""
    old, new = Surface.of(earlier), Surface.of(later)
    record = earlier / PLACE
    before = chapters(record.read_text(encoding="utf-8") if record.exists() else "")
    # The record of a version may be older than its code, but for its release.
    before[PYTHON] = chapters(written_python(old))[PYTHON]
    after = chapters(written(new))
    named = list(breakages(old, new))
    breaking = [each.text for each in named]
    changed: list[str] = []
    added: list[str] = []
    for title, lines in after.items():
        gone = [line for line in before.get(title, ()) if line not in lines]
        added += [line for line in lines if title in before and line not in before[title]]
        if title != PYTHON:
            breaking += [f"{title}: {line}" for line in gone]
        else:
            changed += [line for line in gone if not any(each.covers(line) for each in named)]
    return Comparison(tuple(dict.fromkeys(breaking)), tuple(changed), tuple(added))


def written_python(surface: Surface) -> str:
    """Return the chapter of Python names alone."""
    return "\n".join([f"== {PYTHON}", *surface.lines()])


@attrs.frozen
class Break:
    """Describe a change that breaks programs.

    Args:
        name: The public name.
        inner: The member of the class or the parameter that has changed, or "" for all of it.
        text: What has changed, in words.
    """

    name: str
    inner: str
    text: str

    def covers(self, line: str) -> bool:
        """Tell whether it explains why a line of the record is gone."""
        of_name = re.search(rf"(?<![\w.]){re.escape(self.name)}(?![\w.])", line)
        return of_name is not None and re.search(rf"\b{re.escape(self.inner)}\b", line) is not None


def breakages(old: Surface, new: Surface) -> Iterator[Break]:
    """Give what griffe finds between two surfaces."""
    for name, thing in old.things.items():
        later = new.things.get(name)
        if later is None:
            yield Break(name, "", f"{name}: was removed")
        elif later.kind is not thing.kind:
            yield Break(name, "", f"{name}: was a {thing.kind.value}, and is a {later.kind.value}")
        else:
            for breakage in griffe.find_breaking_changes(_holding(name, thing), _holding(name, later)):
                yield _told(name, thing, breakage)


def _holding(name: str, thing: Any) -> Any:
    """Return a module with nothing but one public thing; griffe compares modules."""
    module = griffe.Module("public")
    thing.public = True
    short = name.rpartition(".")[2]
    module.members[short] = griffe.Alias(short, thing, parent=module)
    return module


def _told(name: str, thing: Any, breakage: Any) -> Break:
    # A class itself has lost a base; all else concerns a member, or a parameter of one.
    whole = breakage.obj.name == thing.name
    parameter = breakage.old_value if isinstance(breakage.old_value, griffe.Parameter) else breakage.new_value
    inner = parameter.name if isinstance(parameter, griffe.Parameter) else "" if whole else breakage.obj.name
    words = breakage.kind.value[0].lower() + breakage.kind.value[1:]
    known = (breakage.old_value, breakage.new_value) if whole or isinstance(parameter, griffe.Parameter) else ()
    values = " → ".join(filter(None, map(_short, known)))
    where = name if whole else f"{name}.{breakage.obj.name}"
    return Break(name, inner, f"{where}: {words}" + (f" ({values})" if values else ""))


def _short(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, griffe.Parameter):
        kind = value.kind.value if value.kind else ""
        default = f" = {value.default}" if value.default is not None else ""
        return f"{value.name}{default}, {kind}"
    return str(getattr(value, "name", value))
