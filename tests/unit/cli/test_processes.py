"""The promises of the command as a program: signals, pipes, homes, crashes."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.children import ROOT, command

pytestmark = pytest.mark.slow
PROGRAM = "import sys; sys.argv[0] = 'cmsapi'; from cmsapi.cli.app import main; sys.exit(main())"
KEYWORDS = 60  # three seconds of launches


class Shell:
    """Runs commands against a service of a process of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.environment = {**os.environ, "HOME": str(directory), "PYTHONPATH": str(ROOT)}
        for name in ("XDG_STATE_HOME", "CMSAPI_STATE"):
            self.environment.pop(name, None)

    def start(self, *arguments: str, **options: object) -> subprocess.Popen[str]:
        """Start a command."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, **options}
        return subprocess.Popen(  # type: ignore[call-overload,no-any-return]
            command(PROGRAM, *arguments), text=True, env=self.environment, cwd=self.directory, **pipes
        )

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Run a command to its end, and return exit code, standard output and standard error."""
        process = self.start(*arguments)
        out, err = process.communicate(timeout=60)
        assert "Traceback" not in err, err
        return process.returncode, out, err

    def spent(self) -> int:
        """Return the number of analyses that were paid."""
        return len(self.run("credits", "analysis")[1].splitlines())


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """Serve a sandbox with the command itself, and write the identifiers of its keywords to ``ids.txt``."""
    shell = Shell(tmp_path)
    service = shell.start("sandbox", "--port", "0", "--keywords", str(KEYWORDS), "--seconds", "1")
    assert service.stdout is not None
    assert service.stderr is not None
    for _ in range(2):
        name, _, value = service.stdout.readline().strip().removeprefix("export ").partition("=")
        shell.environment[name] = value
    found = re.search(r"wsp_\w+", service.stderr.readline())
    assert found is not None
    pages = shell.run("pages", found[0])[1]
    (tmp_path / "pages.txt").write_text(pages)
    (tmp_path / "ids.txt").write_text(shell.run("keywords", "@pages.txt")[1])
    yield shell
    service.send_signal(signal.SIGINT)
    service.communicate(timeout=10)
    assert service.returncode == 0


def launched(shell: Shell, process: subprocess.Popen[str], least: int = 10) -> None:
    """Wait until some analyses were launched."""
    deadline = time.monotonic() + 20
    while shell.spent() < least:
        assert time.monotonic() < deadline
        assert process.poll() is None


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_says_how_to_go_on(shell: Shell, name: str) -> None:
    """A stopped command exits as programs do that a signal ends, and its advice pays for nothing twice."""
    ids = (shell.directory / "ids.txt").read_text()
    process = shell.start("analyze", "-", stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(ids)
    process.stdin.close()
    process.stdin = None
    launched(shell, process)
    number = getattr(signal, name)
    process.send_signal(number)
    _, err = process.communicate(timeout=40)
    assert process.returncode == 128 + number
    assert "run on at the service" in err
    [again] = [line for line in err.splitlines() if line.startswith("  cmsapi analyze")]
    code, out, _ = shell.run(*shlex.split(again)[1:])
    assert (code, len(out.splitlines())) == (0, len(ids.splitlines()))
    assert shell.spent() == len(ids.splitlines())


def test_kill_and_run_again(shell: Shell) -> None:
    """A batch that is killed is gone on with by the same command, and nothing is paid twice."""
    batch = ("analyze", "@ids.txt", "--batch", "b")
    process = shell.start(*batch)
    launched(shell, process)
    process.kill()
    process.communicate()
    code, out, _ = shell.run(*batch)
    items = len((shell.directory / "ids.txt").read_text().splitlines())
    assert (code, len(out.splitlines()), shell.spent()) == (0, items, items)


def test_closed_pipes_are_quiet(shell: Shell) -> None:
    """A list whose reader has gone ends without a message; a launch says how to go on."""
    for arguments, code, told in ((("keywords", "@pages.txt"), 0, False), (("analyze", "@ids.txt"), 141, True)):
        process = shell.start(*arguments)
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        _, err = process.communicate(timeout=40)
        assert (process.returncode, "go on with" in err) == (code, told)
        assert "Traceback" not in err
        assert "Broken" not in err


@pytest.mark.parametrize("home", ["/nonexistent", "/proc", None])
def test_works_without_a_home(shell: Shell, home: str | None) -> None:
    """Without a home that can be written the state is a file in the working directory, and that is said."""
    shell.environment.pop("HOME")
    if home is not None:
        shell.environment["HOME"] = home
    else:
        shell.environment["XDG_STATE_HOME"] = "/proc/state"
    if home == "/nonexistent" and os.geteuid() == 0:
        shell.environment["HOME"] = "/dev/null"  # the administrator may make any directory
    first = (shell.directory / "ids.txt").read_text().split()[0]
    code, _, err = shell.run("analyze", first, "--batch", "b")
    assert (code, str(shell.directory / "cmsapi-jobs.db") in err) == (0, True)
    assert shell.run("jobs", "batches")[1].startswith("b\t1\t")


def test_streams_that_are_closed(shell: Shell) -> None:
    """Commands run with closed streams, and with a full disk fail with one line."""
    words = " ".join(map(shlex.quote, command(PROGRAM, "me")))
    for redirection, code in ((">&-", 0), ("2>&-", 0), ("<&-", 0), (">/dev/full", 1)):
        done = subprocess.run(
            ["/bin/sh", "-c", f"{words} {redirection}"],
            env=shell.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr


def test_demo() -> None:
    """The demonstration needs no settings, adopts the lost launch and pays for nothing twice."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CMSAPI")}
    arguments = command(PROGRAM, "demo", "--keywords", "3", "--seconds", "1")
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=40, check=False)
    assert done.returncode == 0, done.stderr
    assert "not launched again" in done.stdout
    assert "0 of them twice" in done.stdout


def test_a_port_in_use() -> None:
    """A port in use is a message with advice."""
    first = subprocess.Popen(command(PROGRAM, "sandbox", "--port", "0"), stdout=subprocess.PIPE, text=True)
    try:
        assert first.stdout is not None
        port = first.stdout.readline().strip().rpartition(":")[2]
        second = subprocess.run(
            command(PROGRAM, "sandbox", "--port", port), capture_output=True, text=True, timeout=20, check=False
        )
        assert (second.returncode, "--port" in second.stderr) == (2, True)
    finally:
        first.kill()
        first.communicate()


def test_it_needs_its_extra() -> None:
    """Without the packages of the extra the command says what to install."""
    program = "import sys; sys.modules['cyclopts'] = None; import cmsapi.cli.app"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, "cmsapi[cli]" in done.stderr, "Traceback" in done.stderr) == (1, True, False)
