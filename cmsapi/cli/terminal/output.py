"""Print results: a table for people, JSON and CSV for programs.

A terminal gets a table that fits into it. A pipe gets the same columns in full, aligned with spaces, the identifier
first. All texts of the service are printed without control characters, so they cannot colour text or move the cursor.
"""

from __future__ import annotations

import contextlib
import csv
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, TypeAlias, TypeVar

import attrs
from cyclopts import Group, Parameter
from cyclopts.validators import mutually_exclusive
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cmsapi.cli.terminal.progress import stderr_console
from cmsapi.display.markup import plain

T = TypeVar("T")

Columns: TypeAlias = Mapping[str, Callable[[T], object]]

# Printable ASCII and the white space of a JSON document need no check.
_UNPRINTABLE = re.compile(r"[^\n -~]+")
# These characters move the cursor, end the line, or cannot be encoded.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
# Spreadsheets run text that begins with these signs as a formula; an apostrophe before it prevents that.
_FORMULA = re.compile(r"'*\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")
# A narrower column of texts cannot be read.
_LEGIBLE = 16
# A table with fewer columns says too little.
_FEWEST = 3
_OUTPUT = Group("Output", validator=mutually_exclusive)
AsJson: TypeAlias = Annotated[
    bool, Parameter(name="--json", negative="", show_default=False, group=_OUTPUT, help="Print JSON.")
]


@Parameter(name="*")
@attrs.frozen
class Output:
    """Choose the form of a list: a table, unless one of these options is given."""

    json: AsJson = False
    csv: Annotated[
        bool,
        Parameter(
            name="--csv",
            negative="",
            show_default=False,
            group=_OUTPUT,
            help="Print CSV with a header. An apostrophe begins each text that a spreadsheet would take for a formula.",
        ),
    ] = False
    raw_csv: Annotated[
        bool,
        Parameter(
            name="--raw-csv",
            negative="",
            show_default=False,
            group=_OUTPUT,
            help="Print CSV with unchanged texts, formulas and control characters included.",
        ),
    ] = False

    def __bool__(self) -> bool:
        return self.json or self.csv or self.raw_csv


TABLE = Output()


def print_list(items: Sequence[T], columns: Columns[T], output: Output, document: Callable[[T], Any]) -> None:
    """Print a list.

    Args:
        items: The items to print.
        columns: The title of each column, with a function that returns its value for an item.
        output: The form to print it in.
        document: Returns the JSON document of an item.
    """
    if output.json:
        print_json([document(item) for item in items])
    elif output:
        write = csv.writer(sys.stdout)
        write.writerow(name.replace(" ", "_") for name in columns)
        escape = plain if sys.stdout.isatty() else str if output.raw_csv else _escape_formula
        write.writerows([_cell(value(item), escape) for value in columns.values()] for item in items)
    elif sys.stdout.isatty():
        _print_table(items, columns)
    else:
        _print_plain(items, columns)


def print_json(document: Any) -> None:
    """Print a JSON document; escape unprintable characters, which keeps its meaning."""
    is_unicode = sys.stdout.encoding.lower().replace("-", "").startswith("utf")
    print(_UNPRINTABLE.sub(_escaped, json.dumps(document, indent=2, ensure_ascii=not is_unicode)))


def print_fields(facts: Mapping[str, object]) -> None:
    """Print names and values, one pair per line."""
    width = max(map(len, facts))
    for name, value in facts.items():
        print(f"{name:<{width}}  {printable(value)}".rstrip())


def print_message(text: str, style: str | None = None) -> None:
    """Print a message to standard error; do not break lines that hold a command to paste."""
    console = stderr_console()
    # If standard error cannot be written, for example on a full disk, the command continues without the message.
    with contextlib.suppress(OSError):
        for line in text.split("\n"):
            # A line that the terminal breaks is copied as one; a line that rich breaks is copied with line feeds.
            whole = not console.is_terminal or line.startswith("  ") or "cmsapi " in line
            console.print(line, style=style, markup=False, highlight=False, soft_wrap=whole)


