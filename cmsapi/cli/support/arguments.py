"""Read many arguments: from the command line, from standard input or from a file.

A file is a list or a CSV table with a header. What cannot be an identifier is refused before anything is launched, and
so is a source with nothing in it: a program that should have filled it may have failed.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias

from cyclopts import Parameter, Token

from cmsapi.cli.support.output import unescape_formula
from cmsapi.errors import ArgumentError

# These separate cells, quote, nest, or begin a comment, and are in no identifier.
_FORBIDDEN = re.compile(r"""[\s,;'"`<>{}()\[\]|\\#]""")
# The header that lists have in a pipe without --csv; a terminal's table cannot be read back.
_PLAIN_HEADER = re.compile(r"id {2,}\S")

AllowEmpty: TypeAlias = Annotated[
    bool,
    Parameter(
        name="--allow-empty",
        negative="",
        show_default=False,
        help="Do not fail on empty input (exit 0).",
    ),
]


class Items(tuple[str, ...]):  # noqa: SLOT001  a tuple has no slots of its own
    """Hold what was read, and the arguments that it was read from."""

    #: What can be typed again for the same, or None when standard input, which is used up, is part of it.
    typed: tuple[str, ...] | None = None
    #: Whether each is a whole line, spaces and all.
    whole_lines: bool = False
    #: Names of the sources in which there was nothing.
    empty: tuple[str, ...] = ()

    def require_nonempty(self, allow_empty: bool) -> None:
        """Refuse empty sources.

        Args:
            allow_empty: Whether `--allow-empty` was given.

        Raises:
            ArgumentError: There is an empty one.
        """
        if self.empty and not allow_empty:
            raise ArgumentError(
                f"There is nothing in {', '.join(self.empty)}. Nothing was sent. Look at the command that was to fill "
                "it; where it may be empty, add --allow-empty.",
                parameter="allow_empty",
            )


class _Source(NamedTuple):
    """Hold the text of one argument, or of the file that it names, and what to call it in a message."""

    name: str
    text: str
    is_file: bool


def _converter(
    read: Callable[[_Source], Iterable[str]], *, whole_lines: bool
) -> Callable[[Any, Sequence[Token]], Items]:
    def convert(_: Any, tokens: Sequence[Token]) -> Items:
        found = {token.value: list(read(_open_source(token.value))) for token in tokens}
        # Each text once, in order.
        items = Items(dict.fromkeys(text for texts in found.values() for text in texts))
        items.typed = None if "-" in found else tuple(token.value for token in tokens)
        items.whole_lines = whole_lines
        items.empty = tuple(_source_name(argument) for argument, texts in found.items() if not texts)
        return items

    return convert


def _identifiers(column: str) -> Callable[[_Source], Iterator[str]]:
    def read(source: _Source) -> Iterator[str]:
        if not source.is_file:
            yield from (_validated(word, repr(word)) for word in source.text.split())
            return
        yield from _cells(source, column)

    return read


def _validated(word: str, what: str) -> str:
    if _FORBIDDEN.search(word) or not word.isprintable():
        raise ArgumentError(
            f"{what} cannot be an identifier. Nothing was sent. A file has identifiers separated by white space, "
            "or is CSV with a header.",
            parameter="file",
        )
    return word


def _lines(source: _Source) -> Iterator[str]:
    if not source.is_file:
        yield from filter(None, [source.text.strip()])
        return
    yield from _cells(source, "keyword", whole_lines=True)


def _cells(source: _Source, column: str, *, whole_lines: bool = False) -> Iterator[str]:
    """Give each word or line of a list, or each cell of a column of a table; no blank lines and comments."""
    lines = [
        (number, line)
        for number, line in enumerate(source.text.splitlines(), 1)
        if line.strip() and not _is_comment(line, whole_lines)
    ]
    number, header = lines[0] if lines else (0, "")
    for delimiter in ",;\t":
        names = [name.strip().lower() for name in next(csv.reader([header], delimiter=delimiter), [])]
        if column in names or ("id" in names and len(names) > 1):
            return _column(source, column, delimiter, number, names)
    if _PLAIN_HEADER.match(header) and (whole_lines or column != "id"):
        raise ArgumentError(
            f"{source.name} is a table without commas. Nothing was sent. Write it with --csv.", parameter="file"
        )
    if _PLAIN_HEADER.match(header):
        return (line.strip().split("  ")[0] for _, line in lines[1:])
    if whole_lines:
        return (line.strip() for _, line in lines)
    return (_validated(word, f"{source.name}, line {at}: {word!r}") for at, line in lines for word in line.split())


def _column(source: _Source, column: str, delimiter: str, skipped: int, names: Sequence[str]) -> Iterator[str]:
    if column not in names:
        raise ArgumentError(
            f"{source.name}, line {skipped}: there is no column {column!r} among {', '.join(names)}. Nothing was sent.",
            parameter="file",
        )
    place = names.index(column)
    rows = csv.reader(io.StringIO(source.text), delimiter=delimiter)
    try:
        for row in rows:
            if rows.line_num <= skipped or not any(map(str.strip, row)) or _is_comment(row[0]):
                continue
            cell = unescape_formula(row[place]).strip() if place < len(row) else ""
            if not cell or (column != "keyword" and not cell.isprintable()):
                why = "holds what cannot be printed" if cell else "is empty"
                raise ArgumentError(
                    f"{source.name}, line {rows.line_num}: the column {column!r} {why}. Nothing was sent.",
                    parameter="file",
                )
            yield cell
    except csv.Error as error:
        raise ArgumentError(
            f"{source.name}, line {rows.line_num}: {error}. Nothing was sent.", parameter="file"
        ) from error


def _is_comment(line: str, whole_lines: bool = False) -> bool:
    # A seed keyword may begin with the sign, as in #running.
    return line.lstrip().startswith("# " if whole_lines else "#") or line.strip() == "#"


def _open_source(argument: str) -> _Source:
    if argument == "-" or argument.startswith("@"):
        return _Source(_source_name(argument), read_text(argument.removeprefix("@")), is_file=True)
    # A lone hyphen would be refused as an option, so everything that begins with one comes here.
    if argument.startswith("-"):
        raise ArgumentError(f"There is no option {argument}; nothing was sent. See --help.", parameter=argument)
    return _Source(argument, argument, is_file=False)


def _source_name(argument: str) -> str:
    return "standard input" if argument == "-" else argument.removeprefix("@") or "an empty argument"


def read_text(path: str) -> str:
    """Read a file, or standard input for `-`.

    Raises:
        ArgumentError: It cannot be read.
    """
    name = _source_name(path)
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise _unreadable(name, str(error.strerror)) from error
    except UnicodeError as error:
        raise _unreadable(name, "it is not UTF-8") from error
    except ValueError as error:
        # A name with a zero byte.
        raise _unreadable(repr(path), str(error)) from error
    return text.removeprefix("\N{BYTE ORDER MARK}")


def _unreadable(name: str, why: str) -> ArgumentError:
    return ArgumentError(f"{name} cannot be read: {why}. Nothing was sent.", parameter="file")


def read_file(_: Any, tokens: Sequence[Token]) -> str:
    """Read the file that an option names; an empty text clears, and an empty file is refused.

    Raises:
        ArgumentError: It cannot be read, or is empty.
    """
    path = tokens[0].value
    if not path:
        return ""
    if path.startswith("-") and path != "-":
        raise ArgumentError(
            f"It takes a file, or - for standard input, not {path}. Nothing was sent.", parameter="file"
        )
    text = read_text(path)
    if not text.strip():
        raise ArgumentError(
            f"There is nothing in {_source_name(path)}. Nothing was sent. To clear the text, give '' in its place.",
            parameter="file",
        )
    return text


def are_plain(words: Iterable[str]) -> bool:
    """Tell whether identifiers are read back from the command line, and from a file without a header."""
    return not any(map(_FORBIDDEN.search, words))


def csv_table(words: Iterable[str]) -> str:
    """Return a table from which identifiers are read back that cannot be told apart without one."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([["id"], *([word] for word in words)])
    return text.getvalue()


def _parameter(read: Callable[[_Source], Iterable[str]], *, whole_lines: bool = False) -> Parameter:
    return Parameter(converter=_converter(read, whole_lines=whole_lines), allow_leading_hyphen=True, n_tokens=-1)


#: Identifiers, without repetitions and in order. `-` stands for standard input, `@path` for a file.
Identifiers: TypeAlias = Annotated[Items, _parameter(_identifiers("id"))]
#: The same for tokens of jobs.
JobTokens: TypeAlias = Annotated[Items, _parameter(_identifiers("token"))]
#: The same for texts that may have spaces: one a line.
SeedKeywords: TypeAlias = Annotated[Items, _parameter(_lines, whole_lines=True)]
