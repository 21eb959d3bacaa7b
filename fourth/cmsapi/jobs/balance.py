"""The balance of searches, which is all that tells whether a search was accepted that the service answered with 500."""

from __future__ import annotations

import asyncio
import contextlib

from cmsapi.errors import CMSError
from cmsapi.models import Credits, User
from cmsapi.transport.pipeline import Pipeline


class Balance:
    """What the balance of searches has to be if no launch but the answered ones was accepted.

    Attributes:
        in_flight: Searches that are being launched; while there are any, a reading says nothing.
    """

    def __init__(self) -> None:
        self.in_flight: int = 0
        self._expected: int | None = None
        self._lock = asyncio.Lock()

    async def read(self, pipeline: Pipeline) -> User:
        """Read the user with the balances of today. Costs one request."""
        user = await pipeline.call("get_me", User)
        if not self.in_flight:
            self._expected = _searches(user)
        return user

    async def prepare(self, pipeline: Pipeline) -> None:
        """Read the balances before the first search."""
        async with self._lock:
            if self._expected is None and not self.in_flight:
                with contextlib.suppress(CMSError):
                    await self.read(pipeline)

    def accepted(self) -> None:
        """Account for an answered search."""
        if self._expected is not None:
            self._expected -= 1

    def forget(self) -> None:
        """Have the balances read again: an unknown launch may have cost one."""
        self._expected = None

    async def stands(self, pipeline: Pipeline) -> bool:
        """Return True if the balance has not fallen by more than the answered launches. Costs one request."""
        left, expected = None, self._expected
        if expected is not None:
            left, expected = _searches(await pipeline.call("get_me", User)), self._expected
        return left is not None and expected is not None and left >= expected


def _searches(user: User) -> int | None:
    credits: Credits | None = user.organization.credits if user.organization else None  # noqa: A001
    return credits.content_ideas_searches if credits else None
