"""The command line: what it prints, and with which code it ends."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

import pytest

from cmsapi.cli.demo import run_demo
from cmsapi.cli.exits import Exit
from cmsapi.sandbox import Sandbox

from .running import command

COMMAND = [sys.executable, "-m", "cmsapi"]


@pytest.mark.looptime
async def test_the_demo_does_the_main_job(capsys: pytest.CaptureFixture[str]) -> None:
    """The demonstration ends with 0 and a table that shows 46 jobs, 46 credits and no 429."""
    assert await run_demo() == 0

    table = capsys.readouterr().out
    assert "46 (40 analyses, 5 searches, 1 article)" in table
    assert re.search(r"429 answers\s+│\s+0 ", table)
    assert "10000 → 9960" in table


@pytest.mark.slow
def test_the_sandbox_is_served_until_interrupted() -> None:
    """The command prints what to export, has the keywords that it was asked for, and ends with 0 on Ctrl-C."""
    wanted = ["--port", "0", "--keywords", "100", "--seconds", "1"]
    with subprocess.Popen([*COMMAND, "sandbox", *wanted], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(9)]
        exported = dict(word.split("=") for word in lines[7].split()[1:])
        assert exported == {"CMSAPI_BASE_URL": lines[0].split()[2], "CMSAPI_API_KEY": lines[1].split()[2]}
        listing = [*COMMAND, "keywords", lines[3].split()[1], "--unanalysed", "--csv"]
        done = subprocess.run(listing, env=os.environ | exported, capture_output=True, text=True, check=True)
        assert len(done.stdout.splitlines()) == 101
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) == 0


@pytest.mark.looptime
async def test_a_port_in_use_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    """A second sandbox at the same port says what to do, and so does a port that cannot be."""
    async with Sandbox() as box:
        port = box.base_url.rpartition(":")[2]
        assert await command("sandbox", "--port", port) == Exit.USAGE
    assert "--port 0" in capsys.readouterr().err
    assert await command("sandbox", "--port", "65536") == Exit.USAGE


def test_a_wrong_option_is_refused() -> None:
    """Bad input ends with another code than 0, and names the option."""
    done = subprocess.run([*COMMAND, "sandbox", "--port", "many"], capture_output=True, text=True, check=False)

    assert done.returncode != 0
    assert "--port" in done.stdout + done.stderr


def test_the_missing_extra_is_named() -> None:
    """Without the extra's packages the command says how to install them."""
    code = "import sys; sys.modules['cyclopts'] = None; from cmsapi.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "pip install 'cmsapi[cli]'" in done.stderr
