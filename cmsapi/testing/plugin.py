"""Fixtures and markers for pytest, which loads this plugin automatically.

Every run of pytest imports this module if the package is installed, even in projects that do not use it. So the module
imports nothing of the package before a fixture is used. It works without pytest-asyncio and looptime; only asynchronous
tests and virtual time need them.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import AsyncIterator, Callable, Generator
from typing import TYPE_CHECKING, Any, TypeVar
from unittest import mock

import pytest

if TYPE_CHECKING:
    from cmsapi.client import Client
    from cmsapi.sandbox import Sandbox

T = TypeVar("T")

_MARKERS = (
    "cms_sandbox(**settings): settings of the test's `cms_sandbox`, as for `cmsapi.sandbox.Sandbox`.",
    "cms_client(**settings): settings of the test's `cms_client`, as for `cmsapi.Client`.",
    "virtual_time: waiting takes no time in this test; needs looptime and pytest-asyncio.",
)


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers and the fixtures."""
    for marker in _MARKERS:
        config.addinivalue_line("markers", marker)
    # In strict mode pytest-asyncio runs only asynchronous fixtures that its own decorator made.
    asyncio_plugin: Any = config.pluginmanager.get_plugin("asyncio")
    fixture = pytest.fixture if asyncio_plugin is None else asyncio_plugin.fixture

    class AsynchronousFixtures:
        cms_client = fixture(name="cms_client")(_client)

    config.pluginmanager.register(AsynchronousFixtures, "cmsapi-asynchronous-fixtures")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark tests with `virtual_time` for looptime."""
    mark = item.get_closest_marker("virtual_time")
    if mark is not None and item.config.pluginmanager.has_plugin("looptime_plugin"):
        item.add_marker(pytest.mark.looptime)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Separate the request limits of tests, and fail a test with `virtual_time` that would wait in real time."""
    limits: Any = sys.modules.get("cmsapi.ratelimit.process")
    if limits is not None:
        limits.forget_closed()
    mark = item.get_closest_marker("virtual_time")
    if mark is not None and (mark.args or mark.kwargs):
        pytest.fail(f"{_written(mark)}: this marker takes no settings.", pytrace=False)
    if mark is not None and item.get_closest_marker("looptime") is None:
        from cmsapi.extras import advice

        pytest.fail(f"virtual_time needs looptime and pytest-asyncio: {advice('testing')}", pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, bool | None, bool | None]:
    """Give blocking clients whose thread starts in a test with `virtual_time`, or in its fixtures, virtual time."""
    if item.get_closest_marker("virtual_time") is None:
        return (yield)
    from cmsapi.blocking.thread import LoopThread
    from cmsapi.testing.virtual import run_virtually

    with mock.patch.object(LoopThread, "run", run_virtually):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Give the loops that a test with `virtual_time` makes itself, as `asyncio.run` does, virtual time."""
    if item.get_closest_marker("virtual_time") is None:
        return (yield)
    import looptime

    with mock.patch.object(asyncio.events, "new_event_loop", looptime.new_event_loop):
        return (yield)


@pytest.fixture
def cms_sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Provide a sandbox of the service in this process; `@pytest.mark.cms_sandbox(…)` sets its settings."""
    from cmsapi.sandbox import Sandbox

    return _made(request, "cms_sandbox", Sandbox)


async def _client(request: pytest.FixtureRequest, cms_sandbox: Sandbox) -> AsyncIterator[Client]:
    """Provide a client of `cms_sandbox`, closed after the test; `@pytest.mark.cms_client(…)` sets its settings."""
    from cmsapi.client import Client

    given = {"api_key": cms_sandbox.api_key, "base_url": cms_sandbox.base_url, "transport": cms_sandbox.transport}
    # Without `async with` the client binds to the event loop's time in the test, not to the time in its fixtures.
    client = _made(request, "cms_client", Client, **given)
    try:
        yield client
    finally:
        await client.aclose()


def _made(request: pytest.FixtureRequest, marker: str, kind: Callable[..., T], **settings: Any) -> T:
    """Make an object with the settings of the markers; the nearest marker overrides the others."""
    marks = list(request.node.iter_markers(marker))
    names = ", ".join(name for name in inspect.signature(kind).parameters if name != "self")
    for mark in reversed(marks):
        if mark.args:
            pytest.fail(f"{_written(mark)} takes only settings by name: {names}.", pytrace=False)
        settings.update(mark.kwargs)
    try:
        return kind(**settings)
    except (TypeError, ValueError) as error:
        if not marks:
            raise
        written = " and ".join(map(_written, marks))
        pytest.fail(f"{written}: {error}\nThe settings of {marker} are {names}.", pytrace=False)


def _written(mark: pytest.Mark) -> str:
    """Return a marker as it stands in a test, but for a key."""
    named = (f"{name}={'…' if name == 'api_key' else repr(value)}" for name, value in mark.kwargs.items())
    return f"@pytest.mark.{mark.name}({', '.join([*map(repr, mark.args), *named])})"
