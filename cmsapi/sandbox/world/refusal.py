"""Refusals: the errors with which the service ends a request (specification, section 7)."""

from __future__ import annotations


class Refusal(Exception):  # noqa: N818 - it is an answer, not a mistake
    """End a request with an error of section 7.

    Args:
        status: HTTP status.
        message: Text for people; for 422 it names the failing field.
        headers: Headers beyond the usual ones.
    """

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers: dict[str, str] = headers or {}
