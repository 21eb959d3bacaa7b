"""The balances that were known before each launch, and the launches that followed each reading of them.

A launch whose answer is lost is found absent only if the balance that was known before it, less what known launches
were charged since, is the balance of now. So each launch carries a *mark* in the journal: which reading of the balances
came before it, and what that said. Of two marks of one process it is known which came first, whatever any clock says.
"""

from __future__ import annotations

import asyncio
import math
import secrets

from cmsapi.api.models.user import User
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.state.entry import Entry, Fact

# A balance is read anew before a launch after `_LAUNCHES` launches or `_SECONDS` seconds: the usages since then have to
# fit on a few pages.
_LAUNCHES, _SECONDS = 100, 600.0


class BalanceReadings:
    """Remember the balances that were read, and the launches that left since."""

    def __init__(self) -> None:
        self._process = secrets.token_hex(4)
        # The newest reading by kind, the loop time at which its request left, its number, and the launches since.
        self._newest: dict[str, int | None] = {}
        self._asked_at = -math.inf
        self._count = 0
        self._left = 0

    def saw(self, user: User, sent_at: float) -> None:
        """Remember the balances of a user that was read with a request that left at a loop time."""
        # A slow answer may be older than the newest reading.
        if sent_at >= self._asked_at:
            self._newest = {word: kind.balance.of(user) for word, kind in KINDS.items() if kind.balance is not None}
            self._asked_at = sent_at
            self._count += 1
            self._left = 0

    @property
    def known(self) -> bool:
        """Whether balances were read at all."""
        return self._count > 0

    @property
    def fresh(self) -> bool:
        """Whether they need not be read again before the next launch."""
        age = asyncio.get_running_loop().time() - self._asked_at
        return self._left < _LAUNCHES and 0 <= age < _SECONDS

    @property
    def number(self) -> int:
        """The number of the newest reading."""
        return self._count

    def number_of(self, entry: Entry) -> int | None:
        """Return the number of the reading before a launch; None where that was another process's."""
        process, _, number = str(entry.facts.get("mark")).partition(":")
        return int(number) if process == self._process and number.isdecimal() else None

    def leaves(self, kind: str) -> dict[str, Fact]:
        """Return the mark of a launch that leaves now, as facts of its entry; empty when no balance is known."""
        self._left += 1
        if kind not in self._newest:
            return {}
        return {"mark": f"{self._process}:{self._count}", "balance": self._newest[kind]}