def print_bars(title: str, counts: Mapping[str, int]) -> None:
    """Print a bar for each count."""
    print(f"\n{title}")
    if not counts:
        print("  none")
        return
    names = {name: printable(name) for name in counts}
    # Names take at most half of the line, which leaves room for the bars.
    half = Console().width // 2
    width, digits = min(half, max(map(cell_len, names.values()))), max(len(f"{count:,}") for count in counts.values())
    room = max(4, min(60, Console().width - width - digits - 6))
    longest = max(1, *map(abs, counts.values()))
    for name, count in counts.items():
        label = Text(names[name])
        label.truncate(width, overflow="ellipsis", pad=True)
        print(f"  {label.plain}  {count:>{digits},}  {_bar(abs(count) * room / longest)}".rstrip())


def printable(value: object) -> str:
    """Return a value of the service as one line of printable text."""
    if value is None:
        return "-"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = " ".join(str(value).split()) if isinstance(value, str) else str(value)
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


def _escaped(found: re.Match[str]) -> str:
    return "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in found[0])


def _bar(length: float) -> str:
    eighths = round(length * 8)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def _cell(value: object, escape: Callable[[str], str]) -> object:
    if isinstance(value, str):
        return escape(value)
    return value.isoformat() if isinstance(value, datetime) else "" if value is None else value


def _escape_formula(text: str) -> str:
    text = _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)
    return f"'{text}" if _FORMULA.match(text) else text


def unescape_formula(cell: str) -> str:
    """Remove the apostrophe that keeps a cell of CSV from being a formula."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def _cells(items: Iterable[T], columns: Columns[T]) -> list[list[str]]:
    return [[printable(value(item)) for value in columns.values()] for item in items]


def _print_table(items: Sequence[T], columns: Columns[T]) -> None:
    rows, console = _cells(items, columns), Console()
    if not rows:
        print("none")
        return
    widths = [max(map(cell_len, [title, *(row[place] for row in rows)])) for place, title in enumerate(columns)]
    shown = _fitting(widths, rows, console.width)
    if shown is None:
        _print_records(columns, rows)
        return
    table, titles, shrinking = Table(box=box.SIMPLE_HEAD, pad_edge=False), list(columns), _widest(shown, widths)
    for place in shown:
        value = columns[titles[place]]
        is_number = any(isinstance(value(item), int) for item in items)
        table.add_column(titles[place], no_wrap=place != shrinking, justify="right" if is_number else "left")
    for row in rows:
        table.add_row(*(Text(row[place]) for place in shown))
    console.print(table)
    hidden = [place for place in range(len(titles)) if place not in shown and place not in _empty(rows)]
    if missing := [titles[place] for place in hidden]:
        print_message(f"No room for: {', '.join(missing)}. A wider terminal, --csv and --json have all.", style="dim")


def _fitting(widths: Sequence[int], rows: Sequence[Sequence[str]], width: int) -> list[int] | None:
    """Return the places of the columns that fit into a terminal, or None if too few do.

    Columns that say nothing are left out first, then the last ones.
    """
    shown = list(range(len(widths)))
    empty = [place for place in _empty(rows) if place > 1]
    while not _is_legible(shown, widths, width):
        if len(shown) <= min(_FEWEST, len(widths)):
            return None
        shown.remove(empty.pop() if empty else shown[-1])
    return shown


def _empty(rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the places of the columns that say nothing."""
    return [place for place, cells in enumerate(zip(*rows, strict=True)) if {*cells} == {printable(None)}]


def _is_legible(shown: Sequence[int], widths: Sequence[int], width: int) -> bool:
    # A cut identifier is useless, so the widest of the other columns shrinks.
    shrinking = widths[_widest(shown, widths)]
    room = width - sum(widths[place] for place in shown) + shrinking - 3 * len(shown) + 1
    return room >= min(_LEGIBLE, shrinking)


def _widest(shown: Sequence[int], widths: Sequence[int]) -> int:
    return max(shown[1:], key=widths.__getitem__)


def _print_records(columns: Iterable[str], rows: Iterable[Sequence[str]]) -> None:
    names = list(columns)
    width = max(map(len, names[1:]))
    for row in rows:
        print(row[0])
        for name, cell in zip(names[1:], row[1:], strict=True):
            print(f"  {name:<{width}}  {cell}".rstrip())


def _print_plain(items: Sequence[T], columns: Columns[T]) -> None:
    rows = [[title.replace(" ", "_") for title in columns], *_cells(items, columns)]
    widths = [max(cell_len(row[place]) for row in rows) for place in range(len(columns))]
    for row in rows:
        line = "  ".join(cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True))
        print(line.rstrip())
