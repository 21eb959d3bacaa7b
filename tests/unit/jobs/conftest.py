"""What holds for every test of jobs: nothing is left behind, and nothing fails unseen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.watchdog import turning


@pytest.fixture(autouse=True)
async def nothing_left_behind() -> AsyncIterator[None]:
    """Fail a test whose loop stands still, or that leaves a task or an unheard error once its clients are closed."""
    loop = asyncio.get_running_loop()
    unheard: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, context: unheard.append(context))
    with turning(loop):
        yield
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert not left
    assert not unheard
