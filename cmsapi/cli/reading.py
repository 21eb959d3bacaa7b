"""Read many arguments: from the command line, or from standard input or a file."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Self, TypeAlias

from cyclopts import Parameter, Token

from cmsapi.errors import ArgumentError


class Items(tuple[str, ...]):  # noqa: SLOT001  a tuple has no slots of its own
    """Hold what was read, and the arguments that it was read from."""

    #: What can be typed again for the same, or None when standard input, which is used up, is part of it.
    typed: tuple[str, ...] | None = None

    @classmethod
    def of(cls, texts: Iterable[str], tokens: Sequence[Token]) -> Self:
        """Keep each text once, in order."""
        items = cls(dict.fromkeys(texts))
        arguments = tuple(token.value for token in tokens)
        items.typed = None if "-" in arguments else arguments
        return items


def _words(_: Any, tokens: Sequence[Token]) -> Items:
    return Items.of((word for token in tokens for text in _texts(token.value) for word in text.split()), tokens)


def _lines(_: Any, tokens: Sequence[Token]) -> Items:
    lines = (line.strip() for token in tokens for text in _texts(token.value) for line in text.splitlines())
    return Items.of((line for line in lines if line), tokens)


def _texts(argument: str) -> Iterable[str]:
    if argument == "-":
        return [text_of("-")]
    if argument.startswith("@"):
        return [text_of(argument[1:])]
    # A lone hyphen would be refused as an option, so everything that begins with one comes here.
    if argument.startswith("-"):
        raise ArgumentError(f"There is no option {argument}; nothing was sent. See --help.", parameter=argument)
    return [argument]


def text_of(path: str) -> str:
    """Read a file, or standard input for `-`.

    Raises:
        ArgumentError: It cannot be read.
    """
    try:
        return sys.stdin.read() if path == "-" else Path(path).read_text()
    except (OSError, UnicodeError) as error:
        raise ArgumentError(f"{path} cannot be read: {error}. Nothing was sent.", parameter="file") from error


def read_file(_: Any, tokens: Sequence[Token]) -> str:
    """Read the file that an option names."""
    return text_of(tokens[0].value)


#: Identifiers or tokens, without repetitions and in order. `-` stands for standard input, `@path` for a file.
Words: TypeAlias = Annotated[Items, Parameter(converter=_words, allow_leading_hyphen=True, n_tokens=-1)]
#: The same for texts that may have spaces: one a line.
Lines: TypeAlias = Annotated[Items, Parameter(converter=_lines, allow_leading_hyphen=True, n_tokens=-1)]
