"""What was known before a launch left: the balances, and which launches came after they were read.

A launch whose answer is lost is found absent only if the balance that was known before it, less what known launches
were charged since, is the balance of now. So each launch carries a *mark* in the journal: which reading of the balances
came before it, and what that said. Of two marks of one process it is known which came first, whatever any clock says.
"""

from __future__ import annotations

import asyncio
import math
import secrets
from collections import deque
from collections.abc import Mapping

import attrs

from cmsapi.api.models import User
from cmsapi.jobs.kinds.kind import JobKind
from cmsapi.state.journal import Entry, Fact

# How a balance is called in the usages that draw on it, and in the user's organisation.
ANALYSIS, SEARCH, WRITING = "analysis", "content_idea_search", "ai_writing"
TYPES: Mapping[str, str] = {
    JobKind.KEYWORD_ANALYSIS: ANALYSIS,
    JobKind.PROMPT_ANALYSIS: ANALYSIS,
    JobKind.IDEA_SEARCH: SEARCH,
    JobKind.GENERATION: WRITING,
}
_BALANCES: Mapping[str, str] = {ANALYSIS: "analysis", SEARCH: "content_ideas_searches", WRITING: "ai_writing"}

# A balance is read anew before a launch when so many launches have left since, or so many seconds have passed: the
# usages since then have to fit on a few pages.
_LAUNCHES, _SECONDS = 100, 600.0
_LARGEST_MEMORY = 1000


def balance_of(user: User, type_: str) -> int | None:
    """Return the balance that a type of usage draws on, or None where the service does not show it."""
    credits_ = getattr(user.organization, "credits", None)
    balance = getattr(credits_, _BALANCES[type_], None)
    return balance if isinstance(balance, int) else None


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
        #: Let one launch at a time read the balances.
        self.reading: asyncio.Lock = asyncio.Lock()
        self._launched: deque[Entry] = deque(maxlen=_LARGEST_MEMORY)

    def saw(self, user: User, sent_at: float) -> None:
        """Take note of a user, with the balances, who has just been read, and was asked for at a loop time."""
        if self._newest is not None and sent_at < self._newest.asked_at:
            # A slow answer: it may be older than what is known.
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
        mark, type_ = self._newest, TYPES.get(kind)
        if mark is None or type_ is None:
            return {}
        return {"mark": f"{self._process}:{mark.number}", "balance": balance_of(mark.user, type_)}

    def launched(self, entry: Entry) -> None:
        """Remember a launch that is known to have happened, also when its entry is struck out."""
        self._launched.append(entry)

    @property
    def memory(self) -> list[Entry]:
        """The launches that are remembered."""
        return list(self._launched)


def is_after(entry: Entry, mark: Fact) -> bool:
    """Tell whether a launch certainly left after the reading of the balances that a mark names."""
    order = _readings(entry, mark)
    return order is not None and order[0] >= order[1]


def is_before(entry: Entry, mark: Fact) -> bool:
    """Tell whether a launch certainly left before the reading of the balances that a mark names."""
    order = _readings(entry, mark)
    return order is not None and order[0] < order[1]


def _readings(entry: Entry, mark: Fact) -> tuple[int, int] | None:
    """Return the numbers of the reading before a launch and of that of a mark, None where they cannot be compared."""
    own = entry.facts.get("mark")
    if not isinstance(own, str) or not isinstance(mark, str):
        return None
    (process, _, number), (of_mark, _, since) = own.partition(":"), mark.partition(":")
    comparable = process == of_mark and number.isdecimal() and since.isdecimal()
    return (int(number), int(since)) if comparable else None
