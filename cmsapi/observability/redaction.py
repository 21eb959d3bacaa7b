"""Mask the API key in texts that come from outside: answers, errors of transports, headers."""

from __future__ import annotations

import re
import string

# As many characters of a key, at either end, tell which one it is.
_TRACE = 10
_WORDY = b"_-" + (string.ascii_letters + string.digits).encode()


def masked(text: bytes, key: bytes) -> bytes:
    """Mask a key in a text, also one that was cut short at either end."""
    begins, ends = key[:_TRACE], key[-_TRACE:]
    if not key or (begins not in text and ends not in text):
        return text
    parts: list[bytes] = []
    done = 0
    for found in re.finditer(rb"(%s[\w-]*)|%s" % (re.escape(begins), re.escape(ends)), text):
        before = text[done : found.start()]
        # Not by a pattern that begins with any number of letters: on a long word that takes the square of its length.
        parts += (before if found[1] else before.rstrip(_WORDY), b"sk_***")
        done = found.end()
    return b"".join((*parts, text[done:]))


def traces(key: str) -> tuple[str, str]:
    """Return two parts of a key, without which a text does not hold it."""
    return key[:_TRACE], key[-_TRACE:]


def masked_text(text: str, key: str) -> str:
    """Mask a key in a text."""
    begins, ends = traces(key)
    return (
        text
        if begins not in text and ends not in text
        else masked(text.encode(errors="replace"), key.encode()).decode()
    )
