"""A sandbox for the commands of a test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cmsapi.sandbox import Fixed, Sandbox


@pytest.fixture(autouse=True)
def in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the launches of one test in one state, and its files in a directory of its own."""
    monkeypatch.setenv("CMSAPI_STATE", "memory:")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
async def box(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Sandbox]:
    """A sandbox on a socket; the environment has its address and key."""
    async with Sandbox(durations=Fixed(20)) as box:
        monkeypatch.setenv("CMSAPI_API_KEY", box.api_key)
        monkeypatch.setenv("CMSAPI_BASE_URL", box.base_url)
        yield box
