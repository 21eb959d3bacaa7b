"""Let the signals of service managers end a command as Ctrl-C does: with tokens, and the command to go on."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Iterator

#: `timeout`, systemd and Kubernetes send the first, a terminal that is closed the second.
NAMES = ("SIGTERM", "SIGHUP")


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """Cancel this task at the first such signal; further ones do not cut off what it then prints.

    A signal that this process ignores, as under `nohup`, stays ignored.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    ended = False

    def end() -> None:
        nonlocal ended
        if not ended and task is not None:
            ended = True
            task.cancel()

    heard = []
    for name in NAMES:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            # Windows, and threads beside the main one, have no handlers of signals on a loop.
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(number, end)
                heard.append(number)
    try:
        yield
    finally:
        for number in heard:
            loop.remove_signal_handler(number)
