"""Write Markdown tables, and put them where a page has room for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import attrs


@attrs.frozen
class Report:
    """Hold what was measured of a topic.

    Args:
        shown: Its table for the page.
        details: All its tables, for a file that the page links.
    """

    shown: str
    details: str

    def write(self, page: Path, name: str) -> None:
        """Replace a section of a page, and the file of its details in the folder named after the page.

        Raises:
            ValueError: The page has no such section.
        """
        file = page.with_suffix("") / f"{name}.txt"
        replace_section(page, name, f"{self.shown.strip()}\n\n[All tables]({file.relative_to(page.parent).as_posix()})")
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"{self.details.strip()}\n", encoding="utf-8")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table; the first column is text, the others are figures."""
    lines = [head, ["---", *("---:" for _ in head[1:])], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def replace_section(page: Path, name: str, text: str) -> None:
    """Replace what stands between the markers `<!-- name: begin -->` and `<!-- name: end -->` of a page.

    Raises:
        ValueError: The page has no such markers.
    """
    before, _, after = _section(page, name)
    page.write_text(f"{before}\n\n{text.strip()}\n\n{after}", encoding="utf-8")


def replace_row(page: Path, name: str, head: Sequence[str], row: Sequence[str]) -> None:
    """Put a row into the table of a section: in the place of the one with the same first cell, or in order.

    Raises:
        ValueError: The page has no such section.
    """
    _, text, _ = _section(page, name)
    lines = ([cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")] for line in text)
    kept = [cells for cells in lines if cells[0] not in (head[0], "---", "", row[0])]
    replace_section(page, name, table(head, sorted([*kept, list(row)])))


def _section(page: Path, name: str) -> tuple[str, list[str], str]:
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, found, rest = page.read_text(encoding="utf-8").partition(begin)
    text, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"{page} has no section between {begin} and {end}")
    return before + begin, text.strip().splitlines(), end + after
