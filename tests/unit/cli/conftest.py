"""A sandbox that the commands of a test talk to, as they would to the service."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cmsapi.sandbox import Fixed, Sandbox


@pytest.fixture(autouse=True)
def in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep launches where the commands of one test find them, and what they write out of the working directory."""
    monkeypatch.setenv("CMSAPI_STATE", "memory:")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
async def box(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Sandbox]:
    """A sandbox on a socket, named by the environment."""
    async with Sandbox(durations=Fixed(20)) as box:
        monkeypatch.setenv("CMSAPI_API_KEY", box.api_key)
        monkeypatch.setenv("CMSAPI_BASE_URL", box.base_url)
        yield box
