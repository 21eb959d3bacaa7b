"""Headers that a program adds to requests: which ones are allowed, and how they are shown."""

from __future__ import annotations

import re
from collections.abc import Mapping

import attrs

from cmsapi.api.wire.mismatch import excerpt
from cmsapi.errors import ArgumentError
from cmsapi.message import Request

# The characters of a name (RFC 9110, 5.6.2), and of a value.
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VALUE = re.compile(r"[\x20-\x7e]*")
# The client or its connection sets these, and another value would break the request.
_RESERVED = frozenset({"authorization", "connection", "content-length", "content-type", "host", "transfer-encoding"})
_OF_THE_CLIENT = _RESERVED | {"accept", "user-agent"}


def problem_of(headers: object) -> str | None:
    """Explain why headers cannot be added to requests, or return None. The text names the header and not its value."""
    if not isinstance(headers, Mapping):
        return f"`headers` must be a mapping of names to values, got {type(headers).__name__}."
    for name, value in headers.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            return (
                f"`headers` must have names of letters, digits and hyphens, without white space or control characters, "
                f"got {excerpt(name)}."
            )
        if name.lower() in _RESERVED:
            return f"`headers` must not have {name!r}: the client sets it itself."
        if not isinstance(value, str):
            return f"`headers` must have strings as values, got {type(value).__name__} for {name!r}."
        if not _VALUE.fullmatch(value):
            return f"`headers` must have values of printable ASCII characters; that of {name!r} has others."
    return None


def with_headers(request: Request, headers: Mapping[str, str]) -> Request:
    """Return a request with more headers; one of the same name is replaced.

    Raises:
        ArgumentError: A header cannot be sent, or the client sets it itself.
    """
    if (problem := problem_of(headers)) is not None:
        raise ArgumentError(f"{problem} Nothing was sent.", parameter="headers")
    added = {name.lower(): value for name, value in headers.items()}
    return attrs.evolve(request, headers={**request.headers.folded, **added})


def added_headers(request: Request) -> dict[str, str]:
    """Return the headers that the program added to a request, with masked secrets."""
    if request.headers.folded.keys() <= _OF_THE_CLIENT:
        return {}
    return {name: value for name, value in request.headers.redacted().items() if name not in _OF_THE_CLIENT}
