"""Links: those of the Markdown pages, as a repository shows them, and those of what is built."""

from __future__ import annotations

import re
from pathlib import Path

from tests.docs.built import broken, unlisted
from tests.support.pages import PAGES, ROOT


def anchors(page: Path) -> set[str]:
    """Return the names that a repository gives to the headings of a page."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def test_links_lead_somewhere() -> None:
    """Each relative link of a page names a file of the repository, and where it names a heading, one that is there."""
    for page in PAGES:
        for path, _, heading in re.findall(r"\]\((?!https?:|mailto:)([^)#\s]*)(#([^)\s]+))?\)", page.read_text()):
            target = page.parent / path if path else page
            assert target.exists(), f"{page.relative_to(ROOT)} links to {path}"
            if heading and target.suffix == ".md":
                assert heading in anchors(target), f"{page.relative_to(ROOT)} links to {path}#{heading}"


def test_broken_links_of_built_pages_are_named(tmp_path: Path) -> None:
    """A missing page, a missing part and a missing picture are named; other sites are left alone."""
    (tmp_path / "other.html").write_text('<h1 id="there"></h1>')
    links = ["other.html#there", "#here", "https://example.com/gone", "other.html#gone", "gone.html", "#gone"]
    anchors = "".join(f'<a id="here" href="{link}"></a>' for link in links)
    (tmp_path / "index.html").write_text(anchors + '<img src="gone.png">')
    assert broken(tmp_path) == [f"index.html: {link}" for link in ("#gone", "gone.html", "gone.png", "other.html#gone")]


def test_pages_without_a_line_or_a_text_are_named(tmp_path: Path) -> None:
    """A page that the list for programs does not have is named, and so is one whose text was not written."""
    lines = [f"- [Title]({name}.txt): What it is." for name in ("good", "twice", "twice", "empty", "gone")]
    (tmp_path / "llms.txt").write_text("\n".join(lines))
    for name in ("index", "good", "twice", "empty", "unlisted"):
        (tmp_path / f"{name}.html").touch()
        (tmp_path / f"{name}.txt").write_text("" if name == "empty" else "text")
    assert unlisted(tmp_path) == ["empty.txt", "gone.txt", "twice.txt", "unlisted.txt"]


def test_links_from_the_root_lead_somewhere(tmp_path: Path) -> None:
    """The page for what is missing is shown at any depth: its links begin at the root of the pages."""
    (tmp_path / "there.html").touch()
    (tmp_path / "how-to").mkdir()
    (tmp_path / "how-to/404.html").write_text('<a href="/there.html"></a><a href="/gone.html"></a>')
    assert broken(tmp_path) == ["how-to/404.html: /gone.html"]
