"""Timers of an event loop that is not asyncio's own: what `call_at` returns can be cancelled, and no more than that."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cmsapi
from cmsapi.sandbox import Sandbox


class BareLoop(asyncio.SelectorEventLoop):
    """Return timers without `when`, as uvloop does for a time that is past."""

    def call_at(  # type: ignore[override]  # what it returns is less than asyncio's
        self, when: float, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> Any:
        """Call a function at a time."""
        return _Bare(super().call_at(when, callback, *args, context=context))


class _Bare:
    def __init__(self, timer: asyncio.TimerHandle) -> None:
        self.cancel = timer.cancel


def uvloop() -> asyncio.AbstractEventLoop:
    """Make a loop of uvloop."""
    if importlib.util.find_spec("uvloop") is None:
        pytest.skip("NOT TESTED: uvloop is not installed")
    loop: asyncio.AbstractEventLoop = importlib.import_module("uvloop").new_event_loop()
    return loop


@pytest.mark.enable_socket
@pytest.mark.parametrize("shared", [False, True], ids=["memory", "file"])
@pytest.mark.parametrize("loop_factory", [BareLoop, uvloop])
def test_calls_wait_for_their_turn(
    loop_factory: Callable[[], asyncio.AbstractEventLoop], shared: bool, tmp_path: Path
) -> None:
    """More calls than a second admits are all answered, with the limits in memory and with shared limits."""
    sandbox = Sandbox()

    async def main() -> None:
        state = f"sqlite:///{tmp_path / 'state.db'}" if shared else "memory:"
        async with cmsapi.Client(
            sandbox.api_key, base_url=sandbox.base_url, transport=sandbox.transport, state=state
        ) as client:
            await client.me()
            async with asyncio.timeout(10):
                await asyncio.gather(*(client.me() for _ in range(30)))

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(main())
    assert (len(sandbox.ledger), sandbox.statistics.rate_limited) == (31, 0)
