"""One HTTP request as it arrives."""

from __future__ import annotations

from collections.abc import Mapping

import attrs


@attrs.frozen
class Request:
    """One HTTP request.

    Args:
        method: HTTP method.
        path: Path, still percent-encoded.
        query: Query string, still percent-encoded.
        headers: Headers, whose names ignore case.
        body: Whole body; empty if there is none.
        id: What the service calls the request.
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes
    id: str

    @property
    def authorization(self) -> str | None:
        """The `Authorization` header."""
        return self.headers.get("authorization")
