"""Fail a test whose event loop stands still: no time-out of the loop itself can end such a test."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

# Seconds of the loop's thread without a turn. Its processor time counts, so that a busy machine fails no test.
STANDSTILL = 1.0
_GLANCE = 0.1
# Windows has neither the signal of POSIX nor, like macOS, the clock of another thread.
if sys.platform == "win32":
    _ALARM = signal.SIGBREAK
else:
    _ALARM = signal.SIGUSR1


class StandstillError(AssertionError):
    """Say that the event loop did not turn for a second of its thread's processor time."""


def _clock_of_main() -> Callable[[], float]:
    """Return a function that reads the processor time of the main thread, or of all where a thread has no clock."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return time.process_time
    return functools.partial(time.clock_gettime, time.pthread_getcpuclockid(threading.main_thread().ident or 0))


@contextlib.contextmanager
def turning(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Raise `StandstillError` in the main thread when the loop does not turn for `STANDSTILL` seconds.

    Args:
        loop: The loop that has to turn; it runs in the main thread.
    """
    used_by_main = _clock_of_main()
    over = threading.Event()
    turned = threading.Event()

    def watch() -> None:
        asked_at = -1.0
        while not over.wait(_GLANCE):
            used = used_by_main()
            if not loop.is_running():
                # A plain function runs, which no loop has to end.
                asked_at = -1.0
            elif asked_at < 0 or turned.is_set():
                turned.clear()
                asked_at = used
                with contextlib.suppress(RuntimeError):
                    # The loop may have closed meanwhile.
                    loop.call_soon_threadsafe(turned.set)
            elif used - asked_at > STANDSTILL:
                signal.raise_signal(_ALARM)
                return

    def stands(number: int, frame: FrameType | None) -> None:
        raise StandstillError(f"the event loop has not turned for {STANDSTILL:g} s of processor time")

    before = signal.signal(_ALARM, stands)
    thread = threading.Thread(target=watch, name="watchdog", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        signal.signal(_ALARM, before)
