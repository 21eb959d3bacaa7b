"""Hide the password in the URL of a state."""

from __future__ import annotations

import re


def redact_url(url: str) -> str:
    """Return the URL of a state without user, password and query, for messages."""
    scheme, found, rest = url.partition("://")
    if scheme not in ("redis", "rediss", "postgresql", "postgres") or not found:
        return url
    place = re.split("[?#]", rest, maxsplit=1)[0]
    if "@" in rest[len(place) :]:
        # A password with unquoted signs cannot be told from the rest.
        return f"{scheme}://***"
    _, at, host = place.rpartition("@")
    return f"{scheme}://***@{host}" if at else f"{scheme}://{host}"
