"""Share a state among many hosts, in a Postgres database.

Each transaction goes by the server's clock, in tables of the schema `cmsapi`. A process may die at any moment without a
loss, and so may the server: what was written is on its disk before the caller goes on.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import attrs

from cmsapi.state.rows import LIMITS, Read, Rows, Transaction, Write
from cmsapi.state.session import Session
from cmsapi.state.store import LEASE_TTL, Change, State, T

# Here it also says which change has written it.
_LIMITS = attrs.evolve(LIMITS, values=(*LIMITS.values, "writer"))


class PostgresState(State):
    """Share a state among many hosts, in a Postgres database.

    Args:
        url: `postgresql://[user[:password]@]host[:port]/database`. What libpq takes as a query, such as
            `sslmode=verify-full`, may follow.
        lease_ttl: Seconds after which leases of an owner without a heartbeat may be taken over.

    Raises:
        ConfigError: The URL cannot be read.
    """

    def __init__(self, url: str, *, lease_ttl: float = LEASE_TTL) -> None:
        super().__init__(lease_ttl)
        self._journal = Session(url)
        # What waits for the limits, which other processes change, does not hold the journal up.
        self._limits = Session(url)

    async def _run(self, transaction: Transaction[T]) -> T:
        return await self._journal.run(transaction)

    async def _run_limits(self, transaction: Transaction[T]) -> T:
        return await self._limits.run(transaction)

    async def update_limits(self, account: str, change: Change[T]) -> T:
        """Put a new document in the place of an account's old one, in one step."""
        mine, results = secrets.token_hex(8), list[T]()

        def decide(now: float, rows: Rows) -> tuple[Sequence[Write], T]:
            _, document, writer = rows[0] if rows else (account, None, None)
            if writer == mine:
                # The answer to the first attempt was lost.
                return [], results[-1]
            document, result = change(document, now)
            results.append(result)
            return [Write(_LIMITS, (account,), (document, mine))], result

        return await self._run_limits(Transaction(account, [Read(_LIMITS, (account,))], decide, flushed=False))

    async def aclose(self) -> None:
        """Let others claim what this process holds, and close the connections."""
        try:
            await super().aclose()
        finally:
            await self._journal.aclose()
            await self._limits.aclose()
