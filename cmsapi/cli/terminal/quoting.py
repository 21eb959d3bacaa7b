"""Write words so that the user's shell reads them again: a POSIX shell, or the two of Windows.

The Command Prompt knows only double quotes, and PowerShell knows them too. It also gives a meaning to a leading `@`.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable

_PLAIN = re.compile(r"[\w.,:/\\=+-][\w.,:/\\=+@-]*", re.ASCII)
# Inside double quotes these still name variables, or end the quotes.
_SPECIAL = re.compile(r'["%!$`]|\\$')


def quote_word(word: str) -> str:
    """Return a word as it is typed."""
    if sys.platform != "win32":
        return shlex.quote(word)
    # Two quotes are one, and the text stays inside of them.
    return word if _PLAIN.fullmatch(word) else '"{}"'.format(word.replace('"', '""'))


def quote_words(words: Iterable[str]) -> str:
    """Return words as they are typed, one after another."""
    return " ".join(map(quote_word, words))


def can_be_typed(word: str) -> bool:
    """Return whether every shell of the system reads a quoted word as it is."""
    return word.isprintable() and (sys.platform != "win32" or not _SPECIAL.search(word))
