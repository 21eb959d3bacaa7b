"""The promises of the command as a whole: exit codes and messages."""

from __future__ import annotations

import pytest

from cmsapi.cli.app import main
from cmsapi.sandbox import Sandbox

USAGE = [
    ["nosuch"],
    ["analyze"],
    ["analyze", "kwd_1", "--nosuch"],
    ["analyze", "@missing.txt"],
    ["analyze", ".."],
    ["me", "--json", "--csv"],
    ["pages", "wsp_1", "--limit", "0"],
    ["generate", "cnt_1"],
    ["generate", "cnt_1", "--confirm", "--discard"],
    ["contents", "delete", "cnt_1"],
    ["contents", "update", "cnt_1"],
    ["jobs", "batches"],
    ["jobs", "batches", "--state", "sqlite:////nosuch/jobs.db"],
    ["jobs", "watch", "notoken"],
    ["analyze", "kwd_1", "--state", "mysql://host"],
]


@pytest.mark.parametrize("arguments", USAGE, ids=" ".join)
def test_wrong_usage(arguments: list[str], sandbox: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """Wrong usage gives exit code 2 and a message, and nothing is sent."""
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.err
    assert "Traceback" not in shown.err
    assert (shown.out, sandbox.ledger.requests) == ("", [])


def test_errors_of_the_service(capsys: pytest.CaptureFixture[str]) -> None:
    """An error of the service gives exit code 1 and one message."""
    assert main(["contents", "show", "nosuch"]) == 1
    assert "404" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["CMSAPI_API_KEY", "CMSAPI_BASE_URL"])
def test_missing_settings(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing setting is named, with a way to try the command without it."""
    monkeypatch.delenv(name)
    assert main(["me"]) == 2
    message = capsys.readouterr().err
    assert name in message
    assert "cmsapi demo" in message


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    """Help names commands and exit codes, and exits with success."""
    assert main(["--help"]) == 0
    assert {"analyze", "sandbox", "Exit"} <= set(capsys.readouterr().out.split())
