"""Fragments of the changelog, and the section that is made of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from release import changelog
from release.errors import ReleaseError
from release.repository import Repository

ROOT = Path(__file__).parents[3]
ADDRESS = "https://github.com/cmsapi/cmsapi"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "there is no entry"),
        ("### Fixed\n", "there is no entry"),
        ("- It is quick.\n", "1: a line must be a heading"),
        (
            "### Mended\n\n- It is quick.\n",
            "1: a heading must be one of Added, Changed, Deprecated, Removed, Fixed, Security",
        ),
        ("## Fixed\n\n- It is quick.\n", "1: a line must be a heading"),
        ("#### Command line\n\n- It is quick.\n", "1: a line must be a heading"),
        ("### Fixed\n\nIt is quick.\n", "3: a line must be a heading"),
        ("### Fixed\n\n* It is quick.\n", "3: a line must be a heading"),
        ("### Fixed\n\n  It is quick.\n", "3: a line must be a heading"),
        ("### Fixed\n\n- It is\nquick.\n", "4: a line must be a heading"),
    ],
)
def test_a_malformed_fragment_is_refused(tmp_path: Path, text: str, told: str) -> None:
    """The file and the line are named."""
    folder = tmp_path / "docs" / "changes"
    folder.mkdir(parents=True)
    (folder / "quick.md").write_text(text)
    (problem,) = changelog.problems(tmp_path)
    assert problem.startswith(f"docs/changes/quick.md:{'' if told[0].isdigit() else ' '}{told}")


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    """A file that would be left behind is named."""
    folder = tmp_path / "docs" / "changes"
    folder.mkdir(parents=True)
    (folder / "quick.rst").touch()
    assert changelog.problems(tmp_path) == ["docs/changes/quick.rst: a fragment is a file whose name ends in .md."]


def test_fragments_join_the_unreleased_section() -> None:
    """Entries are put below their kind and topic, kinds in the usual order, and the rest stays as it was."""
    before = """# Changelog

What changed.

## [Unreleased]

The first version.

### Added

#### Calls

- One call.

### Fixed

- Once.

## [0.0.1] - 2026-01-01

### Added

- Something.

[0.0.1]: https://example.com/0.0.1
"""
    parts = [
        changelog.parse("### Fixed\n\n- Twice,\n  and again.\n\n### Added\n\n#### Jobs\n\n- A job.\n", "one.md"),
        changelog.parse("### Security\n\n- Safer.\n\n### Added\n\n- Alone.\n\n#### Calls\n\n- Two calls.\n", "two.md"),
    ]
    assert (
        changelog.with_section(before, parts, "0.1.0", "2026-11-23", ADDRESS)
        == f"""# Changelog

What changed.

## [0.1.0] - 2026-11-23

The first version.

### Added

- Alone.

#### Calls

- One call.
- Two calls.

#### Jobs

- A job.

### Fixed

- Once.
- Twice,
  and again.

### Security

- Safer.

## [0.0.1] - 2026-01-01

### Added

- Something.

[0.1.0]: {ADDRESS}/releases/tag/v0.1.0
[0.0.1]: https://example.com/0.0.1
"""
    )


def test_a_later_version_is_told_above_the_earlier_ones() -> None:
    """Without a section of unreleased changes, that of the version becomes the first one."""
    first = changelog.with_section(
        "# Changelog\n", [changelog.parse("### Added\n\n- All.", "")], "0.1.0", "2026-11-23", ADDRESS
    )
    second = changelog.with_section(first, [changelog.parse("### Fixed\n\n- It.", "")], "0.1.1", "2026-12-01", ADDRESS)
    assert [line for line in second.splitlines() if line.startswith(("#", "["))] == [
        "# Changelog",
        "## [0.1.1] - 2026-12-01",
        "### Fixed",
        "## [0.1.0] - 2026-11-23",
        "### Added",
        f"[0.1.1]: {ADDRESS}/releases/tag/v0.1.1",
        f"[0.1.0]: {ADDRESS}/releases/tag/v0.1.0",
    ]


def test_a_version_with_nothing_to_tell_is_refused() -> None:
    """A heading without entries is nothing."""
    with pytest.raises(ReleaseError, match="nothing to tell"):
        changelog.with_section("# Changelog\n\n## [Unreleased]\n\nSoon.\n", [], "0.1.0", "2026-11-23", ADDRESS)


def test_entries_are_written_as_they_were_read() -> None:
    """The sections of the project's changelog come out as they went in."""
    text = (ROOT / "CHANGELOG.md").read_text()
    section = text.partition("\n## [")[2].partition("\n## [")[0].partition("### ")
    entries = section[1] + section[2].partition("\n[")[0].rstrip() + "\n"
    assert changelog.write(changelog.join([changelog.parse(entries, "CHANGELOG.md")])) + "\n" == entries


def test_the_notes_of_a_version_are_its_section(repository: Repository) -> None:
    """A tag that is not the version of the package, or of which nothing is told, has no notes."""
    assert changelog.notes(repository.root, "0.2.0") == "### Added\n\n- All."
    with pytest.raises(ReleaseError, match=r"must be that of cmsapi/_version.py, 0.2.0, got '0.3.0'"):
        changelog.notes(repository.root, "0.3.0")
    (repository.root / "CHANGELOG.md").write_text("# Changelog\n")
    with pytest.raises(ReleaseError, match=r"must have a section of 0.2.0"):
        changelog.notes(repository.root, "0.2.0")


def test_the_fragments_of_the_project_are_well_formed() -> None:
    """What waits for the next version can be released."""
    assert changelog.problems(ROOT) == []


def test_the_explanation_of_fragments_shows_one() -> None:
    """The example of the page that explains fragments is well-formed."""
    text = (ROOT / "docs" / "changes" / "README.md").read_text()
    example = text.partition("```markdown\n")[2].partition("```")[0]
    assert set(changelog.parse(example, "README.md")) == {"Added", "Fixed"}
