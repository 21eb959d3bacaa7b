"""The command in this process, in real time, with a sandbox whose jobs take a moment as the service."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from attrs import frozen

from cmsapi import Client, PollPolicy, RateLimits
from cmsapi.cli.app import app
from cmsapi.sandbox import Limits, Sandbox


@frozen
class Done:
    """What a command returned and wrote."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[list[str]]:
        """The lines of standard output, split at tabs."""
        return [line.split("\t") for line in self.out.splitlines()]

    @property
    def documents(self) -> list[Any]:
        """The documents of ``--json``."""
        return [json.loads(line) for line in self.out.splitlines()]


QUICK: dict[str, Any] = {"durations": 0.1, "limits": Limits(10**9, 10**9)}
Run: TypeAlias = Callable[..., Awaitable[Done]]


@pytest.fixture(autouse=True)
def blocking_calls() -> None:
    """Allow what a command may do but a library may not: read files while its event loop waits."""


@pytest.fixture
def sandbox() -> Sandbox:
    """Return a service whose jobs take a moment."""
    return Sandbox(**QUICK)


@pytest.fixture(autouse=True)
def environment(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Point commands in this process to the sandbox, and their files to the test's directory."""
    polling = PollPolicy(min_interval=0.05, max_interval=0.1, job_timeout=2)
    quick = partial(Client, transport=sandbox.transport, polling=polling, limits=RateLimits.unlimited())
    monkeypatch.setattr("cmsapi.cli.connect.Client", quick)
    monkeypatch.setenv("CMSAPI_API_KEY", sandbox.api_key)
    monkeypatch.setenv("CMSAPI_BASE_URL", sandbox.base_url)
    monkeypatch.delenv("CMSAPI_STATE", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs a command in the test's event loop."""

    async def run(*arguments: str) -> Done:
        code = await app.run_async(list(arguments), exit_on_error=False, result_action="return_value")
        return Done(int(code or 0), *capsys.readouterr())

    return run
