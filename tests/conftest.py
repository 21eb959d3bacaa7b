"""Fixtures for all tests: the sandbox, a client of it, and a check of which cmsapi is tested."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from blockbuster import BlockBuster, blockbuster_ctx
from hypothesis import HealthCheck, settings

import cmsapi
from cmsapi.sandbox import Sandbox

pytest_plugins = ["tests.support.raw", "tests.support.spec", "tests.support.responses"]

ROOT = Path(__file__).resolve().parent.parent
if not Path(cmsapi.__file__).is_relative_to(ROOT):
    raise pytest.UsageError(f"cmsapi comes from {cmsapi.__file__}, not from {ROOT}: run pytest in {ROOT}")

# Child processes import the same package.
os.environ["PYTHONPATH"] = str(ROOT)

# The same examples in each run; `HYPOTHESIS_PROFILE=search pytest` draws many new ones.
_SLOW_MACHINE = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("steady", _SLOW_MACHINE, derandomize=True, max_examples=25)
settings.register_profile("search", _SLOW_MACHINE, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let virtual time advance as soon as the loop is idle; by default looptime waits for 42 idle turns."""
    for item in items:
        if item.get_closest_marker("looptime"):
            item.add_marker(pytest.mark.looptime(noop_cycles=0))


@pytest.fixture(scope="session", autouse=True)
def no_loop_by_accident() -> None:
    """Keep looptime from making a loop that nothing closes if the first test of a run is a plain function."""
    asyncio.set_event_loop(None)


@pytest.fixture(autouse=True)
def blocking_calls() -> Iterator[BlockBuster]:
    """Fail a test when cmsapi blocks the event loop."""
    with blockbuster_ctx("cmsapi") as blocker:
        # The sandbox reads its document once, and pytest has a loader of its own for packages with plugins.
        blocker.functions["io.BufferedReader.read"].can_block_in("pkgutil.py", "get_data")
        yield blocker


@pytest.fixture
def sandbox() -> Sandbox:
    """Return a seeded service in this process."""
    return Sandbox()


@pytest.fixture
async def client(sandbox: Sandbox) -> AsyncIterator[cmsapi.Client]:
    """Return a client of the sandbox, closed after the test."""
    async with cmsapi.Client(sandbox.api_key, base_url=sandbox.base_url, transport=sandbox.transport) as client:
        yield client
