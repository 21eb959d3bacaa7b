"""How many examples a property is tried with: few in the quick suite, and more where `make coverage` takes its time."""

from __future__ import annotations

import os


def examples(quick: int) -> int:
    """Return how many examples to draw: four times as many as in the quick suite in `make coverage`."""
    return 4 * quick if os.environ.get("CMSAPI_TEST_THOROUGH") else quick
