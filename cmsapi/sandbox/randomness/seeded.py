"""Seeded random numbers: each choice depends on a seed and a name, never on earlier choices."""

from __future__ import annotations

import random


def seeded_random(*name: object) -> random.Random:
    """Return the generator of a name such as `(seed, "keyword_analysis", keyword_id, 0)`."""
    return random.Random(":".join(map(str, name)))  # noqa: S311 - reproducible on purpose
