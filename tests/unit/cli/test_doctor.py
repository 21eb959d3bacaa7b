"""The `doctor` command."""

from __future__ import annotations

import json
from typing import Any

import pytest

import cmsapi
from cmsapi.cli.terminal.exit_codes import Exit
from cmsapi.sandbox import Sandbox
from tests.support.command import command
from tests.support.raw import SILENCE, RawServer, http

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


async def test_the_document_has_the_same_keys_in_every_state(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Monitoring reads the status from the exit code or from `status`, whatever the doctor could examine."""

    async def examine(expected: Exit) -> dict[str, Any]:
        assert await command("doctor", "--json") == expected
        document: dict[str, Any] = json.loads(capsys.readouterr().out)
        return document

    good = await examine(Exit.DONE)
    # The virtual clock of the sandbox is not this machine's.
    assert {name for name, verdict in good["verdicts"].items() if verdict != "ok"} <= {"clock"}
    assert good["requestsLeft"] > 900
    assert set(good["balances"]) == {"analysis", "aiWriting", "contentIdeasSearches"}

    monkeypatch.setenv("CMSAPI_API_KEY", box.revoked_key)
    refused = await examine(Exit.FAILED)
    assert (refused["status"], refused["verdicts"]["key"], refused["balances"]) == ("problem", "problem", None)

    monkeypatch.setenv("CMSAPI_BASE_URL", "http://127.0.0.1:9")
    unreachable = await examine(Exit.FAILED)
    assert unreachable["verdicts"] == dict.fromkeys(good["verdicts"], "not known") | {
        "configuration": "ok",
        "connection": "problem",
        "limits": unreachable["verdicts"]["limits"],
    }

    monkeypatch.delenv("CMSAPI_API_KEY")
    unset = await examine(Exit.USAGE)
    assert unset["verdicts"]["configuration"] == "problem"
    assert good.keys() == refused.keys() == unreachable.keys() == unset.keys()
    assert good["verdicts"].keys() == refused["verdicts"].keys() == unset["verdicts"].keys()


async def test_warnings_count_only_with_strict(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A warning ends with 0, and with `--strict` with 3."""
    monkeypatch.setenv("CMSAPI_API_KEY", box.member_key)
    assert await command("doctor", "--json") == Exit.DONE
    assert json.loads(capsys.readouterr().out)["status"] == "warning"
    assert await command("doctor", "--strict") == Exit.PARTLY


async def test_a_slow_answer_is_announced(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside a server that never answers the doctor says within seconds what it waits for, and then the verdict."""
    monkeypatch.setenv("CMSAPI_API_KEY", sandbox.api_key)
    async with RawServer(SILENCE) as server:
        monkeypatch.setenv("CMSAPI_BASE_URL", server.url)
        assert await command("doctor") == Exit.FAILED
    shown = capsys.readouterr()
    assert shown.err.startswith(f"Waiting for GET /v1/me of {server.url}")
    assert "does not answer" in " ".join(shown.out.split())


async def test_a_quick_service_is_not_waited_for(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """While the service answers, standard error stays empty."""
    await command("doctor", "--json")
    assert not capsys.readouterr().err
