"""What callers were told in one run: every call with its end, to be held against the sandbox's ledger."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import attrs

import cmsapi
from cmsapi import errors
from cmsapi.sandbox import FaultProxy, Sandbox
from tests.long.chaos.habits import Habits

# This part of the callers is cancelled, each at a random moment.
CANCELLED = 0.06
LONGEST_BEFORE_CANCELLING = 20.0


@attrs.define
class Call:
    """Hold one call and how it ended.

    Args:
        operation: The operation whose effect it may have, or `wait …` for the end of a job.
        target: Identifier in its path, or None.
        began: Loop time.
        patience: Seconds within which it has to end.
        ended: Loop time, or None while it goes on.
        result: What it gave, or None.
        error: What it raised instead, or None.
        taken: Outcomes of a fan-out that were taken before it ended.
        width: Items of a fan-out.
        job: The job that is waited for, or None.
    """

    operation: str
    target: str | None
    began: float
    patience: float
    ended: float | None = None
    result: Any = None
    error: BaseException | None = None
    taken: list[Any] = attrs.field(factory=list)
    width: int = 0
    job: cmsapi.Job[Any] | None = None

    @property
    def in_doubt(self) -> bool:
        """Whether its caller was told that it may have taken effect, or was gone before the answer came."""
        match self.error:
            case errors.DecodeError() | asyncio.CancelledError():
                return True
            case errors.CMSError() as error:
                return error.in_doubt
            case _:
                return False


@attrs.define
class Record:
    """Make calls and note how they end.

    Args:
        box: The service.
        client: The client.
        rng: Chance.
        habits: What the service is like.
        deadline: The client's deadline of one call in seconds.
        weather: What counts the faults, the sandbox or the proxy before it.
        settle: Seconds in which a launch whose answer is lost may still arrive, over all its attempts.
        lasts: Seconds from the first call to the end of the storm.
        slack: Seconds by which a call may end late, in a busy turn of the loop.
        hurry: How many times faster the callers are than the service's users.
        calls: All calls so far.
    """

    box: Sandbox
    client: cmsapi.Client
    rng: random.Random
    habits: Habits
    deadline: float
    weather: Sandbox | FaultProxy
    settle: float
    lasts: float
    slack: float = 0.01
    hurry: float = 1.0
    calls: list[Call] = attrs.field(factory=list)

    async def make(
        self,
        operation: str,
        ask: Callable[[], Awaitable[Any]],
        target: str | None = None,
        *,
        requests: int = 1,
        patience: float | None = None,
    ) -> Call:
        """Make a call, or be cancelled while it is made, and return how it ended.

        Args:
            operation: Whose effect it may have.
            ask: Begins it.
            target: Identifier in its path.
            requests: Calls of operations that it consists of, each with a deadline of its own.
            patience: Seconds within which it has to end instead.
        """
        began = asyncio.get_running_loop().time()
        return await self.see(Call(operation, target, began, patience or requests * self.deadline), ask)

    async def see(self, call: Call, ask: Callable[[], Awaitable[Any]]) -> Call:
        """Make a call that is described already."""
        loop = asyncio.get_running_loop()
        self.calls.append(call)
        asking = loop.create_task(_of(ask))
        if self.rng.random() < CANCELLED:
            loop.call_later(self.rng.uniform(0.0, LONGEST_BEFORE_CANCELLING) / self.hurry, asking.cancel)
        await asyncio.wait([asking])
        call.ended = loop.time()
        if asking.cancelled():
            call.error = asyncio.CancelledError()
        elif (error := asking.exception()) is not None:
            call.error = error
        else:
            call.result = asking.result()
        return call


async def _of(ask: Callable[[], Awaitable[Any]]) -> Any:
    return await ask()
