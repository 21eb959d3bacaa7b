"""What holds for every test of jobs: nothing is left behind, and nothing fails unseen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest


@pytest.fixture(autouse=True)
async def nothing_left_behind() -> AsyncIterator[None]:
    """Fail a test that leaves a task behind once its clients are closed, or an error that nobody has heard."""
    loop = asyncio.get_running_loop()
    unheard: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, context: unheard.append(context))
    yield
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert not left
    assert not unheard
