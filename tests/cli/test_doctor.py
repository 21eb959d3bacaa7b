"""The `doctor` command."""

from __future__ import annotations

import json

import pytest

from cmsapi.cli.exits import Exit
from cmsapi.sandbox import Sandbox

from .running import command

pytestmark = pytest.mark.looptime


async def test_the_doctor_says_what_it_found(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """Each check is a line; a sound service ends with 0."""
    assert await command("doctor") == Exit.DONE
    shown = capsys.readouterr().out
    assert "43 of 43 routes" in shown
    assert box.api_key not in shown


async def test_a_refused_key_ends_with_one(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A problem ends with 1, also in JSON."""
    monkeypatch.setenv("CMSAPI_API_KEY", box.revoked_key)
    assert await command("doctor", "--json") == Exit.FAILED
    assert json.loads(capsys.readouterr().out)["ok"] is False
