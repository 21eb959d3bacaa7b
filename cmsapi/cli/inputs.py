"""The items for a command: from its arguments, from files (``@file``) and from standard input (``-``)."""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from cmsapi.cli.output import note
from cmsapi.errors import ArgumentError, ConfigError
from cmsapi.wire.arguments import check_text, identifier

STDIN = "@-"
"""Replaces ``-`` (standard input) before the parser, which takes a single hyphen for an option, reads the arguments."""


def read_items(arguments: Iterable[str], column: str = "id") -> list[str]:
    """Return the distinct items, given directly or in an ``@file``. ``column`` is the file's CSV column or JSON key."""
    items: list[str] = []
    for argument in arguments:
        if argument.startswith("@"):
            name = "standard input" if argument == STDIN else argument[1:]
            found = [_checked(item, column, name) for item in _parse(read_text(argument), column, name)]
            if not found:
                raise ConfigError(f"{name} has no items")
            items += found
        elif Path(argument).is_file():
            raise ConfigError(f"{argument} is a file: @{argument} reads the items in it; nothing was sent")
        else:
            items.append(_checked(argument, column, "the arguments"))
    if not items:
        raise ConfigError(f"no items: name them, or a file (@{column}s.txt), or standard input (-)")
    unique = list(dict.fromkeys(items))
    if len(unique) < len(items):
        note(f"repeated items left out: {len(items) - len(unique)}")
    return unique


def read_text(argument: str) -> str:
    """Return the text of a file (``@file`` or ``file``) or of standard input, read as UTF-8, UTF-16 or Windows-1252."""
    name = argument.removeprefix("@")
    try:
        data = sys.stdin.buffer.read() if argument == STDIN else Path(name).read_bytes()
    except OSError as error:
        raise ConfigError(f"{name} cannot be read: {error.strerror}; nothing was sent") from None
    encoding = "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        note(f"{name} is not UTF-8 and is read as Windows-1252")
        return data.decode("cp1252", errors="replace")


def _checked(item: Any, column: str, source: str) -> str:
    try:
        if column == "id":
            identifier("id", item)
        return check_text(column, item.strip() if isinstance(item, str) else item)
    except ArgumentError as error:
        raise ConfigError(f"{source}: {error}; nothing was sent") from None


def _parse(text: str, column: str, name: str) -> Iterator[str]:
    """Yield the items in ``text``: JSON, CSV with a header row, or one item per line, where a tab ends the item."""
    if text.lstrip().startswith(("{", "[")):
        yield from _from_json(text, column, name)
        return
    # Not `splitlines`, which would also end an item at a character such as U+2028. `sep=` is Excel's own first line.
    lines = [line for line in io.StringIO(text, newline=None) if line.strip() and not line.startswith(("# ", "sep="))]
    csv.field_size_limit(max(len(text), csv.field_size_limit()))
    for delimiter in ",;\t":
        rows = csv.reader(lines, delimiter=delimiter)
        names = [each.strip().casefold().removesuffix("s") for each in next(rows, [])]
        if column in names and (len(names) > 1 or delimiter == ","):
            place = names.index(column)
            cells = (" ".join(row[place].split()) for row in rows if len(row) > place)
            yield from (re.sub("^'(?=[=+@-])", "", cell) for cell in cells)  # the apostrophe that --csv adds
            return
    if len(lines) > 1 and any(all(delimiter in line for line in lines) for delimiter in ",;"):
        raise ConfigError(f"{name} looks like a table, and its first line names no {column!r}; nothing was sent")
    yield from (line.partition("\t")[0].strip() for line in lines)


def _from_json(text: str, column: str, name: str) -> Iterator[str]:
    decoder, text, place = json.JSONDecoder(), text.strip(), 0
    try:
        while place < len(text):
            document, place = decoder.raw_decode(text, place)
            for each in document if isinstance(document, list) else [document]:
                yield each if isinstance(each, str) else each[column]
            while text[place : place + 1].isspace():
                place += 1
    except (ValueError, LookupError, TypeError, RecursionError):
        raise ConfigError(f"{name}: JSON must be objects with {column!r}, or a list; nothing was sent") from None
