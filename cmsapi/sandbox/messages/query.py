"""Query parameters: paging, filters and choices (specification, sections 1 and 7)."""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import parse_qsl

from cmsapi.sandbox.world.refusal import Refusal

_INTEGER = re.compile(r"-?[0-9]{1,4000}", re.ASCII)


class Query:
    """Read the parameters of one request.

    Args:
        text: Raw query string.
        malformed: Status for a value of the wrong type or out of its range.

    Raises:
        Refusal: The query string is not percent-encoded UTF-8.
    """

    __slots__ = ("_malformed", "_values")

    def __init__(self, text: str, malformed: int = 400) -> None:
        self._malformed = malformed
        self._values: dict[str, list[str]] = {}
        if not text:
            return
        try:
            pairs = parse_qsl(text, keep_blank_values=True, errors="strict")
        except ValueError:
            raise Refusal(400, "query: must be percent-encoded UTF-8") from None
        for name, value in pairs:
            self._values.setdefault(name, []).append(value)

    def text(self, name: str) -> str | None:
        """Return an optional text; the last of several values counts."""
        values = self._values.get(name)
        return values[-1] if values else None

    def texts(self, name: str) -> list[str]:
        """Return all values of a parameter."""
        return self._values.get(name, [])

    def integer(self, name: str, *, minimum: int | None = None, maximum: int | None = None) -> int | None:
        """Return an optional integer.

        Raises:
            Refusal: The value is not an integer, or out of its range; it is never clamped.
        """
        text = self.text(name)
        if text is None:
            return None
        if not _INTEGER.fullmatch(text):
            raise Refusal(self._malformed, f"{name}: must be an integer")
        value = int(text)
        if minimum is not None and value < minimum:
            raise Refusal(self._malformed, f"{name}: must be at least {minimum}")
        if maximum is not None and value > maximum:
            raise Refusal(self._malformed, f"{name}: must be at most {maximum}")
        return value

    def choice(self, name: str, options: Collection[str]) -> str:
        """Return a required parameter that has one of a few values.

        Raises:
            Refusal: The parameter is missing (400, section 7), or its value is not an option.
        """
        text = self.text(name)
        if text is None:
            raise Refusal(400, f"{name}: required query parameter is missing")
        if text not in options:
            raise Refusal(self._malformed, f"{name}: must be one of {', '.join(options)}")
        return text
