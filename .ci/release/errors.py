"""What stops a release."""

from __future__ import annotations


class ReleaseError(Exception):
    """Say why the release cannot be made, and what to do."""
