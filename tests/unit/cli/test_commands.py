"""The sandbox and demo commands, their output and exit codes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest

import cmsapi
from cmsapi.cli.app import app
from cmsapi.cli.commands.demo import demo
from cmsapi.cli.terminal.exit_codes import Exit
from cmsapi.resources.resource import Resource
from cmsapi.sandbox import Sandbox
from tests.support.command import command
from tests.support.terminal import terminal

COMMAND = [sys.executable, "-m", "cmsapi"]

OPEN = "0.0.0.0"  # noqa: S104  reached over loopback only


@contextlib.asynccontextmanager
async def started(capsys: pytest.CaptureFixture[str], *options: str) -> AsyncIterator[list[str]]:
    """Run `cmsapi sandbox` while a block runs, and yield the lines it prints."""
    serving = asyncio.create_task(command("sandbox", "--port", "0", *options))
    lines: list[str] = []
    while "Ctrl-C stops it." not in lines:
        assert not serving.done()
        await asyncio.sleep(0.01)
        lines += capsys.readouterr().out.splitlines()
    try:
        yield lines
    finally:
        serving.cancel()
        await asyncio.wait([serving])


async def run_process(variables: dict[str, str], *tokens: str) -> tuple[int | None, str]:
    """Run a command in a separate process; return its exit code and standard error."""
    process = await asyncio.create_subprocess_exec(
        *COMMAND, *tokens, env=os.environ | variables, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    _, said = await process.communicate()
    return process.returncode, said.decode()


def exported(lines: list[str]) -> list[dict[str, str]]:
    """Return the variables of each line to type."""
    return [dict(word.split("=", 1) for word in line.split()[1:]) for line in lines if line.startswith("  export ")]


async def test_only_options_that_are_alike_are_suggested(capsys: pytest.CaptureFixture[str]) -> None:
    """A slip of the finger gets a suggestion; an option that does not exist gets none."""
    for typed, suggested in (("--sinc", "Did you mean --since?"), ("--output", "")):
        assert await command("credits", typed, "30d") == Exit.USAGE
        shown = capsys.readouterr().err
        assert suggested in shown
        assert bool(suggested) == ("Did you mean" in shown)
    assert await command("me", "--since", "30d") == Exit.USAGE
    assert "--json" not in capsys.readouterr().err


async def test_every_resource_has_a_command() -> None:
    """What is `client.some_things` in the SDK is `some-things` in a shell; two have shorter names."""
    renamed = {"content_ideas": "ideas", "credit_usages": "credits"}
    async with cmsapi.Client("sk_test", base_url="http://127.0.0.1:9") as client:
        resources = [name for name in dir(client) if name[0] != "_" and isinstance(getattr(client, name), Resource)]
    assert len(resources) > 10
    assert {renamed.get(name, name.replace("_", "-")) for name in resources} - set(app) == set()


@pytest.mark.looptime
async def test_the_demo_succeeds(capsys: pytest.CaptureFixture[str]) -> None:
    """It ends with 0, a table of 46 jobs, 46 credits and no 429, and what a naive loop would have sent."""
    assert await demo() == 0

    shown = capsys.readouterr()
    table = shown.out
    assert "46 (40 analyses, 5 searches, 1 article)" in table
    assert re.search(r"429 answers\s+│\s+0 ", table)
    assert "10000 → 9960" in table
    rows = re.findall(r"│ (cmsapi|all at once[^│]*?)\s*│\s*(\d+) │\s*(\d+) │\s+after\s+(\d+) s │", table)
    ours, naive = [[int(figure) for figure in figures] for _, *figures in rows]
    assert ours[0] < naive[0]
    assert ours[1] == 0 < naive[1]
    assert ours[2] < naive[2]
    assert "cmsapi analyze @ids.csv --dry-run" in table
    lines = shown.err.splitlines()
    assert any(line.startswith("Importing 4 pages") for line in lines)
    assert any(line.startswith("Launching 40 analyses") for line in lines)


@pytest.mark.slow
async def test_the_demo_says_what_it_does() -> None:
    """In a terminal a sentence above the bars says what happens."""
    async with Sandbox() as box, terminal(box, "demo", columns=80) as shell:
        await shell.until("Importing 4 pages")
        await shell.until("Launching 40 analyses and 5 idea searches.")


@pytest.mark.slow
def test_the_sandbox_is_served_until_interrupted() -> None:
    """The command prints the variables, has the requested number of keywords, and ends with 0 on Ctrl-C."""
    wanted = ["--port", "0", "--keywords", "100", "--seconds", "1"]
    with subprocess.Popen([*COMMAND, "sandbox", *wanted], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(9)]
        (variables,) = exported(lines)
        assert variables == {"CMSAPI_BASE_URL": lines[0].split()[2], "CMSAPI_API_KEY": lines[1].split()[2]}
        listing = [*COMMAND, "keywords", lines[3].split()[1], "--unanalysed", "--csv"]
        done = subprocess.run(listing, env=os.environ | variables, capture_output=True, text=True, check=True)
        assert len(done.stdout.splitlines()) == 101
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) == 0


async def test_a_sandbox_fails_lags_and_admits_as_asked(capsys: pytest.CaptureFixture[str]) -> None:
    """The three options reach the service: failing jobs, slow answers, and no bound of requests."""
    options = ["--failures", "1", "--latency", "0.2", "--unlimited", "--seconds", "0.1"]
    async with started(capsys, *options) as lines:
        (variables,) = exported(lines)
        key, url = variables["CMSAPI_API_KEY"], variables["CMSAPI_BASE_URL"]
        async with cmsapi.Client(key, base_url=url, limits=cmsapi.RateLimits.unlimited()) as client:
            began = asyncio.get_running_loop().time()
            await client.me()
            assert asyncio.get_running_loop().time() - began > 0.2
            await asyncio.gather(*(client.me() for _ in range(30)))
            assert client.statistics.retries == 0
            first = await anext(aiter(client.keywords.list(workspace_id=lines[3].split()[1])))
            with pytest.raises(cmsapi.JobFailedError):
                await client.jobs.run(client.keywords.analyze(first.id))


@pytest.mark.looptime
async def test_an_unusable_port_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """A port in use and an address of another machine are refused with advice."""
    async with Sandbox() as box:
        port = box.base_url.rpartition(":")[2]
        assert await command("sandbox", "--port", port) == Exit.USAGE
    assert capsys.readouterr().err == (
        f"The sandbox cannot use port {port} of 127.0.0.1: another program uses it. Use --port 0 for any free port.\n"
    )
    assert await command("sandbox", "--host", "192.0.2.1") == Exit.USAGE
    assert "cannot use port 8000 of 192.0.2.1: " in (shown := capsys.readouterr().err)
    assert "attempting" not in shown
    assert await command("sandbox", "--port", "65536") == Exit.USAGE


@pytest.mark.enable_socket
async def test_each_start_has_a_new_key_unless_one_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    """Each start has a new key and the same data; `--key` gives the same service again."""
    keys, workspaces = [], []
    for options in ((), (), ("--key", "sk_mine"), ("--key", "sk_mine")):
        async with started(capsys, *options) as lines:
            keys.append([line.split()[-2] for line in lines[1:3]])
            workspaces.append(lines[3])
    assert len({key for pair in keys for key in pair}) == 6
    assert keys[2] == keys[3]
    assert keys[2][0] == "sk_mine"
    assert len(set(workspaces)) == 1


async def test_an_invalid_key_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """A key must begin with sk_ and have more characters; the message has the option and what was given."""
    for key in ("mine", "sk_", "sk_with space"):
        assert await command("sandbox", "--key", key) == Exit.USAGE
        assert "--key: an API key must be sk_" in (said := capsys.readouterr().err)
        assert f"got {key!r}" in said


@pytest.mark.slow
@pytest.mark.enable_socket
async def test_a_sandbox_for_other_machines_prints_usable_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """At 0.0.0.0 it prints a line for this machine and one for others that allows plain HTTP; it has no page."""
    async with started(capsys, "--host", OPEN) as lines:
        assert [line for line in lines if line.startswith("page")] == ["page        none: it needs --host 127.0.0.1"]
        here, elsewhere = exported(lines)
        port = here["CMSAPI_BASE_URL"].rpartition(":")[2]
        assert elsewhere["CMSAPI_BASE_URL"] == f"http://THIS-MACHINE:{port}"
        elsewhere["CMSAPI_BASE_URL"] = f"http://{OPEN}:{port}"
        for variables in (here, elsewhere):
            assert (await run_process(variables, "me"))[0] == Exit.DONE


@pytest.mark.slow
@pytest.mark.enable_socket
async def test_plain_http_is_allowed_by_an_option_or_a_variable() -> None:
    """Without the option or the variable the key is not sent, and the message names both."""
    async with Sandbox() as box:
        # This machine by an address that is not taken for its own.
        address = {"CMSAPI_BASE_URL": box.base_url.replace("127.0.0.1", OPEN), "CMSAPI_API_KEY": box.api_key}
        code, message = await run_process(address, "me")
        assert code == Exit.USAGE
        assert "--allow-http" in message
        assert "CMSAPI_ALLOW_HTTP=1" in message
        assert (await run_process(address | {"CMSAPI_ALLOW_HTTP": "0"}, "me"))[0] == Exit.USAGE
        assert len(box.ledger) == 0
        for tokens in (["me", "--allow-http"], ["--allow-http", "me"]):
            assert (await run_process(address, *tokens))[0] == Exit.DONE
