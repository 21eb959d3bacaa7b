"""Stop a fan-out at its limit of credits, and when the balance is used up: each launch takes one credit."""

from __future__ import annotations

import asyncio
import math

from cmsapi.errors import APIError, CMSError, ConflictError, OutOfCreditsError
from cmsapi.jobs.journal.journal import ReadUser
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.jobs.scheduling.admission import LaunchQueue


class LaunchCredits:
    """Count the credits that a fan-out may still spend.

    Args:
        most: The most credits to spend, or None.
        read_user: Reads the user with the balances.
    """

    def __init__(self, most: int | None, read_user: ReadUser) -> None:
        self._most = most
        self._read_user = read_user
        self._left: float = math.inf if most is None else most
        # Launches that the balance still covers, as it was last read; 0 before the first reading.
        self._covered = 0.0
        self._reading = False
        # Set when a credit may be there again, or the balance was read.
        self._changed = asyncio.Event()
        #: Why no more is launched.
        self.stopped: OutOfCreditsError | None = None

    async def reserve(self, launches: LaunchQueue) -> bool:
        """Take the credit of one launch, and tell whether there is one.

        When none is left, it waits for the launches in flight: a refused one gives its credit back. It also waits while
        the balance is being read.
        """
        while self.stopped is None:
            others = launches.launching > 1
            if not self._reading and (self._left >= 1 or not others):
                break
            self._changed.clear()
            await self._changed.wait()
        if self.stopped is None and not self.take():
            self._stop(f"The bound that you set, max_credits={self._most}, is reached")
        return self.stopped is None

    async def check(self) -> None:
        """Refuse a launch that has its permit and is not sent yet, if no more is launched; wait for the balance.

        Raises:
            OutOfCreditsError: No credits are left; nothing was sent.
        """
        while self._reading:
            self._changed.clear()
            await self._changed.wait()
        if self.stopped is not None:
            raise self.stopped.fresh()

    def take(self) -> bool:
        """Take a credit, and tell whether there was one."""
        if self._left < 1:
            return False
        self._left -= 1
        self._covered -= 1
        return True

    def give_back(self, unspent: int) -> None:
        """Note that a launch has ended, and take back the credits that it did not cost."""
        self._left += unspent
        self._covered += unspent
        self._changed.set()

    async def note_failure(self, error: BaseException | None) -> None:
        """Read after a refusal that may be about credits whether some are left, unless it is known."""
        refusal = error.__cause__ if isinstance(error, OutOfCreditsError) else error
        # Without a word of credits a conflict may still be about them: the specification names no code for it.
        if not isinstance(refusal, ConflictError) and (refusal is error or not isinstance(refusal, APIError)):
            return
        kinds = (kind for kind in KINDS.values() if kind.launch_operation == refusal.operation)
        balance = next((kind.balance for kind in kinds), None)
        if balance is None or self._covered >= 1 or self._reading or self.stopped is not None:
            return
        self._reading = True
        try:
            left = balance.of(await self._read_user())
        except CMSError:
            # The caller gets the refusal itself.
            left = None
        finally:
            self._reading = False
            self._changed.set()
        if left is not None:
            self._covered = left
            if left < 1:
                self._stop("No credits are left for such launches")

    def _stop(self, why: str) -> None:
        self.stopped = OutOfCreditsError(
            f"{why}: the fan-out launches no more jobs. Nothing was sent or charged for the remaining items. Launched "
            "jobs go on."
        )
