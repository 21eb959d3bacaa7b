"""The `doctor` command."""

from __future__ import annotations

import json

import pytest

import cmsapi
from cmsapi.cli.support.exit_codes import Exit
from cmsapi.sandbox import Sandbox
from tests.support.command import command
from tests.support.raw import RawServer, http

pytestmark = pytest.mark.looptime


async def test_the_doctor_prints_its_checks(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """Each check is a line; without problems the exit code is 0."""
    assert await command("doctor") == Exit.DONE
    shown = capsys.readouterr().out
    assert "43 of 43 routes" in shown
    assert box.api_key not in shown


async def test_a_refused_key_ends_with_one(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A problem ends with 1, also with `--json`."""
    monkeypatch.setenv("CMSAPI_API_KEY", box.revoked_key)
    assert await command("doctor", "--json") == Exit.FAILED
    assert json.loads(capsys.readouterr().out)["ok"] is False


async def test_drift_is_counted(
    sandbox: Sandbox, client: cmsapi.Client, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An unlisted key in an answer that the doctor reads is printed with its count, also in JSON."""
    user = await client.request("GET", "/v1/me")
    moved = http(json.dumps({**user, "shoeSize": 38}).encode())
    monkeypatch.setenv("CMSAPI_API_KEY", sandbox.api_key)
    for tokens in (["doctor"], ["doctor", "--json"]):
        async with RawServer(moved, http(b"{}", "404 Not Found")) as server:
            monkeypatch.setenv("CMSAPI_BASE_URL", server.url)
            assert await command(*tokens) == Exit.FAILED
        shown = capsys.readouterr().out
        if "--json" in tokens:
            (deviation,) = [each for each in json.loads(shown)["drift"] if each["where"].endswith("shoeSize")]
            assert deviation["count"] == 1
        else:
            assert "1 x User.shoeSize: key that is not listed" in shown
