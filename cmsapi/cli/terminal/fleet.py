"""Draw what all processes of a state do."""

from __future__ import annotations

import cmsapi


def batch_state(batch: cmsapi.BatchStatus) -> str:
    """Return the state of a batch in one word."""
    return "done" if batch.done else "running" if batch.active else "stopped"
