"""Full and closed standard streams, in real processes."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import AsyncIterator

import anyio
import pytest

from cmsapi.cli.terminal.exit_codes import Exit
from cmsapi.sandbox import Sandbox

pytestmark = pytest.mark.slow


@pytest.fixture
async def box() -> AsyncIterator[Sandbox]:
    """A sandbox on a socket, in real time."""
    async with Sandbox(keywords=2000) as box:
        yield box


async def shell(box: Sandbox, line: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run a line of a shell in which `cmsapi` is the command."""
    command = f'cmsapi() {{ {shlex.quote(sys.executable)} -m cmsapi "$@"; }}; set -o pipefail; {line}'
    known = {"CMSAPI_API_KEY": box.api_key, "CMSAPI_BASE_URL": box.base_url, "WSP": box.workspace_id}
    return await anyio.run_process(["bash", "-c", command], check=False, env={**os.environ, **known, **environment})


@pytest.mark.parametrize(
    ("command", "buffered"),
    [("me", ""), ("me --json", "1"), ("keywords $WSP --csv", ""), ("folders $WSP", ""), ("--help", "1")],
)
async def test_a_full_disk_is_an_error(box: Sandbox, command: str, buffered: str) -> None:
    """Output that cannot be written ends with 1 and one line, with and without Python's buffer."""
    done = await shell(box, f"cmsapi {command} > /dev/full", PYTHONUNBUFFERED=buffered)
    assert done.returncode == Exit.FAILED
    assert "No space left" in done.stderr.decode()
    assert len(done.stderr.splitlines()) == 1


async def test_a_closed_pipe_is_no_error(box: Sandbox) -> None:
    """A closed pipe ends a command with 0 and without a message."""
    done = await shell(box, "cmsapi keywords $WSP --json | head -1")
    assert (done.returncode, done.stdout, done.stderr) == (Exit.DONE, b"[\n", b"")
    for command in ("folders $WSP", "--help"):
        done = await shell(box, f"cmsapi {command} | head -c0")
        assert (done.returncode, done.stdout, done.stderr) == (Exit.DONE, b"", b"")


async def test_standard_error_may_be_unwritable(box: Sandbox) -> None:
    """Without standard error, results and the exit code are the same."""
    done = await shell(box, "cmsapi contents list $WSP --limit 1 --json 2> /dev/full")
    assert done.returncode == Exit.DONE
    assert len(json.loads(done.stdout)) == 1
    for lost in ("2> /dev/full", "2>&1 > /dev/null | head -c0"):
        assert (await shell(box, f"cmsapi folders wsp_other {lost}")).returncode == Exit.FAILED


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
async def test_streams_may_be_closed(box: Sandbox, closed: str) -> None:
    """A command runs without standard streams, and refuses to ask questions."""
    assert (await shell(box, f"cmsapi me {closed}")).returncode == Exit.DONE
    done = await shell(box, f"cmsapi contents delete {box.content_ids[0]} {closed}")
    assert done.returncode == Exit.USAGE
    assert b"Traceback" not in done.stderr


async def test_any_encoding_works(box: Sandbox) -> None:
    """Characters that the encoding of the output lacks are escaped, in JSON as JSON requires."""
    box.touch_content(box.content_ids[0], title="Läufe in Zürich → 走")
    for command in ("contents list $WSP", "contents list $WSP --csv", "credits --since 3000d", "folders $WSP"):
        done = await shell(box, f"cmsapi {command}", PYTHONIOENCODING="ascii")
        assert (done.returncode, b"Traceback" in done.stderr) == (Exit.DONE, False)
    done = await shell(box, f"cmsapi contents show {box.content_ids[0]} --json", PYTHONIOENCODING="latin-1")
    assert json.loads(done.stdout)["title"] == "Läufe in Zürich → 走"


async def test_arguments_may_be_any_bytes(box: Sandbox) -> None:
    """An argument that is not UTF-8 is refused without a traceback, and nothing is sent."""
    for command in ("folders $'x\\xff'", "contents create $WSP $'x\\xff'", "analyze $'x\\xff'", "jobs watch $'\\xff'"):
        done = await shell(box, f"cmsapi {command}")
        assert done.returncode == Exit.USAGE
        assert b"Traceback" not in done.stderr
    assert len(box.ledger) == 0
