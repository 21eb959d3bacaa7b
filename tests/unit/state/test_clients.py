"""Clients that name the same state share the limits of their key, also across processes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import cmsapi
from cmsapi.sandbox import Sandbox

pytestmark = pytest.mark.usefixtures("turning_loop")


async def test_the_hour_outlives_a_client(tmp_path: Path) -> None:
    """A client that comes after another one on the same file knows what that has used."""
    sandbox = Sandbox()
    state = f"sqlite:///{tmp_path / 'state.db'}"
    for used in (1, 2):
        async with cmsapi.Client(
            sandbox.api_key, base_url=sandbox.base_url, transport=sandbox.transport, state=state
        ) as client:
            await client.me()
            assert client.rate_limit.remaining == 1000 - used


async def test_clients_of_one_loop_use_a_state_together(tmp_path: Path) -> None:
    """Closing one client leaves the state to the other; closing both lets go of it."""
    sandbox = Sandbox()
    options: dict[str, Any] = {"base_url": sandbox.base_url, "transport": sandbox.transport}
    state = f"sqlite:///{tmp_path / 'state.db'}"
    one = cmsapi.Client(sandbox.api_key, state=state, **options)
    other = cmsapi.Client(sandbox.api_key, state=state, **options)
    await asyncio.gather(one.me(), other.me())
    await one.aclose()
    await other.me()
    assert other.rate_limit.remaining == 997
    await other.aclose()


@pytest.mark.parametrize(("share", "a_second"), [(0.25, 5), (0.5, 10), (0.01, 1)])
async def test_a_file_that_is_no_state_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, share: float, a_second: int
) -> None:
    """A state that cannot be read is logged; calls that need only the limits go on with a share of them."""
    file = tmp_path / "state.db"
    file.write_text("this is no database, and it is long enough to be looked at\n" * 10)
    sandbox = Sandbox()
    async with cmsapi.Client(
        sandbox.api_key,
        base_url=sandbox.base_url,
        transport=sandbox.transport,
        state=f"sqlite:///{file}",
        limits=cmsapi.RateLimits(share=share),
    ) as client:
        await client.me()
    assert f"until it can be reached, this process makes at most {a_second} requests a second" in caplog.text
