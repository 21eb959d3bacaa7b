"""The promises of the command as a program: signals, pipes, crashes."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal

from cmsapi.cli.app import main
from cmsapi.sandbox import Limits, Sandbox
from tests.support.children import ROOT, command

# What starts the tests may ignore signals, as nohup does, and children inherit that.
PROGRAM = """
import functools, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
from cmsapi import Client, PollPolicy, RateLimits, Timeouts
from cmsapi.cli import app, connect

polling, limits = PollPolicy(min_interval=0.5, max_interval=1), RateLimits(per_hour=10**6)
connect.Client = functools.partial(Client, polling=polling, limits=limits, timeouts=Timeouts(request=1))
sys.argv[0] = "cmsapi"
sys.exit(app.main())
"""
KEYWORDS = 60  # three seconds of launches


class Shell:
    """Runs commands against a service in this process."""

    def __init__(self, directory: Path, sandbox: Sandbox, base_url: str) -> None:
        self.directory, self.sandbox = directory, sandbox
        self.environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        self.environment |= {"CMSAPI_BASE_URL": base_url, "CMSAPI_API_KEY": sandbox.api_key}

    def start(self, *arguments: str, **options: object) -> subprocess.Popen[str]:
        """Start a command."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, **options}
        return subprocess.Popen(  # type: ignore[call-overload,no-any-return]
            command(PROGRAM, *arguments), text=True, env=self.environment, cwd=self.directory, **pipes
        )

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Run a command to its end and return exit code, standard output and standard error."""
        process = self.start(*arguments)
        out, err = process.communicate(timeout=40)
        assert "Traceback" not in err, err
        return process.returncode, out, err

    def launched(self, process: subprocess.Popen[str], least: int = 5) -> None:
        """Wait until some analyses have been launched."""
        deadline = time.monotonic() + 20
        while len(self.sandbox.ledger.launches) < least:
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.02)


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """Serve a sandbox, and write the identifiers of its keywords to ``ids.txt``."""
    sandbox = Sandbox(keywords=KEYWORDS, durations=0.5, limits=Limits(20, 10**6))
    (tmp_path / "ids.txt").write_text("\n".join(sandbox.keyword_ids))
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(sandbox.serve()) as base_url:
        yield Shell(tmp_path, sandbox, base_url)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_says_how_to_go_on(shell: Shell, name: str) -> None:
    """A stopped command exits like a program ended by a signal, and its advice pays for nothing twice."""
    with (shell.directory / "ids.txt").open() as ids:
        process = shell.start("analyze", "-", stdin=ids)
    shell.launched(process)
    number = getattr(signal, name)
    process.send_signal(number)
    _, err = process.communicate(timeout=40)
    assert process.returncode == 128 + number
    assert "run on at the service" in err
    assert len(shell.sandbox.ledger.launches) < KEYWORDS
    [again] = [line for line in err.splitlines() if line.startswith("  cmsapi analyze")]
    code, out, _ = shell.run(*shlex.split(again)[1:])
    assert (code, len(out.splitlines()), len(shell.sandbox.ledger.launches)) == (0, KEYWORDS, KEYWORDS)


@pytest.mark.slow
def test_kill_and_run_again(shell: Shell) -> None:
    """The same command continues a batch that was killed, says so, and pays for nothing twice."""
    shell.sandbox.faults.latency = 0.4  # so that launches are under way
    batch = ("analyze", "@ids.txt", "--batch", "b")
    process = shell.start(*batch)
    shell.launched(process)
    process.kill()
    process.communicate()
    code, out, err = shell.run(*batch)
    assert (code, len(out.splitlines()), len(shell.sandbox.ledger.launches)) == (0, KEYWORDS, KEYWORDS)
    assert "settled" in err


@pytest.mark.slow
@pytest.mark.parametrize("arguments", ["me", "analyze @ids.txt"])
def test_closed_pipes_are_quiet(shell: Shell, arguments: str) -> None:
    """A command whose reader has gone ends without a message; a launch says how to continue."""
    process = shell.start(*arguments.split())
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate(timeout=40)
    launches = arguments != "me"
    assert (process.returncode, "continue with" in err) == (141 if launches else 0, launches)
    assert "Traceback" not in err
    assert "Broken" not in err


@pytest.mark.slow
def test_without_a_place_for_a_state(shell: Shell) -> None:
    """An unknown user in someone else's directory is asked to name a state; nothing is sent."""
    words = [*unknown_user(), *command(PROGRAM, "analyze", shell.sandbox.keyword_ids[0])]
    own = {name: text for name, text in shell.environment.items() if name not in ("HOME", "XDG_STATE_HOME")}
    own |= {"HOME": "/nonexistent"} if os.geteuid() else {}
    done = subprocess.run(words, env=own, cwd="/", capture_output=True, text=True, check=False)
    assert (done.returncode, "--state or CMSAPI_STATE" in done.stderr) == (2, True), done.stderr
    assert not shell.sandbox.ledger.requests
    own["CMSAPI_STATE"] = "memory:"
    done = subprocess.run(words, env=own, cwd="/", capture_output=True, text=True, check=False)
    assert (done.returncode, len(shell.sandbox.ledger.launches)) == (0, 1), done.stderr


def unknown_user() -> list[str]:
    """Return a command prefix that runs a command as a user with no name, home or writable directory.

    Only an administrator can use it; any other user who runs the tests cannot write in ``/`` either.
    """
    if os.geteuid():
        return []
    reads = "+dac_read_search"  # the interpreter may be the administrator's
    words = ["setpriv", "--reuid=1234", "--regid=1234", "--clear-groups", "--inh-caps", reads, "--ambient-caps", reads]
    if shutil.which("setpriv") is None or subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this administrator cannot run programs as an unknown user")
    return words


def test_streams_that_are_closed(shell: Shell) -> None:
    """Commands run with closed streams, and fail with one line on a full disk."""
    words = " ".join(map(shlex.quote, command(PROGRAM, "me")))
    for redirection, code in ((">&-", 0), ("2>&-", 0), ("<&-", 0), (">/dev/full", 1)):
        arguments = ["/bin/sh", "-c", f"{words} {redirection}"]
        done = subprocess.run(arguments, env=shell.environment, capture_output=True, text=True, check=False)
        assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr


@pytest.mark.slow
def test_the_service_of_the_command(shell: Shell) -> None:
    """``sandbox`` prints settings that can be pasted, and ends with Ctrl-C as a success."""
    service = shell.start("sandbox", "--port", "0")
    assert service.stdout is not None
    for _ in range(2):
        name, _, value = service.stdout.readline().strip().removeprefix("export ").partition("=")
        shell.environment[name] = value
    assert shell.run("workspaces")[0] == 0
    service.send_signal(signal.SIGINT)
    service.communicate(timeout=10)
    assert service.returncode == 0


def test_a_port_in_use(capsys: pytest.CaptureFixture[str]) -> None:
    """A port in use gives a message with advice."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert main(["sandbox", "--port", str(server.getsockname()[1])]) == 2
    assert "--port" in capsys.readouterr().err


@pytest.mark.slow
def test_it_needs_its_extra() -> None:
    """Without the packages of the extra the command says what to install."""
    program = "import sys; sys.modules['cyclopts'] = None; import cmsapi.cli.app"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, "cmsapi[cli]" in done.stderr, "Traceback" in done.stderr) == (1, True, False)
