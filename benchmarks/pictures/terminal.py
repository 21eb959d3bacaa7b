"""Record what a command shows in a terminal: the frames, and when each came."""

from __future__ import annotations

import asyncio
import fcntl
import importlib
import os
import pty
import struct
import termios
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, TypeAlias

import attrs

# Lines that a live table leaves to the command above it.
_ABOVE = 5
# Seconds between two frames at the least.
_INTERVAL = 0.2


@attrs.frozen
class Run:
    """Hold neighbouring characters of one style.

    Args:
        column: Where it begins.
        text: The characters.
        colour: The name of its colour, or `default`.
        bold: Whether it is bold.
    """

    column: int
    text: str
    colour: str
    bold: bool


Line: TypeAlias = tuple[Run, ...]


@attrs.frozen
class Frame:
    """Hold the screen at one moment.

    Args:
        at: Seconds since the begin.
        lines: Its lines.
    """

    at: float
    lines: tuple[Line, ...]


class Recorder:
    """Run commands in one terminal, one after another, and keep what it shows.

    Args:
        columns: Width of the terminal.
        rows: Height of the terminal.
    """

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self.frames: list[Frame] = []
        # It is installed by `make figures` alone.
        pyte: Any = importlib.import_module("pyte")
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._begun = asyncio.get_running_loop().time()

    async def run(self, shown: str, environment: Mapping[str, str]) -> None:
        """Type a line, run it in a shell, and record until it ends.

        Args:
            shown: The line.
            environment: Variables that it finds.

        Raises:
            RuntimeError: It ended with another code than 0.
        """
        await self._typed(shown)
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", self.rows, self.columns, 0, 0))
        variables = {
            **environment,
            "TERM": "xterm-256color",
            "COLUMNS": str(self.columns),
            "LINES": str(self.rows - _ABOVE),
        }
        os.set_blocking(leader, False)
        command = await asyncio.create_subprocess_shell(
            shown,
            stdin=follower,
            stdout=follower,
            stderr=follower,
            env=variables,
            start_new_session=True,
            cwd=environment["PWD"],
        )
        os.close(follower)
        while command.returncode is None:
            await asyncio.sleep(_INTERVAL)
            self._read(leader)
            self._keep()
        os.close(leader)
        if command.returncode:
            raise RuntimeError(f"{shown} ended with {command.returncode}: {self._screen.display}")

    async def _typed(self, line: str) -> None:
        self._stream.feed(b"$ ")
        self._keep()
        await asyncio.sleep(_INTERVAL)
        self._stream.feed(line.encode() + b"\r\n")
        self._keep()
        await asyncio.sleep(_INTERVAL)

    def _read(self, leader: int) -> None:
        while True:
            try:
                data = os.read(leader, 65536)
            except OSError:
                return
            if not data:
                return
            self._stream.feed(data)

    def _keep(self) -> None:
        lines = tuple(self._line(row) for row in range(self.rows))
        if not self.frames or self.frames[-1].lines != lines:
            self.frames.append(Frame(asyncio.get_running_loop().time() - self._begun, lines))

    def _line(self, row: int) -> Line:
        cells = [self._screen.buffer[row][column] for column in range(self.columns)]
        return _runs(cells)


def _runs(cells: Sequence[Any]) -> Line:
    runs, column = [], 0
    for (colour, bold), group in groupby(cells, key=attrgetter("fg", "bold")):
        text = "".join(cell.data for cell in group)
        if text.strip():
            begin = len(text) - len(text.lstrip())
            runs.append(Run(column + begin, text.strip(), colour, bold))
        column += len(text)
    return tuple(runs)
