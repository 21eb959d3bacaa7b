"""Messages in a shell advise commands, options and variables, never Python."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import cmsapi
from cmsapi.cli.terminal.advice import for_shell
from cmsapi.cli.terminal.exit_codes import Exit
from cmsapi.sandbox import Fault, Faults, Sandbox
from tests.support.command import command

PYTHON = re.compile(
    r"\bclient\.\w|Client\(|OPERATIONS|RetryPolicy|LaunchPolicy|\bbatch\.\w|attach\(|base_url|allow_http"
)
# These are about what only a program can do.
PROGRAMS = {
    "as_completed.py",
    "fan_out.py",
    "guesses.py",
    "job.py",
    "runtime.py",
    "client.py",
    "telemetry.py",
    "plugin.py",
    "handler.py",
}
# These packages have no messages for a shell, or messages of their own.
PACKAGES = {"blocking", "cli", "mcp", "sandbox", "testing"}


def messages() -> Iterator[str]:
    """Yield each text of the SDK with white space that is not a docstring, with a word for each placeholder."""
    package = Path(cmsapi.__file__).parent
    for path in package.rglob("*.py"):
        if PACKAGES & set(path.relative_to(package).parts) or path.name in PROGRAMS:
            continue
        tree = ast.parse(path.read_bytes())
        inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                text = "".join(map(_placed, node.values))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner | statements:
                text = node.value
            else:
                continue
            if " " in text:
                yield text


def _placed(part: ast.expr) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    return "'x'" if isinstance(part, ast.FormattedValue) and part.conversion == ord("r") else "x"


def test_no_python_is_advised() -> None:
    """Each message with a Python name has a replacement for a shell."""
    reworded = {text: for_shell(text) for text in messages() if PYTHON.search(text)}
    assert len(reworded) > 10
    assert [shell for shell in reworded.values() if PYTHON.search(shell)] == []


def test_no_message_cites_the_specification() -> None:
    """Messages state rules in words, because a reader may not have the specification."""
    assert [text for text in messages() if re.search(r"specification,? (section )?\d|\brule \d|section \d", text)] == []


@pytest.mark.looptime
async def test_errors_advise_commands(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A missing key, a missing address, an assumed route and a failed job advise commands and variables."""
    box.set_outcome(box.keyword_ids[0], "failed")
    seen = []
    for tokens in (["contents", "show", "cnt_x"], ["analyze", box.keyword_ids[0], "--batch", "b"]) * 2:
        await command(*tokens)
        seen.append(capsys.readouterr().err)
    monkeypatch.setenv("CMSAPI_BASE_URL", "http://service.example")
    assert await command("me") == Exit.USAGE
    seen.append(capsys.readouterr().err)
    for name in ("CMSAPI_BASE_URL", "CMSAPI_API_KEY"):
        monkeypatch.delenv(name)
        assert await command("me") == Exit.USAGE
        seen.append(capsys.readouterr().err)
    assert [text for text in seen if PYTHON.search(text)] == []
    assert "set CMSAPI_API_KEY" in seen[-1]
    assert "cmsapi credits" in seen[1]
    assert "--retry failed" in seen[3]


@pytest.mark.looptime
async def test_a_lost_answer_advises_commands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A command shows whether a search was charged, and the message names that command."""
    faults = Faults(rules=[Fault(match="POST */content-idea-searches", drop=True, when="after")])
    async with Sandbox(faults=faults) as box:
        monkeypatch.setenv("CMSAPI_API_KEY", box.api_key)
        monkeypatch.setenv("CMSAPI_BASE_URL", box.base_url)
        assert await command("ideas", box.workspace_id, "trail running") == Exit.UNKNOWN
    shown = capsys.readouterr().err
    assert "cmsapi credits --csv" in shown
    assert not PYTHON.search(shown)
