"""Progress of fan-outs and batches: snapshots of the counts, and a stream of snapshots."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from attrs import define, field, frozen


@frozen
class Progress:
    """Progress of a fan-out or a batch at one moment."""

    total: int | None  # number of items; None while it is not known
    running: int  # launched, or being launched
    succeeded: int
    failed: int  # refused, failed, or waited for too long
    unknown: int  # with a launch that may or may not have been accepted
    credits: int  # that the launches have cost
    requests: int  # sent by this process with the key since the fan-out was created
    seconds_left: float | None  # approximate; None until a job of this kind was seen to end

    @property
    def done(self) -> int:
        """Number of items that have an outcome."""
        return self.succeeded + self.failed + self.unknown

    def __str__(self) -> str:
        parts = [f"{self.done} of {'?' if self.total is None else self.total}"]
        parts += [f"{n} {word}" for word in ("running", "failed", "unknown") if (n := getattr(self, word))]
        if self.credits:
            parts.append(f"{self.credits} credit{'s' * (self.credits != 1)}")
        if self.seconds_left:
            parts.append(f"about {self.seconds_left:.0f} s left")
        return ", ".join(parts)

    def _repr_html_(self) -> str:
        bar = f'value="{self.done}" max="{self.total}"' if self.total else ""
        return f"<progress {bar}></progress> {self}"


@define(eq=False)
class Follow(AsyncIterator[Progress]):
    """Stream of the progress after one or more changes, and at the end. No value is lost if ``anext`` is cancelled."""

    _read: Callable[[], Progress]
    _changed: asyncio.Event
    _finished: Callable[[], bool]
    _last: bool = field(default=False, init=False)

    async def __anext__(self) -> Progress:
        if self._last:
            raise StopAsyncIteration
        if not self._finished():
            await self._changed.wait()
        self._changed.clear()
        self._last = self._finished()
        return self._read()
