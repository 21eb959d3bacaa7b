"""The record of the public interface: one line for each thing, so that a change of one shows in a reviewed file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tools.interface.outside import CHAPTERS
from tools.interface.public import ROOT
from tools.interface.surface import Surface

#: Where the record is, below the root of a checkout.
PLACE = "docs/reference/interface.txt"
PYTHON = "Python"
_HEAD = "Written by `make interface`; do not edit. The page on versions says what each chapter promises."


def written(surface: Surface) -> str:
    """Return the text of the record."""
    return "\n".join([_HEAD, *_lines(surface)]).rstrip() + "\n"


def _lines(surface: Surface) -> Iterator[str]:
    yield from ("", f"== {PYTHON}", "", *surface.lines())
    for title, lines in CHAPTERS.items():
        yield from (f"== {title}", "", *lines(), "")


def chapters(text: str) -> dict[str, list[str]]:
    """Return the lines of each chapter; what belongs to a class, a method or a command begins with its name."""
    found: dict[str, list[str]] = {}
    title = ""
    owners: list[str] = []
    for line in text.splitlines():
        if line.startswith("== "):
            title = line.removeprefix("== ")
            found[title] = []
        elif title and line.strip():
            depth = (len(line) - len(line.lstrip())) // 4
            found[title].append(": ".join([*owners[:depth], line.strip()]))
            owners = [*owners[:depth], _owner(line)]
    return found


def _owner(line: str) -> str:
    """Return the name of what the lines below belong to."""
    return re.sub(r"@\w+ ", "", line).strip().removeprefix("class ").partition("(")[0]


def is_fresh(root: Path = ROOT) -> bool:
    """Tell whether the record of a checkout is that of its code."""
    return (root / PLACE).read_text(encoding="utf-8") == written(Surface.of(root))
