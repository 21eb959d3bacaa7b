"""Fragments of the changelog, one file for each change, and the section of a version that is made of them.

A fragment looks as it will look in the changelog: headings such as `### Fixed`, below them entries, if need be below a
topic such as `#### Command line`. `python -m release.changelog` refuses malformed ones, and with a version
prints its section.
"""

from __future__ import annotations

import datetime
import re
import sys
from pathlib import Path

from release.errors import ReleaseError
from release.project import VERSION_FILE, address, written_version

FRAGMENTS = Path("docs/changes")
CHANGELOG = Path("CHANGELOG.md")
KINDS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
_UNRELEASED = "## [Unreleased]\n"
_LINK = re.compile(r"\[[^\]]+\]: \S+$")

# The entries of each kind, by topic; those without a topic have an empty one.
Entries = dict[str, dict[str, list[str]]]


def fragments(root: Path) -> list[Path]:
    """Return the fragments, in the order of their names."""
    return sorted(path for path in (root / FRAGMENTS).glob("*") if path.name != "README.md")


def problems(root: Path) -> list[str]:
    """Return what is wrong with the fragments."""
    found = []
    for path in fragments(root):
        if path.suffix != ".md" or not path.is_file():
            found.append(f"{path.relative_to(root)}: a fragment is a file whose name ends in .md.")
            continue
        try:
            parse(path.read_text(encoding="utf-8"), str(path.relative_to(root)))
        except ReleaseError as error:
            found.append(str(error))
    return found


def parse(text: str, name: str) -> Entries:
    """Read the entries of a fragment or of a section.

    Args:
        text: The Markdown.
        name: The file, which errors name.

    Raises:
        ReleaseError: A heading is unknown, an entry has none, a line is no entry, or there is no entry.
    """
    entries: Entries = {}
    kind: str | None = None
    topic = ""
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{name}:{number}"
        if line.startswith("### "):
            kind, topic = line[4:], ""
            if kind not in KINDS:
                raise ReleaseError(f"{where}: a heading must be one of {', '.join(KINDS)}, got {kind!r}.")
        elif line.startswith("#### ") and kind:
            topic = line[5:]
        elif re.match(r"- \S", line) and kind:
            entries.setdefault(kind, {}).setdefault(topic, []).append(line)
        elif re.match(r"  +\S", line) and kind and entries.get(kind, {}).get(topic):
            entries[kind][topic][-1] += f"\n{line}"
        elif line:
            raise ReleaseError(
                f"{where}: a line must be a heading such as `### Fixed`, an entry that begins with `- ` below one, or "
                f"go on with an entry after two spaces, got {line!r}."
            )
    if not entries:
        raise ReleaseError(f"{name}: there is no entry.")
    return entries


def join(parts: list[Entries]) -> Entries:
    """Return the entries of all parts, kinds in the usual order, topics in the order in which they first appear."""
    joined: Entries = {kind: {"": []} for kind in KINDS}
    for part in parts:
        for kind, topics in part.items():
            for topic, entries in topics.items():
                joined[kind].setdefault(topic, []).extend(entries)
    return joined


def write(entries: Entries) -> str:
    """Return the Markdown of entries."""
    blocks = []
    for kind, topics in entries.items():
        filled = {topic: "\n".join(listed) for topic, listed in topics.items() if listed}
        if filled:
            blocks.append(f"### {kind}")
        for topic, listed in filled.items():
            blocks.extend([f"#### {topic}", listed] if topic else [listed])
    return "\n\n".join(blocks)


def with_section(changelog: str, parts: list[Entries], version: str, date: str, repository: str) -> str:
    """Return the changelog with the section of a version, in place of what is listed as unreleased.

    Args:
        changelog: The present one.
        parts: The entries of the fragments.
        version: The version.
        date: When it is released.
        repository: The address of the repository, to which the heading leads.

    Raises:
        ReleaseError: There is no entry, or the unreleased section is malformed.
    """
    lines = changelog.splitlines()
    links = [line for line in lines if _LINK.match(line)]
    text = "\n".join(line for line in lines if not _LINK.match(line))
    head, *sections = re.split(r"^(?=## \[)", text, flags=re.MULTILINE)
    told = ""
    if sections and sections[0].startswith(_UNRELEASED):
        told, heading, listed = sections.pop(0).removeprefix(_UNRELEASED).partition("### ")
        if heading:
            parts = [parse(heading + listed, f"{CHANGELOG}, unreleased"), *parts]
    if not parts:
        raise ReleaseError(f"There is nothing to tell: {FRAGMENTS} has no fragment, {CHANGELOG} no unreleased entry.")
    links.insert(0, f"[{version}]: {repository}/releases/tag/v{version}")
    blocks = [head, f"## [{version}] - {date}", told, write(join(parts)), *sections, "\n".join(links)]
    return "\n\n".join(stripped for block in blocks if (stripped := block.strip())) + "\n"


def released(root: Path, version: str) -> str:
    """Return the changelog of a project as it is with the version released today.

    Raises:
        ReleaseError: There is nothing to tell, or a fragment is malformed.
    """
    parts = [parse(path.read_text(encoding="utf-8"), path.name) for path in fragments(root)]
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    text = (root / CHANGELOG).read_text(encoding="utf-8")
    return with_section(text, parts, version, today, address(root))


def collect(root: Path, version: str) -> None:
    """Write the section of a version into the changelog, and remove the fragments."""
    text = released(root, version)
    (root / CHANGELOG).write_text(text, encoding="utf-8")
    for path in fragments(root):
        path.unlink()


def notes(root: Path, version: str) -> str:
    """Return what the changelog says of the version that the package has.

    Raises:
        ReleaseError: The package has another version, or the changelog has no section of it.
    """
    if version != (written := str(written_version(root))):
        raise ReleaseError(f"The version must be that of {VERSION_FILE}, {written}, got {version!r}.")
    changelog = (root / CHANGELOG).read_text(encoding="utf-8")
    found = re.search(rf"^## \[{re.escape(version)}\] - .*\n((?s:.*?))(?=^## \[|^\[.*\]: |\Z)", changelog, re.MULTILINE)
    if found is None:
        raise ReleaseError(f"{CHANGELOG} must have a section of {version}: `make release` writes it.")
    return found[1].strip()


def main() -> None:
    """Refuse malformed fragments, or print the section of a version."""
    if sys.argv[1:]:
        try:
            print(notes(Path.cwd(), sys.argv[1]))
        except ReleaseError as error:
            sys.exit(str(error))
    elif found := problems(Path.cwd()):
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
