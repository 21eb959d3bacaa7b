"""The service for the tests of jobs."""

from __future__ import annotations

import pytest

from cmsapi.sandbox import Sandbox


@pytest.fixture
def sandbox() -> Sandbox:
    """Return a service whose clock is wrong, and whose jobs take a minute."""
    return Sandbox(durations=60, clock_skew=-4000)
