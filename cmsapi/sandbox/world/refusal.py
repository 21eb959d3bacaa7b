"""Refusals: the errors with which the service ends a request (specification, section 7)."""

from __future__ import annotations


class Refusal(Exception):  # noqa: N818 - a refusal is an answer, not an error of the sandbox
    """End a request with an error of section 7.

    Args:
        status: HTTP status.
        message: Text for people; for a 422 it names the failing field.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
