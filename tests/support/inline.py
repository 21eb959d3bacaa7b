"""A SQLite state in virtual time: its thread is played by the loop, and its clock is the loop's.

What a state hands over to a thread is done at once, and its answer comes after a moment by the seed, as it would from
a thread that waits for the disk. So a run on a real file is told again by its seed too.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.virtual import START, VirtualLoop
from cmsapi.runtime.accounts import accounts_of_loop
from cmsapi.state.sqlite import SqliteState
from tests.support.loops import LikeUvloop, chosen

T = TypeVar("T")

# Seconds for which a thread and a disk keep who asks waiting.
_LONGEST = 0.02
# When the loop's time was 0, in seconds since the epoch.
WALL = 1_790_000_000.0


class InlineLoop(VirtualLoop):
    """Do the work of threads at once, and let its answer take its time.

    Args:
        seed: Seed of the delays.
    """

    def __init__(self, seed: object) -> None:
        super().__init__(start=START, noop_cycles=0, idle_timeout=10.0)
        self._delays = random.Random(f"{seed}:threads")

    def run_in_executor(  # type: ignore[override]  # of asyncio's two signatures this is the older one
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Call a function in this thread."""
        answer: asyncio.Future[Any] = self.create_future()
        result = error = None
        try:
            result = func(*args)
        except Exception as raised:
            error = raised
        self.call_later(self._delays.uniform(0.0, _LONGEST), _tell, answer, result, error)
        return answer


def _tell(answer: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
    if answer.done():
        # The caller was cancelled.
        return
    if error is None:
        answer.set_result(result)
    else:
        answer.set_exception(error)


class CoarseInlineLoop(LikeUvloop, InlineLoop):
    """The same with the manners of uvloop."""


def in_virtual_time_with_threads(seed: object, main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on such a loop and return what it returns."""
    kind = CoarseInlineLoop if chosen() == "uvloop" else InlineLoop
    with asyncio.Runner(loop_factory=lambda: kind(seed)) as runner:
        return runner.run(main)


def keep_in_file(path: Path) -> str:
    """Let the clients of the running loop that name a file keep their state there, by its clock; return its URL."""
    url = f"sqlite:///{path}"
    loop = asyncio.get_running_loop()
    accounts_of_loop().states[url] = SqliteState(path, clock=lambda: WALL + loop.time())
    return url
