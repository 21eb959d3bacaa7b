"""What every test of the sandbox starts from."""

from __future__ import annotations

import asyncio

import pytest

from cmsapi.sandbox import Sandbox

from .calling import Caller


@pytest.fixture(scope="session", autouse=True)
def no_loop_by_accident() -> None:
    """Keep looptime's hook from creating a loop that nobody closes when the first test of a run is a plain function."""
    asyncio.set_event_loop(None)


@pytest.fixture
def box() -> Sandbox:
    """Give a sandbox with everything by default."""
    return Sandbox()


@pytest.fixture
def call(box: Sandbox) -> Caller:
    """Give a caller with the administrator's key of `box`."""
    return Caller(box)
