"""The event loop of a blocking client, in a thread of its own, and calls on it from any other thread.

The thread starts with the first call. A fork copies no threads: a client that was made before a fork and not used can
be used after it, and one that was used refuses.

This is not the blocking portal of anyio, because that cancels with a scope, which interrupts each `await` of the task
from then on. A call that Ctrl-C interrupts still has to write what became of its launch, and the cancellation of a task
interrupts one `await` only.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import os
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import attrs

from cmsapi.client import Client as AsyncClient
from cmsapi.errors import ClientClosedError
from cmsapi.user_line import Line, passed_on, warn

_CLOSED = "The client is closed; nothing was sent. Make a new one."
_INTERRUPTED = (
    "The call was interrupted, because the client was closed or its fan-out was left. What it has launched goes on."
)
_INSIDE = (
    "`cmsapi.blocking` was called inside a running event loop, which the call would stop; nothing was sent. Use the "
    "async client there, `async with cmsapi.Client() as client`, or make the call in a thread, with "
    "`await asyncio.to_thread(…)`. A hook is called on that loop: hand what it hears to a thread or a queue."
)
_FORKED = (
    "The client was used before this process was forked, and its thread and connections stayed in process {}; nothing "
    "was sent. Make the client after the fork, or do not use it before."
)


@attrs.define(eq=False)
class Calls:
    """Hold the calls that the user's threads make; those of a worker thread end with its task."""

    futures: set[concurrent.futures.Future[Any]] = attrs.field(factory=set)
    cancelled: bool = False
    under_way: int = 0
    """How many have begun on the loop and not ended there."""

    def cancel(self) -> None:
        """Cancel the calls under way, and refuse further ones."""
        self.cancelled = True
        for future in tuple(self.futures):
            future.cancel()


#: The calls of the worker thread that runs now.
CALLS: contextvars.ContextVar[Calls] = contextvars.ContextVar("cmsapi_calls")


class LoopThread:
    """Run the event loop of an async client in a thread.

    Args:
        client: The client that lives on the loop, closed with the thread.
    """

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        # A signal handler may call while its thread starts a call.
        self._lock = threading.RLock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped: asyncio.Event
        self._thread: threading.Thread
        self._pid: int | None = None
        self._closed = False
        self._calls = Calls()
        self.workers: set[Calls] = set()
        """The calls of each function of the user that runs in a worker thread."""

    @property
    def waited_for(self) -> bool:
        """Whether the code of the user waits: it has a call under way, and so has each function in a worker thread."""
        return self._calls.under_way > 0 and all(calls.under_way for calls in self.workers)

    @property
    def closed(self) -> bool:
        """Whether calls are refused, because the client is closed or was used before a fork."""
        return self._closed or self._pid not in (None, os.getpid())

    def start(self) -> None:
        """Start the thread, unless it runs.

        Raises:
            ClientClosedError: The client is closed, was used before a fork, or this thread runs an event loop.
        """
        if self._pid not in (None, os.getpid()):
            raise ClientClosedError(_FORKED.format(self._pid))
        if _running_loop() is not None:
            raise ClientClosedError(_INSIDE)
        with self._lock:
            self._open()

    def _open(self) -> asyncio.AbstractEventLoop:
        if self._closed:
            raise ClientClosedError(_CLOSED)
        if self._loop is None:
            self._pid = os.getpid()
            started: concurrent.futures.Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]
            started = concurrent.futures.Future()
            # A process may end without closing its clients: the end of the interpreter must not wait for the thread.
            self._thread = threading.Thread(target=self.run, args=(_live(started),), name="cmsapi", daemon=True)
            self._thread.start()
            self._loop, self._stopped = started.result()
        return self._loop

    def run(self, main: Coroutine[Any, Any, None]) -> None:
        """Run the loop of the thread; tests with `virtual_time` put another one here, whose waits take no time."""
        asyncio.run(main)

    def call(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Call a function on the loop, wait until its coroutine has ended, and return the result.

        When a signal handler of this thread raises, as for Ctrl-C, the coroutine is cancelled.

        Raises:
            ClientClosedError: As for `start`, or the client was closed meanwhile.
        """
        self.start()
        made_here = CALLS.get(self._calls)
        if made_here.cancelled:
            raise ClientClosedError(_INTERRUPTED)
        with self._lock, passed_on():
            # A call that is handed to the loop now ends before the loop does.
            future = asyncio.run_coroutine_threadsafe(_end_of(made_here, function, arguments, named), self._open())
        made_here.futures.add(future)
        if made_here.cancelled:
            future.cancel()
        try:
            value, error = future.result()
        except concurrent.futures.CancelledError:
            raise ClientClosedError(_INTERRUPTED) from None
        except BaseException:
            future.cancel()
            raise
        finally:
            made_here.futures.discard(future)
        if error is None:
            return value
        try:
            # The first frame is that of `_end_of`.
            raise error.with_traceback(error.__traceback__ and error.__traceback__.tb_next)
        finally:
            # It would hold this frame, which holds it.
            del error

    def read(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function that sends nothing: on the loop while it runs, else here."""
        if not self.closed and _running_loop() is None:
            return self.call(function, *arguments)
        return function(*arguments)

    def close(self) -> None:
        """Close the client and end the thread; calls of other threads end with `ClientClosedError`."""
        if self.closed:
            return
        if _running_loop() is not None:
            raise ClientClosedError(_INSIDE)
        with self._lock:
            loop, already, self._closed = self._loop, self._closed, True
        if loop is None or already:
            return
        try:
            asyncio.run_coroutine_threadsafe(self._client.aclose(), loop).result()
        finally:
            # The loop cancels what is left.
            loop.call_soon_threadsafe(self._stopped.set)
            self._thread.join()

    def warn_if_open(self, made_at: Line | None) -> None:
        """Warn at the line that made the client, which is gone and can be closed no more."""
        if self._loop is not None and not self.closed:
            warn(
                "The client that this line made was not closed, and its thread and connections stay. Its jobs go on at "
                "the service, and nothing is lost. Make it with `with`, or end it with `close()`.",
                ResourceWarning,
                made_at,
            )


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


async def _live(started: concurrent.futures.Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]) -> None:
    """Keep a loop running until an event is set."""
    stopped = asyncio.Event()
    started.set_result((asyncio.get_running_loop(), stopped))
    await stopped.wait()


async def _end_of(
    calls: Calls, function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]
) -> tuple[Any, Exception | None]:
    """Return what a function, or its coroutine, returns or raises; the caller's thread raises it."""
    calls.under_way += 1
    try:
        value = function(*arguments, **named)
        # A job can be awaited as well.
        return (await value if asyncio.iscoroutine(value) else value), None
    except Exception as error:
        return None, error
    finally:
        calls.under_way -= 1
