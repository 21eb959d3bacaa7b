"""Share a state among many hosts, in a Postgres database.

Each transaction goes by the server's clock, in tables of the schema `cmsapi`. A process may die at any moment without a
loss, and so may the server: what was written is on its disk before the caller goes on.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import ClassVar

from cmsapi.state.session import Session
from cmsapi.state.sql import Rows, SqlState, Statement, Transaction, put
from cmsapi.state.store import LEASE_TTL, Change, T


class PostgresState(SqlState):
    """Share a state among many hosts, in a Postgres database.

    Args:
        url: `postgresql://[user[:password]@]host[:port]/database`. What libpq takes as a query, such as
            `sslmode=verify-full`, may follow.
        lease_ttl: Seconds after which leases of an owner without a heartbeat may be taken over.

    Raises:
        ConfigError: The URL cannot be read.
    """

    asked_at: ClassVar[str] = "(entry::json->>'asked_at')::float8"

    def __init__(self, url: str, *, lease_ttl: float = LEASE_TTL) -> None:
        super().__init__(lease_ttl)
        self._journal = Session(url)
        # What waits for the limits, which other processes change, does not hold the journal up.
        self._limits = Session(url)

    async def _run(self, transaction: Transaction[T]) -> T:
        return await self._journal.run(transaction)

    async def update_limits(self, account: str, change: Change[T]) -> T:
        """Put a new document in the place of an account's old one, in one transaction."""
        mine, results = secrets.token_hex(8), list[T]()

        def decide(now: float, rows: Rows) -> tuple[Sequence[Statement], T]:
            document, writer = rows[0] if rows else (None, None)
            if writer == mine:
                # The answer to the first attempt was lost.
                return [], results[-1]
            document, result = change(document, now)
            results.append(result)
            return put("limits", "account = ?", (account,), document, mine), result

        found = ("SELECT document, writer FROM limits WHERE account = ?", (account,))
        return await self._limits.run(Transaction([account], [found], decide))

    async def aclose(self) -> None:
        """Let others claim what this process holds, and close the connections."""
        try:
            if not self._journal.closed:
                await self._give_back()
        finally:
            await self._journal.aclose()
            await self._limits.aclose()
