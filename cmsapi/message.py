"""Request and response as plain values.

A transport and the rest of the SDK share nothing else, so that a transport can be a real connection, the sandbox in the
same process or twenty lines of a user's test.
"""

from __future__ import annotations

import re
from collections.abc import ItemsView, Iterator, Mapping

import attrs

# Names of headers whose values are secret, as far as a name tells.
_SECRET = re.compile(r"auth(?!or)|cookie|credential|jwt|key(?!word)|passw|secret|session|signature|token")


class Headers(Mapping[str, str]):
    """Look up HTTP headers without regard to case.

    Args:
        items: Names and values. A name that comes twice keeps both values, joined by a comma (RFC 9110, 5.3).
    """

    __slots__ = ("folded",)

    def __init__(self, items: Mapping[str, str] | Iterator[tuple[str, str]] = {}) -> None:  # noqa: B006 - read only
        folded: dict[str, str] = {}
        for name, value in items.items() if isinstance(items, Mapping) else items:
            key = name.lower()
            folded[key] = f"{folded[key]}, {value}" if key in folded else value
        #: The values by names in lower case.
        self.folded: Mapping[str, str] = folded

    def __getitem__(self, name: str) -> str:
        return self.folded[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return iter(self.folded)

    def items(self) -> ItemsView[str, str]:
        """Return names, in lower case, and values."""
        return self.folded.items()

    def __len__(self) -> int:
        return len(self.folded)

    def redacted(self) -> dict[str, str]:
        """Return names and values to show: values that look secret by their names, or hold the key, are masked."""
        key = self.folded.get("authorization", "").rpartition(" ")[2]
        return {
            name: "***" if _SECRET.search(name) or (key and key in value) else value
            for name, value in self.folded.items()
        }

    def __repr__(self) -> str:
        return f"Headers({self.redacted()!r})"


def _headers(value: Mapping[str, str]) -> Headers:
    return value if isinstance(value, Headers) else Headers(value)


@attrs.frozen
class Request:
    """Hold one HTTP request as it goes to a transport.

    Args:
        method: Upper-case HTTP method.
        url: Absolute URL, query included, percent-encoded.
        headers: Request headers, the API key among them; they are masked in the representation.
        body: Encoded body, or None.
    """

    method: str
    url: str
    headers: Headers = attrs.field(factory=Headers, converter=_headers)
    body: bytes | None = attrs.field(default=None, repr=False)


@attrs.frozen
class Response:
    """Hold one HTTP response as it comes from a transport.

    Args:
        status: HTTP status code.
        headers: Response headers, looked up without regard to case.
        body: Whole body; empty when there was none.
    """

    status: int
    headers: Headers = attrs.field(factory=Headers, converter=_headers)
    body: bytes = attrs.field(default=b"", repr=False)
