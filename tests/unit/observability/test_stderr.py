"""`CMSAPI_LOG`: the log on standard error, which a program gets without a line of code."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

import cmsapi
from cmsapi.observability.log import StderrHandler
from cmsapi.sandbox import Sandbox

LOGGER = logging.getLogger("cmsapi")


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Put the logger back to what it was."""
    level = LOGGER.level
    yield
    LOGGER.setLevel(level)
    for handler in [handler for handler in LOGGER.handlers if isinstance(handler, StderrHandler)]:
        LOGGER.removeHandler(handler)


def client() -> cmsapi.Client:
    """Make a client of a sandbox in this process."""
    box = Sandbox()
    return cmsapi.Client(box.api_key, base_url=box.base_url, transport=box.transport)


def handlers() -> list[logging.Handler]:
    """Return the handlers of the package."""
    return [handler for handler in LOGGER.handlers if isinstance(handler, StderrHandler)]


@pytest.mark.parametrize("word", ["info", "INFO", " info "])
async def test_a_word_shows_the_log_on_standard_error(
    word: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A request is a line with its time, level and logger; events below the level are not shown."""
    monkeypatch.setenv("CMSAPI_LOG", word)
    async with client() as made:
        await made.me()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    at = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
    assert re.match(rf"{at} INFO cmsapi request\.finished method=GET path=/v1/me status=200 ms=\d+ attempt=1", lines[0])


async def test_many_clients_write_each_line_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The handler is set once, whatever the number of clients, and the root logger stays as it is."""
    monkeypatch.setenv("CMSAPI_LOG", "info")
    root = logging.getLogger()
    before = (root.level, root.handlers.copy())
    for _ in range(3):
        async with client() as made:
            await made.me()
    assert len(handlers()) == 1
    assert len(capsys.readouterr().err.splitlines()) == 3
    assert (root.level, root.handlers) == before


async def test_a_program_that_shows_the_log_itself_gets_no_second_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A handler of the root logger on standard error writes the line, and the package's own does not."""
    monkeypatch.setenv("CMSAPI_LOG", "info")
    shown = logging.StreamHandler(sys.stderr)
    logging.getLogger().addHandler(shown)
    try:
        async with client() as made:
            await made.me()
    finally:
        logging.getLogger().removeHandler(shown)
    assert len(capsys.readouterr().err.splitlines()) == 1


async def test_a_level_that_was_set_later_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable sets the level with the first client only, so that a program may change it."""
    monkeypatch.setenv("CMSAPI_LOG", "debug")
    await client().aclose()
    assert LOGGER.level == logging.DEBUG
    LOGGER.setLevel(logging.ERROR)
    await client().aclose()
    assert LOGGER.level == logging.ERROR


@pytest.mark.parametrize("word", ["verbose", "1", "true", "trace", "sk_live_0123456789"])
def test_another_word_is_refused(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error lists the words, and does not show a key that was written into the wrong variable."""
    monkeypatch.setenv("CMSAPI_LOG", word)
    with pytest.raises(
        cmsapi.ConfigError, match=r"CMSAPI_LOG must be one of debug, info, warning, error, got"
    ) as caught:
        client()
    assert "0123456789" not in str(caught.value)
    assert not handlers()


@pytest.mark.parametrize("word", ["", "  "])
async def test_an_empty_word_changes_nothing(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a word the logger has no handler."""
    monkeypatch.setenv("CMSAPI_LOG", word)
    await client().aclose()
    assert not handlers()


@pytest.mark.slow
def test_an_import_sets_nothing() -> None:
    """The package sets up the log when a client is made, not when it is imported."""
    code = "import logging as l, cmsapi; cmsapi.Client; print(l.getLogger('cmsapi').handlers, l.getLogger().handlers)"
    environment = {**os.environ, "CMSAPI_LOG": "debug"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] []"


async def test_a_key_in_the_words_of_another_library_is_masked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The traceback of a hook that fails may hold a key."""
    monkeypatch.setenv("CMSAPI_LOG", "error")

    def fail(_: cmsapi.Event) -> None:
        raise RuntimeError(f"cannot send {box.api_key} on")

    box = Sandbox()
    async with cmsapi.Client(box.api_key, base_url=box.base_url, transport=box.transport, hooks=[fail]) as made:
        await made.me()
    shown = capsys.readouterr().err
    assert "RuntimeError: cannot send sk_*** on" in shown
    assert box.api_key not in shown
