"""What every test of the sandbox starts from."""

from __future__ import annotations

import pytest

from cmsapi.sandbox import Sandbox
from tests.support.calling import Caller


@pytest.fixture
def box() -> Sandbox:
    """Give a sandbox with everything by default."""
    return Sandbox()


@pytest.fixture
def call(box: Sandbox) -> Caller:
    """Give a caller with the administrator's key of `box`."""
    return Caller(box)
