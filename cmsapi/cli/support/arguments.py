"""Read the items of a command: from the command line, from standard input or from a file.

A file is a list, or a CSV table with a header. A command refuses invalid identifiers before it launches anything. It
also refuses an empty source, because the program that should have filled it may have failed.
"""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar

from cyclopts import Parameter, Token

from cmsapi.cli.support.completing import Completer, offer_contents, offer_lists, offer_pages, offer_tokens
from cmsapi.cli.terminal.output import unescape_formula
from cmsapi.errors import ArgumentError

S = TypeVar("S")

# No identifier in a list has these characters: they separate cells, quote, nest, or begin a comment.
_FORBIDDEN = re.compile(r"""[\s,;'"`<>{}()\[\]|\\#]""")
# The header of a list that was printed to a pipe without --csv; the table of a terminal cannot be read.
_PLAIN_HEADER = re.compile(r"id {2,}\S")
# What people call the column of identifiers; no identifier is such a word.
_OTHER_NAME = re.compile(r"[a-z]+[ _-]id|(?:keyword|prompt|content|page|document|job)id|identifier|ids")
# Columns of texts, which may hold any character.
_TEXTS = ("keyword", "prompt")

AllowEmpty: TypeAlias = Annotated[
    bool,
    Parameter(
        name="--allow-empty",
        negative="",
        show_default=False,
        help="Accept empty input (exit 0).",
    ),
]


class Items(tuple[S, ...]):  # noqa: SLOT001  a tuple has no slots of its own
    """Hold the items of a command, which are texts, and the arguments that named them.

    The parameter lets the completion of a shell see that there may be many.
    """

    #: The arguments to type again for the same items; None if standard input, which is used up, is one of them.
    retyped: tuple[str, ...] | None = None
    #: Whether each item is a whole line, with its spaces.
    whole_lines: bool = False
    #: Names of the empty sources.
    empty: tuple[str, ...] = ()

    def without(self, words: Collection[str]) -> Items[S]:
        """Return the other items, which the same arguments name."""
        rest = Items(item for item in self if item not in words)
        rest.retyped, rest.whole_lines, rest.empty = self.retyped, self.whole_lines, self.empty
        return rest

    def require_nonempty(self, allow_empty: bool) -> None:
        """Refuse empty sources.

        Args:
            allow_empty: Whether `--allow-empty` was given.

        Raises:
            ArgumentError: A source is empty.
        """
        if self.empty and not allow_empty:
            raise ArgumentError(
                f"There is nothing in {', '.join(self.empty)}. Nothing was sent. Check the command that should have "
                "filled it. If it may be empty, add --allow-empty.",
                parameter="allow_empty",
            )


def _items(column: str, *, whole_lines: bool = False, completer: Completer = offer_lists) -> Parameter:
    """Return the parameter of items: arguments, or the words, lines or column of files and of standard input."""

    def convert(_: Any, tokens: Sequence[Token]) -> Items[str]:
        found = {token.value: _read_items(token.value, column, whole_lines) for token in tokens}
        # A dictionary drops repetitions and keeps the order.
        items = Items(dict.fromkeys(text for texts in found.values() for text in texts))
        items.retyped = None if "-" in found else tuple(token.value for token in tokens)
        items.whole_lines = whole_lines
        items.empty = tuple(_source_name(argument) for argument, texts in found.items() if not texts)
        return items

    return Parameter(converter=convert, allow_leading_hyphen=True, n_tokens=-1, completer=completer)


def _read_items(argument: str, column: str, whole_lines: bool) -> list[str]:
    if argument == "-" or argument.startswith("@"):
        text = read_text(argument.removeprefix("@"))
        return list(_cells(_source_name(argument), text, column, whole_lines))
    # The parameter accepts a leading hyphen, because `-` is standard input; so unknown options arrive here.
    if argument.startswith("-"):
        raise ArgumentError(f"There is no option {argument}. Nothing was sent. See --help.", parameter=argument)
    # A seed keyword may be called like a file, but seldom with a dot.
    if "." in argument and os.path.isfile(argument):  # noqa: PTH113  a `Path` fails on long texts
        raise ArgumentError(
            f"{argument} is a file. Nothing was sent. To read what is in it, write @{argument}.", parameter="file"
        )
    item = argument.strip() if whole_lines else _validated_argument(argument)
    return [item] if item else []


def _validated_argument(text: str) -> str:
    """Return an argument, which is one identifier with its spaces; a blank one counts as empty."""
    if not text.isprintable() or _FORBIDDEN.search(re.sub("[ #]", "", text)):
        raise ArgumentError(
            f"{text!r} is not a valid argument: each argument is one identifier. Nothing was sent. Write an identifier "
            "with such characters to a CSV file with the header id, and pass @FILE.",
            parameter="file",
        )
    return text if text.strip() else ""


def _validated(word: str, what: str) -> str:
    if _FORBIDDEN.search(word) or not word.isprintable():
        raise ArgumentError(
            f"{what} is not a valid identifier. Nothing was sent. A file must hold identifiers separated by white "
            "space, or CSV with a header.",
            parameter="file",
        )
    return word


