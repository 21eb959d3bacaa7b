"""What one process has of the permits that are shared, and what it has yet to tell the book.

The news of a turn whose reply did not come are told again, under the same number, until a reply says that they are
written down. So nothing is told twice and nothing is left out.
"""

from __future__ import annotations

import math
import secrets

import attrs

from cmsapi.ratelimit.exchange import HeaderReport, PermitGrant, PermitRequest
from cmsapi.ratelimit.permits import OUT, Permit, Quota
from cmsapi.ratelimit.sliding_windows import SlidingWindows
from cmsapi.ratelimit.unanswered import IN_FLIGHT_CAP, QUIET, UnansweredRequests


@attrs.define
class _News:
    """Hold what the book has not been told yet, or not certainly."""

    settled: list[float] = attrs.field(factory=list)
    heard: bool = False
    seen: tuple[Quota, float, Permit] | None = None
    rest_until: float = -math.inf
    recalled: bool = False


class LocalPermits:
    """Hold the permits of one process, at hand and out."""

    def __init__(self) -> None:
        self.at_hand: int = 0
        # Those that are out; with what gave it, when that was not the book.
        self.open: dict[Permit, SlidingWindows | None] = {}
        self._unanswered = UnansweredRequests()
        # Whether requests go one at a time, because what was given up in a silence was told as settled.
        self._probes = False
        self._last: Permit | None = None
        self._holder = secrets.token_hex(8)
        self._number = 0
        # Names the book that gave the last turn.
        self._epoch = 0
        self._news = _News()
        self._told: _News | None = None

    # Taking and ending

    def admits(self) -> bool:
        """Tell whether a permit is at hand and may be taken."""
        probing = self._probes and self._last is not None and self._last.stage in OUT
        return self.at_hand > 0 and not probing

    def take(self, permit: Permit, now: float, grant: PermitGrant) -> None:
        """Send one out that is at hand."""
        self.at_hand -= 1
        permit.stage, permit.taken_at = "taken", now
        permit.settled, permit.left = grant.settled, grant.left
        self.note(permit, now, None)

    def note(self, permit: Permit, now: float, windows: SlidingWindows | None) -> None:
        """Note one that is out."""
        if not self.out:
            # Nothing was out that could have been answered.
            self._unanswered.silent_from = now + QUIET
        self.open[permit] = windows
        self._last = permit

    @property
    def out(self) -> int:
        """How many have not settled."""
        return len(self.open) + len(self._unanswered.unvouched) + len(self._unanswered.vouched)

    def answered(self, permit: Permit, now: float, quota: Quota | None) -> None:
        """Settle one, and note what the answer says of the limits."""
        lost, news = self._unanswered, self._news
        self.advance(now)
        lost.silent_from, self._probes = now + QUIET, False
        lost.vouch(permit.taken_at, now)
        known = permit in self.open
        windows = self.open.pop(permit, None)
        if windows is not None:
            windows.answered(permit, now, quota)
        elif quota is not None:
            news.seen = quota, now, permit
        permit.stage = "answered"
        news.heard = True
        if known:
            news.settled.append(now)

    def lost(self, permit: Permit, now: float) -> None:
        """Give one up: no answer will come, but it may still arrive."""
        known = permit in self.open
        windows = self.open.pop(permit, None)
        if windows is not None:
            windows.lost(permit, now)
        permit.stage = "lost"
        if known:
            self._unanswered.unvouched.append(now)

    def unsent(self, permit: Permit) -> None:
        """Take one back: nothing was sent."""
        known = permit in self.open
        windows = self.open.pop(permit, None)
        if windows is not None:
            windows.unsent(permit)
        elif known:
            self.at_hand += 1
        permit.stage = "unsent"

    def rest(self, until: float) -> None:
        """Note that all have to rest."""
        self._news.rest_until = max(self._news.rest_until, until)

    def advance(self, now: float) -> None:
        """Settle what was given up and can no longer arrive.

        In a silence that is also what is overdue, as if the network lived; otherwise nobody would get a permit to find
        that out. From then on one request goes at a time.
        """
        lost = self._unanswered
        if not (lost.unvouched or lost.vouched):
            return
        self._news.settled += lost.settle(now)
        if overdue := lost.overdue(now):
            self._news.settled += [at + IN_FLIGHT_CAP for at in lost.unvouched[:overdue]]
            del lost.unvouched[:overdue]
            self._probes = True
        self._news.settled.sort()

    def next_change(self, now: float) -> float:
        """Return when something that was given up may settle, infinity when only an answer can tell."""
        return self._unanswered.next_change(now)

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
        if self.at_hand or self.out or self._told:
            self._holder, self._number, self.at_hand = secrets.token_hex(8), 0, 0
            self.open = {permit: windows for permit, windows in self.open.items() if windows is not None}

    def ask(self, now: float, want: int, priority: int) -> PermitRequest:
        """Say what this process holds, what is new, and what it wants.

        Args:
            now: The time.
            want: Permits wanted, with those at hand; 0 gives these back.
            priority: The lane that wants them.
        """
        self.advance(now)
        if self._told is None:
            self._told, self._news = self._news, _News()
            self._number += 1
        elif self._number == 0:
            self._number = 1
        if not want:
            self.at_hand = 0
        told = self._told
        return PermitRequest(
            holder=self._holder,
            number=self._number,
            # What settled since the news that are told (again) is told next time.
            held=self.at_hand + self.out + len(self._news.settled),
            settled=tuple(now - at for at in told.settled),
            heard=told.heard,
            seen=None if told.seen is None else _seen(told.seen, now),
            # It may be told again, since it names a moment.
            rest=max(0.0, told.rest_until - now, self._news.rest_until - now),
            want=max(0, want - self.at_hand),
            priority=priority,
            epoch=self._epoch,
        )

    def granted(self, grant: PermitGrant) -> bool:
        """Take what a turn gave; what it told is written down.

        Returns:
            Whether this is another book than the one that gave the last turn.
        """
        another = self._epoch not in (0, grant.epoch)
        self._told, self._epoch = None, grant.epoch
        self.at_hand += grant.granted
        if another:
            # A new book has counted nothing of what the old one had counted when these were taken.
            for permit in self.open:
                permit.settled = permit.left = 0
            self._news.seen = None
        return another

    def recall(self, quota: Quota, at: float) -> None:
        """Tell a new book, with the next turn, what the old one knew of the hour.

        Args:
            quota: What an answer would have said then.
            at: When that was.
        """
        permit = Permit()
        permit.settled = permit.left = 0
        self._news.seen, self._news.recalled = (quota, at, permit), True

    @property
    def recalls(self) -> bool:
        """Whether something was recalled and is in no turn yet."""
        return self._news.recalled


def _seen(seen: tuple[Quota, float, Permit], now: float) -> HeaderReport:
    quota, at, permit = seen
    return HeaderReport(quota=quota, age=now - at, settled=permit.settled, left=permit.left)
