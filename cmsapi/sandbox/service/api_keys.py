"""API keys (specification, section 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from cmsapi.sandbox.service.limits import Limits, SlidingWindow
from cmsapi.sandbox.world.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cmsapi.sandbox.world.records import User

_PREFIX = "Bearer "


@attrs.define(eq=False)
class ApiKey:
    """An API key: its label in the ledger, its user, and its own rate window."""

    label: str
    user: User
    window: SlidingWindow = attrs.field(repr=False)
    revoked: bool = False


class ApiKeys:
    """Keep the API keys by their text.

    Args:
        limits: The rate limits of each key.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._keys: dict[str, ApiKey] = {}

    def add(self, text: str, label: str, user: User, *, revoked: bool = False) -> None:
        """Add a key."""
        self._keys[text] = ApiKey(label, user, SlidingWindow(self._limits), revoked)

    def __getitem__(self, text: str) -> ApiKey:
        return self._keys[text]

    def __iter__(self) -> Iterator[ApiKey]:
        return iter(self._keys.values())

    def label(self, authorization: str | None) -> str:
        """Return the label of the key of an `Authorization` header; it never contains the key."""
        if authorization is None:
            return "none"
        key = self._find(authorization)
        return key.label if key else "unknown"

    def window(self, authorization: str | None) -> SlidingWindow:
        """Return the rate window of the key of an `Authorization` header; the window of an unknown key is empty."""
        key = self._find(authorization or "")
        return key.window if key else SlidingWindow(self._limits)

    def authenticate(self, authorization: str | None) -> ApiKey:
        """Return the key of an `Authorization` header.

        Raises:
            Refusal: 401: the key is missing, malformed, unknown or revoked (rule 5).
        """
        key = self._keys.get(authorization[7:]) if authorization and authorization.startswith(_PREFIX) else None
        if key is not None and not key.revoked:
            return key
        if authorization is None:
            raise Refusal(401, "the Authorization header is missing")
        if not authorization.startswith(f"{_PREFIX}sk_"):
            raise Refusal(401, "the Authorization header must start with 'Bearer sk_'")
        raise Refusal(401, "the API key is invalid or revoked")

    def _find(self, authorization: str) -> ApiKey | None:
        return self._keys.get(authorization.removeprefix(_PREFIX))
