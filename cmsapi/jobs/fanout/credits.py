"""Stop a fan-out at its own limit of credits, or when the balance is used up."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable

from cmsapi.api.models.user import User
from cmsapi.errors import CMSError, ConflictError, OutOfCreditsError
from cmsapi.jobs.kinds.kind import Balance
from cmsapi.jobs.kinds.registry import KINDS


class CreditBudget:
    """Count the credits that a fan-out may still spend, one a launch.

    Args:
        max_credits: Credits that it may spend, or None for the whole balance.
        read_user: Reads the user, with the balances; one request.
    """

    def __init__(self, max_credits: int | None, read_user: Callable[[], Awaitable[User]]) -> None:
        self._most = max_credits
        self._left: float = math.inf if max_credits is None else max_credits
        self._read_user = read_user
        self._active_calls = 0
        self._settled = asyncio.Event()
        # Launches that the balance still covers, as it was last read; 0 before the first reading.
        self._covered: float = 0.0
        self._reading = False
        #: Why the fan-out launches no more; None while it launches.
        self.stopped: OutOfCreditsError | None = None

    async def begin(self) -> bool:
        """Take the credit of one launch, and tell whether there is one.

        When none is left, it waits for the launches in flight: a refused one gives its credit back. It also waits while
        the balance is being read.
        """
        while self.stopped is None and (self._reading or (self._left < 1 and self._active_calls)):
            self._settled.clear()
            await self._settled.wait()
        if self.stopped is None and self._left < 1:
            self._stop(f"The bound that you set, max_credits={self._most}, is reached")
        if self.stopped is not None:
            return False
        self._active_calls += 1
        return self.take()

    def take(self) -> bool:
        """Take one more credit for a launch that is repeated in doubt, and tell whether there was one."""
        if self._left < 1:
            return False
        self._left -= 1
        self._covered -= 1
        return True

    async def end(self, error: BaseException | None, *, unspent: int) -> None:
        """Count the end of a launch; after a conflict, read whether credits are left.

        Args:
            error: Why there is no job, or None if there is one.
            unspent: The credits that it has taken and that it certainly did not cost.
        """
        self._left += unspent
        self._covered += unspent
        try:
            if isinstance(error, ConflictError) and self.stopped is None:
                launched = (kind for kind in KINDS.values() if kind.launch_operation == error.operation)
                await self._read_balance(next((kind.balance for kind in launched), None))
        finally:
            self._active_calls -= 1
            self._settled.set()

    async def _read_balance(self, balance: Balance | None) -> None:
        if balance is None or self._covered >= 1 or self._reading:
            return
        self._reading = True
        try:
            left = balance.of(await self._read_user())
        except CMSError:
            # The caller gets the conflict itself.
            left = None
        finally:
            self._reading = False
        if left is not None:
            self._covered = left
            if left < 1:
                self._stop("No credits are left for such launches")

    def _stop(self, why: str) -> None:
        self.stopped = OutOfCreditsError(
            f"{why}: the fan-out launches no more jobs. Nothing was sent or charged for the remaining items. Launched "
            "jobs go on."
        )
