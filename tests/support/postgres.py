"""A real Postgres server, started by the tests where one is installed, and ended with them."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

# The server refuses to run as root; one of these runs it then.
_USERS = ("postgres", "nobody")


def why_no_postgres() -> str | None:
    """Say why no server can be started here, None when one can."""
    if _binary("initdb") is None or _binary("postgres") is None:
        return "no initdb and postgres on the path or under /usr/lib/postgresql"
    if os.geteuid() == 0 and _user() is None:
        return "Postgres refuses to run as root, and there is no user postgres or nobody"
    return None


class Postgres:
    """Hold a server whose data lie in a directory, and start it as often as it is ended.

    Args:
        place: The directory.
        port: Where it listens, at 127.0.0.1.
        user: Who runs it; None for who runs the tests.
    """

    def __init__(self, place: Path, port: int, user: str | None) -> None:
        #: Where its database is that always exists.
        self.url: str = f"postgresql://cmsapi@127.0.0.1:{port}/postgres"
        self._place, self._port, self._user = place, port, user
        self._process: subprocess.Popen[bytes] | None = None

    def lay_out(self) -> None:
        """Make the directory of its data."""
        command = [str(_binary("initdb")), "-D", str(self._place / "data"), "-U", "cmsapi", "-A", "trust", "--no-sync"]
        command += ["-E", "UTF8", "--locale", "C"]
        subprocess.run(command, user=self._user, cwd=self._place, check=True, capture_output=True)

    def start(self, *options: str) -> None:
        """Start the server, with options such as `-c fsync=on`."""
        command = [str(_binary("postgres")), "-D", str(self._place / "data"), "-k", str(self._place)]
        command += ["-h", "127.0.0.1", "-p", str(self._port), "-c", "fsync=off", *options]
        with (self._place / "log").open("ab") as log:
            self._process = subprocess.Popen(command, user=self._user, cwd=self._place, stdout=log, stderr=log)
        self._wait(self._process)

    def create(self, database: str) -> None:
        """Make another database."""
        with psycopg.connect(self.url, autocommit=True) as db:
            db.execute(f"CREATE DATABASE {database}".encode())

    def ask_for_passwords(self) -> None:
        """Have the server ask for passwords, from its next start on."""
        (self._place / "data/pg_hba.conf").write_text("host all all 127.0.0.1/32 scram-sha-256\n")

    def end(self, how: signal.Signals = signal.SIGINT) -> None:
        """End the server: by default its sessions too; with SIGQUIT without writing down what it has in memory."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(20)
            self._process = None

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Let all processes of the server stand still: what is sent to it is taken and not answered."""
        processes = self._processes()
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        try:
            yield
        finally:
            for process in processes:
                os.kill(process, signal.SIGCONT)

    def _processes(self) -> list[int]:
        if self._process is None:
            return []
        (children,) = Path(f"/proc/{self._process.pid}/task").glob("*/children")
        return [self._process.pid, *map(int, children.read_text().split())]

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        give_up = time.monotonic() + 20
        while time.monotonic() < give_up and process.poll() is None:
            # Before it accepts sessions, the server listens already; the word in this file says when it does.
            status = self._place / "data/postmaster.pid"
            text = status.read_text() if status.exists() else ""
            if text.startswith(f"{process.pid}\n") and text.rstrip().endswith("ready"):
                return
            time.sleep(0.02)
        log = (self._place / "log").read_text()[-2000:]
        raise RuntimeError(f"Postgres did not start on port {self._port}: {log}")


@contextmanager
def running_postgres(*options: str) -> Iterator[Postgres]:
    """Start a server on a free port of this machine, and end it.

    Raises:
        RuntimeError: There is none, or it does not start.
    """
    reason = why_no_postgres()
    if reason is not None:
        raise RuntimeError(reason)
    user = _user() if os.geteuid() == 0 else None
    place = Path(tempfile.mkdtemp(prefix="cmsapi-postgres-"))
    if user is not None:
        shutil.chown(place, user)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = Postgres(place, port, user)
    try:
        server.lay_out()
        server.start(*options)
        yield server
    finally:
        server.end()
        shutil.rmtree(place, ignore_errors=True)


def _binary(name: str) -> Path | None:
    if (found := shutil.which(name)) is not None:
        return Path(found).resolve()
    return max(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), default=None)


def _user() -> str | None:
    known = {user.pw_name for user in pwd.getpwall()}
    return next((user for user in _USERS if user in known), None)
