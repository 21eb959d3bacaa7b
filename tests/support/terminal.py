"""Run the command in a pseudo-terminal."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import struct
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from cmsapi.sandbox import Sandbox

fcntl = pytest.importorskip("fcntl", reason="the system has no pseudo-terminals")
pty = pytest.importorskip("pty", reason="the system has no pseudo-terminals")
termios = pytest.importorskip("termios", reason="the system has no pseudo-terminals")

PATIENCE = 20.0


class Terminal:
    """Type, and read what is on the screen.

    Args:
        process: The command.
        descriptor: Our end of the terminal.
    """

    def __init__(self, process: asyncio.subprocess.Process, descriptor: int) -> None:
        self.process = process
        self.shown = ""
        self._descriptor = descriptor
        self._more = asyncio.Event()
        self._over = asyncio.Event()
        asyncio.get_running_loop().add_reader(descriptor, self._read)

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, 65536)
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            self._over.set()
        self.shown += data.decode(errors="replace")
        self._more.set()

    async def until(self, text: str) -> None:
        """Wait until a text is on the screen."""
        async with asyncio.timeout(PATIENCE):
            while text not in self.shown:
                self._more.clear()
                await self._more.wait()

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._descriptor, keys.encode())

    async def end(self) -> int:
        """Wait until the command has ended and all that it wrote is on the screen; return the exit code."""
        async with asyncio.timeout(PATIENCE):
            code = await self.process.wait()
            await self._over.wait()
            return code


@asynccontextmanager
async def terminal(box: Sandbox, *tokens: str, columns: int = 100) -> AsyncIterator[Terminal]:
    """Run a command line in a terminal that talks to a sandbox."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "cmsapi",
        *tokens,
        stdin=its,
        stdout=its,
        stderr=its,
        start_new_session=True,
        preexec_fn=_take_terminal,
        env={**_inherited(), "CMSAPI_API_KEY": box.api_key, "CMSAPI_BASE_URL": box.base_url, "TERM": "xterm"},
    )
    os.close(its)
    shell = Terminal(process, ours)
    try:
        yield shell
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        asyncio.get_running_loop().remove_reader(ours)
        os.close(ours)


def _take_terminal() -> None:
    """Make it the terminal of the new session, so that Ctrl-C is a signal, also where the tests run without one."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _inherited() -> dict[str, str]:
    """Return the environment without the size of the terminal, which xdist sets."""
    return {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
