"""Fixtures for pytest, which loads this module in every run if cmsapi is installed.

To keep other runs fast, the module imports neither the sandbox nor aiohttp before a fixture is used. Both fixtures are
plain functions and need no event loop: they work with anyio, pytest-asyncio in any mode and loop scope, or neither.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from cmsapi.client import Client
    from cmsapi.sandbox import Sandbox


@pytest.fixture
def cms_sandbox() -> Sandbox:
    """Return a new sandbox in this process; no network is involved.

    To configure the sandbox, override the fixture in a ``conftest.py``, a module or a class::

        @pytest.fixture
        def cms_sandbox():
            return Sandbox(keywords=3, durations=Fixed(30))
    """
    from cmsapi.sandbox import Sandbox

    return Sandbox()


@pytest.fixture
def cms_client(cms_sandbox: Sandbox) -> Iterator[Client]:
    """Yield a client of ``cms_sandbox``, and close it at the end of the test.

    The client belongs to the event loop that first uses it. Its state is in memory, even if ``CMSAPI_STATE`` is set.
    """
    import asyncio

    from cmsapi.client import Client

    sandbox = cms_sandbox
    client = Client(sandbox.api_key, base_url=sandbox.base_url, transport=sandbox.transport, state="memory:")
    yield client
    loop = client._connection.loop  # noqa: SLF001  only here a client is closed outside its loop
    if loop is None or loop.is_closed():  # the client ended with its loop
        return
    if loop.is_running():  # in another thread, such as that of a web framework's test client
        asyncio.run_coroutine_threadsafe(client.aclose(), loop).result()
    else:
        loop.run_until_complete(client.aclose())
