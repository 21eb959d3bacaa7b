"""Say which value of a document does not fit, and where it is."""

from __future__ import annotations

import reprlib

from cmsapi.errors import DecodeError

_LONGEST = 80


class _Shortened(reprlib.Repr):
    def repr_int(self, x: int, level: int) -> str:
        """Write an integer; name only the type of one that has more digits than Python writes."""
        try:
            str(x)
        except ValueError:
            # Since Python 3.14 the method of the base class would show an address, which differs in each run.
            return type(x).__name__
        return super().repr_int(x, level)


_shortened = _Shortened()
_shortened.maxstring = _shortened.maxother = _LONGEST


def excerpt(value: object) -> str:
    """Return the beginning of a value, at most 80 characters of ASCII."""
    text = _shortened.repr(value).encode("ascii", "backslashreplace").decode()
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def mismatch(expected: str, value: object) -> DecodeError:
    """Return the error that says what was expected in place of a value; its path is that of the value itself."""
    return DecodeError(f"Expected {expected}", excerpt="null" if value is None else excerpt(value))


def prefix_path(error: DecodeError, step: str) -> None:
    """Put a step in front of the path of an error, `.key` or `[place]`: where its document is in the outer one."""
    error.path = f"${step}{error.path.removeprefix('$')}"
