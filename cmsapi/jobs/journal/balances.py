"""The balances that were known before each launch, and the launches that followed each reading of them.

A launch whose answer is lost is found absent only if the balance that was known before it, less what known launches
were charged since, is the balance of now. So each launch carries a *mark* in the journal: which reading of the balances
came before it, and what that said. Of two marks of one process it is known which came first, whatever any clock says.
"""

from __future__ import annotations

import asyncio
import math
import secrets
from collections import deque

import attrs

from cmsapi.api.models.user import User
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.state.journal import Entry, Fact

# A balance is read anew before a launch when so many launches have left since, or so many seconds have passed: the
# usages since then have to fit on a few pages.
_LAUNCHES, _SECONDS = 100, 600.0
_LARGEST_MEMORY = 1000


@attrs.frozen
class _Mark:
    number: int
    user: User
    asked_at: float


class BalanceReadings:
    """Remember the balances that were read, and the launches that left since."""

    def __init__(self) -> None:
        self._process = secrets.token_hex(4)
        self._newest: _Mark | None = None
        self._count = 0
        self._left = 0
        self._launched: deque[Entry] = deque(maxlen=_LARGEST_MEMORY)

    def saw(self, user: User, sent_at: float) -> None:
        """Remember the balances of a user that was just read.

        Args:
            user: The user.
            sent_at: Loop time at which the request left.
        """
        if self._newest is not None and sent_at < self._newest.asked_at:
            # A slow answer may be older than the newest reading.
            return
        self._count += 1
        self._left = 0
        self._newest = _Mark(self._count, user, sent_at)

    @property
    def known(self) -> bool:
        """Whether balances were read at all."""
        return self._newest is not None

    @property
    def fresh(self) -> bool:
        """Whether they need not be read again before the next launch."""
        age = math.inf if self._newest is None else asyncio.get_running_loop().time() - self._newest.asked_at
        return self._left < _LAUNCHES and 0 <= age < _SECONDS

    def leaves(self, kind: str) -> dict[str, Fact]:
        """Return the mark of a launch that leaves now, as facts of its entry; empty when no balance is known."""
        self._left += 1
        mark, known = self._newest, KINDS.get(kind)
        if mark is None or known is None or known.balance is None:
            return {}
        return {"mark": f"{self._process}:{mark.number}", "balance": known.balance.of(mark.user)}

    def launched(self, entry: Entry) -> None:
        """Remember a launch that is known to have happened; its entry may be deleted before others need it."""
        self._launched.append(entry)

    @property
    def memory(self) -> list[Entry]:
        """The launches that are remembered."""
        return list(self._launched)
