"""The event loops that the SDK has to work on, and a virtual-time loop with the manners of uvloop.

`CMSAPI_TEST_LOOP` names the loop of programs in real time: `asyncio`, `eager` (tasks begin at once, Python 3.12 and
later) or `uvloop`. Storms in virtual time then run on a loop that keeps time as uvloop does.
"""

from __future__ import annotations

import asyncio
import contextvars
import importlib.util
import os
import platform
import sys
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
LoopFactory = Callable[[], asyncio.AbstractEventLoop]


def _eager() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    loop.set_task_factory(asyncio.eager_task_factory)  # type: ignore[attr-defined,unused-ignore]  # since Python 3.12
    return loop


def _uvloop() -> asyncio.AbstractEventLoop:
    import uvloop

    return uvloop.new_event_loop()


def names() -> list[str]:
    """Return the loops that this interpreter and this machine have."""
    found = ["asyncio"]
    if sys.version_info >= (3, 12):
        found.append("eager")
    if importlib.util.find_spec("uvloop") is not None:
        found.append("uvloop")
    return found


_FACTORIES: dict[str, LoopFactory] = {"asyncio": asyncio.new_event_loop, "eager": _eager, "uvloop": _uvloop}


def chosen() -> str:
    """Return the loop that the environment names."""
    return os.environ.get("CMSAPI_TEST_LOOP", "asyncio")


def environment() -> str:
    """Name the interpreter and the loop, for a table."""
    return f"Python {platform.python_version()}, {chosen()}"


def run_on(name: str, main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on a loop, in real time."""
    with asyncio.Runner(loop_factory=_FACTORIES[name]) as runner:
        return runner.run(main)


class LikeUvloop(asyncio.BaseEventLoop):
    """Keep time as uvloop does: in milliseconds, and with handles of what is due that cannot tell when it was.

    A mixin for a loop in virtual time. Each reading moves the clock by some microseconds, as a turn of a loop does:
    what is due in less than half a millisecond is called at once, and asks again until the millisecond is over.
    """

    _turns = 0.0

    def time(self) -> float:
        """Return the time of the loop in seconds, a whole number of milliseconds."""
        self._turns += 5e-6
        return int((super().time() + self._turns) * 1000 + 1e-3) / 1000

    def call_at(  # type: ignore[override]  # a handle without `when`, as uvloop gives
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.Handle:
        """Call a function at a moment to the nearest millisecond, which may be a little early."""
        if round(when, 3) <= self.time():
            return self.call_soon(callback, *args, context=context)
        return super().call_at(round(when, 3), callback, *args, context=context)

    def call_later(  # type: ignore[override]
        self,
        delay: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.Handle:
        """Call a function after so many seconds."""
        return self.call_at(self.time() + delay, callback, *args, context=context)
