"""`-v` and `-vv`: a command shows on standard error what it does."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from cmsapi.cli.running import parse
from cmsapi.observability.log import StderrHandler
from cmsapi.sandbox import Sandbox
from tests.support.command import command

pytestmark = pytest.mark.enable_socket


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Put the logger back to what it was."""
    logger = logging.getLogger("cmsapi")
    level = logger.level
    yield
    logger.setLevel(level)
    for handler in [handler for handler in logger.handlers if isinstance(handler, StderrHandler)]:
        logger.removeHandler(handler)


@pytest.mark.parametrize(
    ("tokens", "levels"),
    [
        (["me"], set()),
        (["me", "-v"], {"INFO"}),
        (["-v", "me"], {"INFO"}),
        (["me", "--verbose"], {"INFO"}),
        (["me", "-vv"], {"INFO", "DEBUG"}),
        (["-v", "me", "-v", "--json"], {"INFO", "DEBUG"}),
    ],
)
async def test_each_v_shows_more(
    box: Sandbox, tokens: list[str], levels: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The option is allowed before and after the command; results stay alone on standard output."""
    assert await command(*tokens) == 0
    shown = capsys.readouterr()
    assert {line.split()[1] for line in shown.err.splitlines()} == levels
    assert "request." not in shown.out
    assert box.api_key not in shown.err + shown.out


async def test_the_option_wins_over_the_variable(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With `-vv` a command shows all events, whatever `CMSAPI_LOG` says."""
    monkeypatch.setenv("CMSAPI_LOG", "error")
    assert await command("me", "-vv") == 0
    assert " DEBUG cmsapi call.started operation=get_me " in capsys.readouterr().err


async def test_a_wrong_word_in_the_variable_is_wrong_usage(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command says which words there are, and sends nothing."""
    monkeypatch.setenv("CMSAPI_LOG", "loud")
    assert await command("me") == 2
    assert "CMSAPI_LOG must be one of debug, info, warning, error, got 'loud'." in capsys.readouterr().err


async def test_after_two_hyphens_it_is_no_option(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """What follows `--` are arguments, as for any option."""
    assert await command("me", "--", "-v") == 2
    assert "INFO cmsapi" not in capsys.readouterr().err


@pytest.mark.parametrize("tokens", [["--help"], ["analyze", "--help"], ["contents", "list", "--help"]])
def test_the_help_names_it(tokens: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The help of every command has the option."""
    parse(tokens)()
    assert "-vv" in capsys.readouterr().out
