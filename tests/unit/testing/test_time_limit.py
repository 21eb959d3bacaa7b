"""The time limit of the tests of this project."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import pytest_timeout  # type: ignore[import-untyped]  # it has no types
from _pytest._io import TerminalWriter

import cmsapi
from cmsapi.sandbox import Sandbox
from tests.support.resources import client_of


@pytest.mark.usefixtures("turning_loop")
async def test_a_time_limit_inside_the_sdk_is_told_as_one(tmp_path: Path) -> None:
    """A test that takes too long says so, also where its output goes to a file: the file is not what is wrong."""
    with (tmp_path / "worker").open("w") as file:
        item: Any = SimpleNamespace(config=SimpleNamespace(get_terminal_writer=lambda: TerminalWriter(file)))
        settings: Any = SimpleNamespace(disable_debugger_detection=True, timeout=120)

        def ring(_: cmsapi.Event) -> None:
            pytest_timeout.timeout_sigalrm(item, settings)

        with pytest.raises(pytest.fail.Exception, match="Timeout"):
            async with client_of(Sandbox(), hooks=[ring]) as client:
                await client.me()
