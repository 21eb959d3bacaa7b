"""Fixtures and markers for pytest; pytest finds them by itself.

Every run of pytest imports this module where the package is installed, also for projects that test something else.
So it imports nothing of the package before a fixture is used, and works without pytest-asyncio and looptime, which only
asynchronous tests and virtual time need.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from cmsapi.client import Client
    from cmsapi.sandbox import Sandbox

_MARKERS = (
    "cms_sandbox(**settings): what the test's `cms_sandbox` is made with, as for `cmsapi.sandbox.Sandbox`.",
    "cms_client(**settings): what the test's `cms_client` is made with, as for `cmsapi.Client`.",
    "virtual_time: waiting takes no time in this test; needs looptime and pytest-asyncio.",
)


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers and the fixtures."""
    for marker in _MARKERS:
        config.addinivalue_line("markers", marker)
    # In its strict mode pytest-asyncio runs no asynchronous fixture but its own.
    asyncio_plugin: Any = config.pluginmanager.get_plugin("asyncio")
    fixture = pytest.fixture if asyncio_plugin is None else asyncio_plugin.fixture

    class AsynchronousFixtures:
        cms_client = fixture(name="cms_client")(_client)

    config.pluginmanager.register(AsynchronousFixtures, "cmsapi-asynchronous-fixtures")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let looptime know what is marked with `virtual_time`."""
    mark = item.get_closest_marker("virtual_time")
    if mark is not None and item.config.pluginmanager.has_plugin("looptime_plugin"):
        item.add_marker(pytest.mark.looptime(**mark.kwargs))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let no test use up the request limits of another one, and refuse to wait for hours in real time."""
    limits: Any = sys.modules.get("cmsapi.ratelimit.process")
    if limits is not None:
        limits.forget_closed()
    if item.get_closest_marker("virtual_time") is not None and item.get_closest_marker("looptime") is None:
        from cmsapi.extras import advice

        pytest.fail(f"virtual_time needs looptime and pytest-asyncio: {advice('testing')}", pytrace=False)


@pytest.fixture
def cms_sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Give the whole service in a box, in this process; `@pytest.mark.cms_sandbox(…)` has its settings."""
    from cmsapi.sandbox import Sandbox

    return Sandbox(**_settings(request, "cms_sandbox"))


async def _client(request: pytest.FixtureRequest, cms_sandbox: Sandbox) -> AsyncIterator[Client]:
    """Give a client of `cms_sandbox`, closed at the end; `@pytest.mark.cms_client(…)` has its settings."""
    from cmsapi.client import Client

    given = {"api_key": cms_sandbox.api_key, "base_url": cms_sandbox.base_url, "transport": cms_sandbox.transport}
    # Not entered: it binds to the time of the test, which is not that of its fixtures.
    client = Client(**{**given, **_settings(request, "cms_client")})
    try:
        yield client
    finally:
        await client.aclose()


def _settings(request: pytest.FixtureRequest, marker: str) -> dict[str, Any]:
    """Return what the markers say; the one nearest to the test counts."""
    settings: dict[str, Any] = {}
    for mark in reversed(list(request.node.iter_markers(marker))):
        if mark.args:
            pytest.fail(f"@pytest.mark.{marker} takes settings by name, not {mark.args[0]!r}.", pytrace=False)
        settings.update(mark.kwargs)
    return settings
