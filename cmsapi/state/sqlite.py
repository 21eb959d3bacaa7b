"""Share a state among the processes of one host, in a file.

All of it happens on one thread of its own, because a transaction may wait for the disk or for another process. The file
is in WAL mode. What decides about money is flushed to the disk before the caller goes on, the rest when the system gets
to it: the death of a process loses nothing, the death of the machine at most what was not flushed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

from cmsapi.errors import StateError
from cmsapi.state.rows import Transaction
from cmsapi.state.sql import changes, selection
from cmsapi.state.sqlitefile import ReplacedError, SqliteFile
from cmsapi.state.store import LEASE_TTL, State, T

logger: logging.Logger = logging.getLogger("cmsapi")


class _Thread(Executor):
    """Run functions one after the other on a thread of its own.

    The executors of the standard library refuse work as soon as the interpreter begins to end. The limiter of a
    blocking client that was left open took that for a state that cannot be reached, and said so as the program ended.
    """

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        threading.Thread(target=self._live, name="cmsapi-state", daemon=True).start()

    def _live(self) -> None:
        while (work := self._work.get()) is not None:
            work()

    def submit(self, function: Callable[..., T], /, *args: Any, **named: Any) -> Future[T]:
        """Run a function after those that were submitted before."""
        future: Future[T] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(function(*args, **named))
            except BaseException as error:
                future.set_exception(error)

        self._work.put(work)
        return future

    def shutdown(self, wait: bool = False, *, cancel_futures: bool = False) -> None:
        """End the thread when it has done what was submitted."""
        self._work.put(None)


class SqliteState(State):
    """Share a state among the processes of one host, in a file.

    When the file is removed or replaced while it is used, other processes no longer see what is written. The limits are
    then shared in the file that is there; the journal refuses everything from then on, because a launch that only this
    process knows may be paid for again by another one.

    Args:
        path: The file; it is made with mode 0600 when it is first used.
        lease_ttl: Seconds after which leases of an owner without a heartbeat may be taken over.
        clock: Tells the time in seconds, the same for all processes. It is read on another thread.
    """

    def __init__(self, path: Path, *, lease_ttl: float = LEASE_TTL, clock: Callable[[], float] = time.time) -> None:
        super().__init__(lease_ttl)
        self.path = path
        self._clock = clock
        self._thread: _Thread | None = None
        self._file = SqliteFile(path)
        self._closed = False

    async def _run(self, transaction: Transaction[T]) -> T:
        """Run a transaction on the file that the journal of this process is in, and on no other."""

        def run(asked_at: float) -> T:
            if not self._file.replaced:
                with contextlib.suppress(ReplacedError):
                    return self._use(transaction, asked_at)
            raise StateError(
                f"The file of the state {self.path} was removed or replaced while this process used it, so that other "
                "processes do not see what this one writes. What was to be written was not, and this process launches "
                "no more paid work with this state. The jobs that it has launched go on, and it still polls them; "
                "another process may launch the same work again and pay for it. Wait for these jobs, close all clients "
                "of this process that use the state, and make new ones."
            )

        return await self._on_thread(run)

    async def _run_limits(self, transaction: Transaction[T]) -> T:
        """Run a transaction on the file that is there."""

        def run(asked_at: float) -> T:
            try:
                return self._use(transaction, asked_at)
            except ReplacedError as error:
                logger.warning("%s The limits are shared in the one that is there now, the journal is not.", error)
                return self._use(transaction, asked_at)

        return await self._on_thread(run)

    def _use(self, transaction: Transaction[T], asked_at: float) -> T:
        def work(db: sqlite3.Connection) -> T:
            found = [db.execute(*selection(read)).fetchall() for read in transaction.reads]
            # What waited for another process begins now.
            writes, result = transaction.decide(self._clock(), *found)
            for write in writes:
                for statement in changes(write):
                    db.execute(*statement)
            return result

        return self._file.use(work, asked_at, transaction.flushed)

    async def _on_thread(self, run: Callable[[float], T]) -> T:
        if self._closed:
            raise StateError(f"The state {self.path} is closed; nothing was written.")
        if self._thread is None:
            self._thread = _Thread()
        # The thread waits for other processes in real time, also where the loop's time is virtual.
        return await asyncio.get_running_loop().run_in_executor(self._thread, run, time.monotonic())

    async def aclose(self) -> None:
        """Let others claim what this process holds, and close the file."""
        try:
            if self._file.is_open and not self._closed:
                await super().aclose()
        finally:
            thread, self._thread, self._closed = self._thread, None, True
            if thread is not None:
                await asyncio.get_running_loop().run_in_executor(thread, self._file.close)
                thread.shutdown()
