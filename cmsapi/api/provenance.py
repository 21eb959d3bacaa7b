"""Where a piece of the interface is known from.

The specification marks about half of the interface "not shown". What the SDK does there is a default with a provenance,
so that a reader and an error message can tell a promise from a guess.
"""

from __future__ import annotations

import enum


class Provenance(enum.Enum):
    """Say how well a route, a field or a word is known."""

    SPEC = "stated by the specification"
    PUBLISHED = "seen in a public reference of the same interface"
    ASSUMED = "shown nowhere; the most natural REST shape"
