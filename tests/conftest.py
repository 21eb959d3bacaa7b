"""Fixtures that every test may use: the service in a box and a client of it, in virtual time unless asked otherwise."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator

import pytest
from blockbuster import BlockBuster, blockbuster_ctx
from hypothesis import HealthCheck, settings

import cmsapi
from cmsapi.ratelimit.process import forget_closed
from cmsapi.sandbox import Sandbox
from tests.support.examples import examples
from tests.support.watchdog import turning

pytest_plugins = ["tests.support.connecting", "tests.support.exported", "tests.support.places"]

# A timing is never a test, and what holds today must hold tomorrow; RANDOM=1 looks for new examples.
settings.register_profile(
    "steady",
    deadline=None,
    derandomize=not os.environ.get("RANDOM"),
    max_examples=examples(25),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("steady")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move virtual time on at once when a loop has nothing to do, where looptime would turn 42 times before."""
    for item in items:
        if item.get_closest_marker("looptime"):
            item.add_marker(pytest.mark.looptime(noop_cycles=0))


@pytest.fixture(scope="session", autouse=True)
def no_loop_by_accident() -> None:
    """Keep looptime's hook from leaving a loop open when the first test of a run is a plain function."""
    asyncio.set_event_loop(None)


@pytest.fixture(autouse=True)
def limits_anew() -> None:
    """Let no test use up the request limits of another one, as the plugin does."""
    forget_closed()


@pytest.fixture(autouse=True)
def blocking_calls() -> Iterator[BlockBuster]:
    """Fail a test whose event loop is blocked by the SDK or the sandbox."""
    # Drawing reads fonts, and a traceback of a notebook its sources; who asks for them inside a loop accepts that.
    drawing = ["cmsapi.resources.credit_plot", "cmsapi.resources.credit_report"]
    drawing += ["cmsapi.display.tracebacks", "cmsapi.errors.base"]
    with blockbuster_ctx("cmsapi", excluded_modules=drawing) as blocker:
        # A client that names a file by a relative path asks the kernel for the directory, which reads no disk.
        blocker.functions["os.getcwd"].can_block_in("cmsapi/state/opening.py", "open_state")
        # The time limit of a test interrupts what runs, and writes under xdist to the file of the worker.
        blocker.functions["io.TextIOWrapper.write"].can_block_in("pytest_timeout.py", "timeout_sigalrm")
        # Measuring branches takes a lock in each thread.
        blocker.functions["threading.Lock.acquire"].can_block_in("coverage/collector.py", "lock_data")
        yield blocker


if sys.version_info >= (3, 12) and os.environ.get("CMSAPI_TEST_EAGER"):

    @pytest.fixture(autouse=True)
    async def eager_tasks() -> None:
        """Have every task of a test begin before `create_task` returns."""
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)


@pytest.fixture
def sandbox() -> Sandbox:
    """A seeded service in the same process."""
    return Sandbox()


@pytest.fixture
async def turning_loop() -> AsyncIterator[None]:
    """Fail a test whose loop stands still; for tests that close clients."""
    with turning(asyncio.get_running_loop()):
        yield


@pytest.fixture
async def client(sandbox: Sandbox, turning_loop: None) -> AsyncIterator[cmsapi.Client]:
    """A client of the sandbox, closed at the end while its loop is watched."""
    async with cmsapi.Client(sandbox.api_key, base_url=sandbox.base_url, transport=sandbox.transport) as client:
        yield client
