"""A real Postgres server, started by the tests where one is installed, and ended with them."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# The server refuses to run as root; one of these runs it then.
_USERS = ("postgres", "nobody")


def why_no_postgres() -> str | None:
    """Say why no server can be started here, None when one can."""
    if _binary("initdb") is None or _binary("postgres") is None:
        return "no initdb and postgres on the path or under /usr/lib/postgresql"
    if os.geteuid() == 0 and _user() is None:
        return "Postgres refuses to run as root, and there is no user postgres or nobody"
    return None


@contextmanager
def running_postgres() -> Iterator[str]:
    """Start a server on a free port of this machine, give its URL without a database, and end it.

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
    initdb = [str(_binary("initdb")), "-D", str(place / "data"), "-U", "cmsapi", "-A", "trust", "--no-sync"]
    server = [str(_binary("postgres")), "-D", str(place / "data"), "-h", "127.0.0.1", "-p", str(port)]
    try:
        subprocess.run([*initdb, "-E", "UTF8", "--locale", "C"], user=user, cwd=place, check=True, capture_output=True)
        with (place / "log").open("wb") as log:
            command = [*server, "-c", "fsync=off", "-k", str(place)]
            process = subprocess.Popen(command, user=user, cwd=place, stdout=log, stderr=log)
        try:
            _wait(process, place, port)
            yield f"postgresql://cmsapi@127.0.0.1:{port}"
        finally:
            # SIGINT ends the sessions too; the processes of the server end with it.
            process.send_signal(2)
            process.wait(10)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _binary(name: str) -> Path | None:
    if (found := shutil.which(name)) is not None:
        return Path(found).resolve()
    return max(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), default=None)


def _user() -> str | None:
    known = {user.pw_name for user in pwd.getpwall()}
    return next((user for user in _USERS if user in known), None)


def _wait(process: subprocess.Popen[bytes], place: Path, port: int) -> None:
    give_up = time.monotonic() + 20
    while time.monotonic() < give_up and process.poll() is None:
        # Before it accepts sessions, the server listens already; the word in this file says when it does.
        status = place / "data/postmaster.pid"
        if status.exists() and status.read_text().rstrip().endswith("ready"):
            return
        time.sleep(0.02)
    raise RuntimeError(f"Postgres did not start on port {port}: {(place / 'log').read_text()[-2000:]}")
