"""Results on standard output (tables for people, tab-separated for pipes, JSON, CSV); messages on standard error."""

from __future__ import annotations

import csv
import json
import re
import sys
import textwrap
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import reduce
from shutil import get_terminal_size
from typing import Any, Self, TextIO

from rich.console import Console, OverflowMethod
from rich.table import Table
from rich.text import Text

from cmsapi.cli.connect import Options
from cmsapi.wire.arguments import timestamp
from cmsapi.wire.converter import to_dict

_FORMULA = tuple("=+-@\t\r")
_CONTROLS = re.compile("[\x7f-\x9f]")  # json.dumps does not escape them


def note(text: str) -> None:
    """Write a message to standard error, if it is still open."""
    with suppress(OSError):
        for line in text.split("\n"):
            print(fold(printable(line), sys.stderr), file=sys.stderr, flush=True)


def fold(line: str, stream: TextIO) -> str:
    """Return ``line``, wrapped if ``stream`` is a terminal. Indented lines (commands to copy) are not wrapped."""
    if line.startswith("  ") or not stream.isatty():
        return line
    return textwrap.fill(line, get_terminal_size().columns, break_long_words=False, break_on_hyphens=False)


def printable(text: str) -> str:
    """Replace unprintable characters in ``text`` by spaces, so that the service cannot control the terminal."""
    return "".join(character if character.isprintable() else " " for character in text)


def text_of(error: BaseException) -> str:
    """Return an error's message, with advice about Python code replaced by its command-line equivalent."""
    text = str(error).replace("pass Client(allow_http=True)", "set CMSAPI_ALLOW_HTTP=1")
    text = text.replace("; pass trust_env=True to use it", "")
    return re.sub(r"If the service has it elsewhere, pass .*\)\)", "`cmsapi doctor` looks for it elsewhere", text)


def columns(text: str) -> dict[str, str]:
    """Return a dict of column names and attribute paths from words such as ``id status=content_status.label``."""
    return {name: path or name for name, _, path in (word.partition("=") for word in text.split())}


def attribute(model: Any, path: str) -> Any:
    """Return the value at a dotted attribute path; None if an attribute is missing."""
    return reduce(lambda value, name: getattr(value, name, None), path.split("."), model)


class Writer:
    """Writer of rows with the same columns.

    On a terminal, rows are printed as a table at the end (long texts cut unless ``whole``), or at once if ``live``.
    """

    def __init__(
        self, options: Options, columns: Mapping[str, str], *, live: bool = False, whole: bool = False
    ) -> None:
        self._options = options
        self._columns = columns
        self._human = sys.stdout.isatty()
        self._live = live
        self._whole = whole
        self._rows: list[list[str]] = []
        self._empty = True
        self._csv = csv.writer(sys.stdout, lineterminator="\n")
        if options.csv:
            self._csv.writerow(columns)

    async def __aenter__(self) -> Self:  # so that one `async with` can open the client, too
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        if self._rows:  # even after an error in the middle of a list
            _print_table(list(self._columns), self._rows, whole=self._whole)
        elif self._empty and kind is None:
            note("none")

    def write(self, document: Any, values: Sequence[Any] | None = None) -> None:
        """Write a row: ``document`` if the format is JSON, else ``values`` (default: the values of ``document``)."""
        self._empty = False
        if values is None and isinstance(document, dict):
            values = list(document.values())
        elif values is None:
            values = [attribute(document, path) for path in self._columns.values()]
        if self._options.json:
            text = json.dumps(to_dict(document), ensure_ascii=False)
            print(_CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text))
        elif self._options.csv:
            cells = [_cell(value, human=False) for value in values]
            self._csv.writerow(f"'{each}" if each.startswith(_FORMULA) else each for each in cells)
        else:
            row = [printable(_cell(value, human=self._human)) for value in values]
            if self._human and not self._live:
                self._rows.append(row)
            else:
                print(fold("  ".join(filter(None, row)), sys.stdout) if self._human else "\t".join(row))
        if self._live:
            sys.stdout.flush()


def _cell(value: Any, *, human: bool) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return ("yes" if value else "no") if human else str(value).lower()
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%d %H:%M}" if human else timestamp(value)
    return f"{value:,}" if human and isinstance(value, int) else str(value)


def _print_table(names: Sequence[str], rows: Sequence[Sequence[str]], *, whole: bool) -> None:
    """Print a table. To fit the terminal, cut or (if ``whole``) wrap the widest column, and omit columns at the end."""
    table, width, shown = Table(box=None, pad_edge=False), get_terminal_size().columns, len(names)
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    longest = max(range(1, shown), key=lambda n: widths[n] * any(row[n][:1].isalpha() for row in rows))  # no date
    least = min(widths[longest], width // 4)  # about two words, enough to recognize a text
    while shown > longest + 1 and sum(widths[:shown]) + 2 * (shown - 1) - widths[longest] + least > width:
        shown -= 1
    for number, name in enumerate(names[:shown]):
        table.add_column(name, no_wrap=number != longest)
    overflow: OverflowMethod = "fold" if whole else "ellipsis"
    for row in rows:
        table.add_row(*(Text(text, no_wrap=not whole, overflow=overflow) for text in row[:shown]))
    Console().print(table)
    if shown < len(names):
        note(f"left out at this width: {', '.join(names[shown:])} (--csv has all)")


def print_model(options: Options, model: Any, fields: Mapping[str, str]) -> None:
    """Print one model: one field per line, or as JSON or CSV if ``options`` say so."""
    if options.json or options.csv:
        Writer(options, fields).write(model)
        return
    human, width = sys.stdout.isatty(), max(map(len, fields))
    for name, path in fields.items():
        text = printable(_cell(attribute(model, path), human=human))
        print(f"{name:{width}}  {text}".rstrip() if human else f"{name}\t{text}")