def _cells(source: str, text: str, column: str, whole_lines: bool) -> Iterator[str]:
    """Yield each word or line of a list, or each cell of a table's column; skip blank lines and comments."""
    lines = [
        (number, line)
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not _is_comment(line, whole_lines)
    ]
    number, header = lines[0] if lines else (0, "")
    for delimiter in ",;\t":
        names = [name.strip().lower() for name in next(csv.reader([header], delimiter=delimiter), [])]
        if column in names or ("id" in names and len(names) > 1):
            return _column(source, text, column, delimiter, number, names)
        if not whole_lines and any(map(_OTHER_NAME.fullmatch, names)):
            return _column(source, text, column, delimiter, number, names)
    if _PLAIN_HEADER.match(header) and (whole_lines or column != "id"):
        raise ArgumentError(
            f"{source} must be a CSV table, and has no commas. Nothing was sent. Write it with --csv.",
            parameter="file",
        )
    if _PLAIN_HEADER.match(header):
        return (line.strip().split("  ")[0] for _, line in lines[1:])
    if whole_lines:
        return (line.strip() for _, line in lines)
    return (_validated(word, f"{source}, line {at}: {word!r}") for at, line in lines for word in line.split())


def _column(source: str, text: str, column: str, delimiter: str, skipped: int, names: Sequence[str]) -> Iterator[str]:
    if column not in names:
        raise ArgumentError(
            f"{source}, line {skipped}: the column must be called {column!r}, and is missing; there are "
            f"{', '.join(names)}. Nothing was sent.",
            parameter="file",
        )
    place = names.index(column)
    rows = csv.reader(io.StringIO(text), delimiter=delimiter)
    try:
        for row in rows:
            if rows.line_num <= skipped or not any(map(str.strip, row)) or _is_comment(row[0]):
                continue
            cell = unescape_formula(row[place]).strip() if place < len(row) else ""
            if not cell or (column not in _TEXTS and not cell.isprintable()):
                why = "holds characters that cannot be printed" if cell else "is empty"
                raise ArgumentError(
                    f"{source}, line {rows.line_num}: the column {column!r} {why}. Nothing was sent.",
                    parameter="file",
                )
            yield cell
    except csv.Error as error:
        raise ArgumentError(f"{source}, line {rows.line_num}: {error}. Nothing was sent.", parameter="file") from error


def _is_comment(line: str, whole_lines: bool = False) -> bool:
    # A seed keyword may begin with the sign: #running.
    return line.lstrip().startswith("# " if whole_lines else "#") or line.strip() == "#"


def _source_name(argument: str) -> str:
    return "standard input" if argument == "-" else argument.removeprefix("@") or "an empty argument"


def read_text(path: str) -> str:
    """Read a file, or standard input for `-`.

    Raises:
        ArgumentError: The file cannot be read.
    """
    name = _source_name(path)
    try:
        text = sys.stdin.read() if path == "-" else _decode(Path(path).read_bytes())
    except OSError as error:
        raise _unreadable(name, str(error.strerror)) from error
    except UnicodeError as error:
        raise _unreadable(name, "it is not UTF-8") from error
    except ValueError as error:
        # The name has a null byte.
        raise _unreadable(repr(path), str(error)) from error
    return text.removeprefix("\N{BYTE ORDER MARK}")


def _decode(data: bytes) -> str:
    # `>` of older PowerShells writes UTF-16.
    encoding = "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8"
    return io.TextIOWrapper(io.BytesIO(data), encoding=encoding).read()


def _unreadable(name: str, why: str) -> ArgumentError:
    return ArgumentError(f"{name} cannot be read: {why}. Nothing was sent.", parameter="file")


def read_file(_: Any, tokens: Sequence[Token]) -> str:
    """Read the file that an option names; an empty name gives an empty text.

    Raises:
        ArgumentError: The file cannot be read, or is empty.
    """
    path = tokens[0].value
    if not path:
        return ""
    if path.startswith("-") and path != "-":
        raise ArgumentError(f"must be a file, or - for standard input, got {path}. Nothing was sent.", parameter="file")
    text = read_text(path)
    if not text.strip():
        raise ArgumentError(
            f"There is nothing in {_source_name(path)}. Nothing was sent. To clear the text, use '' for the file name.",
            parameter="file",
        )
    return text


def are_plain(words: Iterable[str]) -> bool:
    """Return whether identifiers can be read from the command line, and from a file without a header."""
    return not any(map(_FORBIDDEN.search, words))


def csv_table(words: Iterable[str]) -> str:
    """Return a CSV table with identifiers that a plain list could not keep apart."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([["id"], *([word] for word in words)])
    return text.getvalue()


#: Identifiers, without repetitions and in order. `-` stands for standard input, `@path` for a file.
Identifiers: TypeAlias = Annotated[Items[str], _items("id")]
#: The same for contents and for pages, which a shell completes.
ContentIds: TypeAlias = Annotated[Items[str], _items("id", completer=offer_contents)]
PageIds: TypeAlias = Annotated[Items[str], _items("id", completer=offer_pages)]
#: The same for job tokens.
JobTokens: TypeAlias = Annotated[Items[str], _items("token", completer=offer_tokens)]
#: The same for texts with spaces, one per line.
SeedKeywords: TypeAlias = Annotated[Items[str], _items("keyword", whole_lines=True)]
#: The same for prompts.
PromptTexts: TypeAlias = Annotated[Items[str], _items("prompt", whole_lines=True)]
#: The same for addresses of pages.
Urls: TypeAlias = Annotated[Items[str], _items("url", whole_lines=True)]
