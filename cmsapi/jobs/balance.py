"""The balance of search credits: after a 500 or 502 response, the only evidence of whether a search was accepted."""

from __future__ import annotations

import asyncio
import contextlib

from cmsapi.errors import CMSError
from cmsapi.jobs.kinds import Kind
from cmsapi.models import User
from cmsapi.transport.pipeline import Pipeline


class Balance:
    """The expected balance of search credits: the balance last recorded, less the searches accepted since then."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self.in_flight: int = 0  # searches being launched; a balance read meanwhile is not the expected one
        self._expected: int | None = None
        self._lock = asyncio.Lock()

    async def read(self, pipeline: Pipeline) -> User:
        """Return the key's user, and set the expected balance unless a search is being launched. Costs one request."""
        user = await pipeline.call("get_me", User)
        if not self.in_flight:
            self._expected = self._kind.balance(user)
        return user

    async def prepare(self, pipeline: Pipeline) -> None:
        """Read the balance if unknown and no search is being launched; ignore errors. Costs at most one request."""
        async with self._lock:
            if self._expected is None and not self.in_flight:
                with contextlib.suppress(CMSError):
                    await self.read(pipeline)

    def changed(self, *, accepted: bool) -> None:
        """Subtract one search from the expected balance if ``accepted``; else discard it until the next `read`."""
        self._expected = self._expected - 1 if accepted and self._expected is not None else None

    async def stands(self, pipeline: Pipeline) -> bool:
        """Read the balance, and return True if it is known to be no lower than expected. Costs at most one request."""
        if (expected := self._expected) is None:  # taken first: a search answered meanwhile may not be in the balance
            return False
        left = self._kind.balance(await pipeline.call("get_me", User))
        return left is not None and self._expected is not None and left >= expected
