"""What one process has of the tokens that are shared, and what it has yet to tell the book.

The news of a turn whose reply did not come are told again, under the same number, until a reply says that they are
written down. So nothing is told twice and nothing is left out.
"""

from __future__ import annotations

import math
import secrets

import attrs

from cmsapi.state.turns import Ask, Grant, Seen
from cmsapi.state.windows import Quota, Token, Windows


class SharedToken:
    """Stand for one request that may be made.

    Args:
        windows: What follows its flight.
        token: Its token there.
        holder: Under which name it was given; None for one that was taken without the book.
        grant: What the book said last.
    """

    __slots__ = ("holder", "left", "settled", "token", "windows")

    def __init__(self, windows: Windows, token: Token, holder: str | None, grant: Grant | None) -> None:
        self.windows: Windows = windows
        self.token: Token = token
        self.holder: str | None = holder
        self.settled: int = grant.settled if grant is not None else 0
        self.left: int = grant.left if grant is not None else 0

    @property
    def departed(self) -> bool:
        """Whether bytes may have left."""
        return self.token.departed

    @property
    def lost_at(self) -> float | None:
        """When it was given up, or None."""
        return self.token.lost_at


@attrs.define
class _News:
    """Hold what the book has not been told yet, or not certainly."""

    settled: list[float] = attrs.field(factory=list)
    heard: bool = False
    seen: tuple[Quota, float, SharedToken] | None = None
    rest_until: float = -math.inf


class Holding:
    """Hold the tokens of one process, at hand and out."""

    def __init__(self) -> None:
        self.at_hand: int = 0
        self.open: dict[SharedToken, None] = {}
        self._holder = secrets.token_hex(8)
        self._number = 0
        self._news = _News()
        self._told: _News | None = None

    def take(self, windows: Windows, now: float, grant: Grant | None, *, shared: bool) -> SharedToken:
        """Send a token out: one at hand, or one that the book does not know of."""
        if shared:
            self.at_hand -= 1
        token = SharedToken(windows, windows.take(now), self._holder if shared else None, grant)
        self.open[token] = None
        return token

    def answered(self, token: SharedToken, now: float, quota: Quota | None) -> None:
        """Note an answer, and what it says of the limits."""
        self._news.heard = True
        if quota is not None and token.holder is not None:
            self._news.seen = quota, now, token
        self._settle(token, now)

    def returned(self, token: SharedToken) -> None:
        """Note that nothing was sent: the token is at hand again, if it is of this life."""
        if self.open.pop(token, token) is None and token.holder == self._holder:
            self.at_hand += 1

    def rest(self, until: float) -> None:
        """Note that all have to rest."""
        self._news.rest_until = max(self._news.rest_until, until)

    def _settle(self, token: SharedToken, now: float) -> None:
        # Those of an earlier life have settled by its end.
        if self.open.pop(token, token) is None and token.holder in (None, self._holder):
            self._news.settled.append(now)

    # Turns

    @property
    def untold(self) -> bool:
        """Whether the book does not know everything that has settled."""
        return bool(self._told or self._news.settled)

    @property
    def untold_since(self) -> float:
        """When the first request settled that was in no turn yet, infinity when none did."""
        return self._news.settled[0] if self._news.settled else math.inf

    @property
    def rests_until(self) -> float:
        """Until when all have to rest, as far as it was in no turn yet."""
        return self._news.rest_until

    def begin_anew(self) -> None:
        """Take another name: the book may have settled what was held under this one.

        Who holds nothing keeps its name, and with it its place in line.
        """
        if self.at_hand or self.open or self._told:
            self._holder, self._number, self.at_hand = secrets.token_hex(8), 0, 0

    def ask(self, now: float, want: int, priority: int) -> Ask:
        """Say what this process holds, what is new, and what it wants.

        Args:
            now: The time.
            want: Tokens wanted, with those at hand; 0 gives these back.
            priority: The lane that wants them.
        """
        for windows in {token.windows for token in self.open}:
            # Whatever can no longer arrive settles by that.
            windows.next_time(now)
        for token in [token for token in self.open if not token.token.open]:
            self._settle(token, now)
        if self._told is None:
            self._told, self._news = self._news, _News()
            self._number += 1
        elif self._number == 0:
            self._number = 1
        if not want:
            self.at_hand = 0
        told = self._told
        mine = sum(token.holder == self._holder for token in self.open)
        return Ask(
            holder=self._holder,
            number=self._number,
            # What settled since the news that are told (again) is told next time.
            held=self.at_hand + mine + len(self._news.settled),
            settled=tuple(now - at for at in told.settled),
            heard=told.heard,
            seen=None if told.seen is None else _seen(told.seen, now),
            rest=max(0.0, told.rest_until - now),
            want=max(0, want - self.at_hand),
            priority=priority,
        )

    def granted(self, grant: Grant) -> None:
        """Take what a turn gave; what it told is written down."""
        self._told = None
        self.at_hand += grant.granted


def _seen(seen: tuple[Quota, float, SharedToken], now: float) -> Seen:
    quota, at, token = seen
    return Seen(quota=quota, age=now - at, settled=token.settled, left=token.left)
