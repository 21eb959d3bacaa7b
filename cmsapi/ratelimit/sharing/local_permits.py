"""Hold the permits of one process that shares its limits, and what it has yet to report.

A report whose exchange was not confirmed is sent again, under the same number. So nothing counts twice, and nothing is
left out.
"""

from __future__ import annotations

import math
import secrets

import attrs

from cmsapi.ratelimit.permits import OUT, Permit, Quota
from cmsapi.ratelimit.sharing.exchange import HeaderReport, PermitGrant, PermitRequest
from cmsapi.ratelimit.sliding_windows import SlidingWindows
from cmsapi.ratelimit.unanswered import IN_FLIGHT_CAP, QUIET, UnansweredRequests


@attrs.define
class _Report:
    """Hold what is to be reported.

    Args:
        settled: When requests settled whose permits the allocation gave.
        unknown: When other requests settled; the allocation knows of them from this report only.
        answered: Whether one of them was answered.
        headers: What the newest answer said of the limits, as if reported at once, or None.
        headers_at: When it came.
        rest_until: Until when all processes have to rest.
        recalled: Whether the headers stand for what an allocation knew that was lost.
    """

    settled: list[float] = attrs.field(factory=list)
    unknown: list[float] = attrs.field(factory=list)
    answered: bool = False
    headers: HeaderReport | None = None
    headers_at: float = 0.0
    rest_until: float = -math.inf
    recalled: bool = False

    def times(self) -> list[float]:
        """Return when requests settled, in order."""
        return sorted(self.settled + self.unknown)


class LocalPermits:
    """Hold the permits of one process, at hand and out."""

    def __init__(self) -> None:
        self.at_hand: int = 0
        #: Those that are out; with the windows that gave it, when it was not an exchange.
        self.open: dict[Permit, SlidingWindows | None] = {}
        self._unanswered = UnansweredRequests()
        # Whether requests go one at a time, because some that were given up in a silence are reported as settled.
        self._probes = False
        self._last: Permit | None = None
        self._holder = secrets.token_hex(8)
        self._number = 0
        # Names the allocation that the last exchange was with.
        self._epoch = 0
        self._report = _Report()
        # What was sent and not confirmed.
        self._sent: _Report | None = None

    # Taking and ending

    def admits(self) -> bool:
        """Tell whether a permit is at hand and may be taken."""
        probing = self._probes and self._last is not None and self._last.stage in OUT
        return self.at_hand > 0 and not probing

    def take(self, permit: Permit, now: float, grant: PermitGrant) -> None:
        """Take one that is at hand."""
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
        unanswered, report = self._unanswered, self._report
        self.advance(now)
        unanswered.silent_from, self._probes = now + QUIET, False
        unanswered.vouch(permit.taken_at, now)
        known = permit in self.open
        windows = self.open.pop(permit, None)
        if windows is not None:
            windows.answered(permit, now, quota)
        elif quota is not None:
            self._note_headers(HeaderReport(quota=quota, age=0.0, settled=permit.settled, left=permit.left), now)
        permit.stage = "answered"
        report.answered = True
        if known:
            (report.unknown if windows is not None else report.settled).append(now)

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
        """Note that all processes have to rest."""
        self._report.rest_until = max(self._report.rest_until, until)

    def advance(self, now: float) -> None:
        """Settle what was given up and can no longer arrive.

        In a silence that includes what is overdue, as if the network lived: otherwise no request could find that out.
        From then on one request goes at a time.
        """
        unanswered, report = self._unanswered, self._report
        if not (unanswered.unvouched or unanswered.vouched):
            return
        report.unknown += unanswered.settle(now)
        if overdue := unanswered.overdue(now):
            report.unknown += [at + IN_FLIGHT_CAP for at in unanswered.unvouched[:overdue]]
            del unanswered.unvouched[:overdue]
            self._probes = True

    def next_change(self, now: float) -> float:
        """Return when something that was given up may settle, infinity when only an answer can tell."""
        return self._unanswered.next_change(now)

    # Exchanges

    @property
    def unreported(self) -> bool:
        """Whether a request has settled that no exchange has reported for certain."""
        return bool(self._sent or self._report.times())

    @property
    def unreported_since(self) -> float:
        """When the first request settled that was in no exchange yet, infinity when none did."""
        return min(self._report.times(), default=math.inf)

    @property
    def rests_until(self) -> float:
        """Until when all processes have to rest, as far as it was in no exchange yet."""
        return self._report.rest_until

    @property
    def recalls(self) -> bool:
        """Whether something was recalled and is in no exchange yet."""
        return self._report.recalled

    def begin_anew(self) -> None:
        """Take another name: the permits that were held under this one may have expired.

        Then the allocation settles them by itself, and they are not reported. A process that holds nothing keeps its
        name, and with it its place in the queue.
        """
        if self.at_hand or self.out or self._sent:
            self._holder, self._number, self.at_hand = secrets.token_hex(8), 0, 0
            self.open = {permit: windows for permit, windows in self.open.items() if windows is not None}
            for report in (self._report, self._sent or _Report()):
                report.settled.clear()

    def request(self, now: float, want: int, priority: int) -> PermitRequest:
        """Say what this process holds, what is new, and what it wants.

        Args:
            now: The time.
            want: Permits wanted, with those at hand; 0 gives these back.
            priority: The lane that wants them.
        """
        self.advance(now)
        if self._sent is None:
            self._sent, self._report = self._report, _Report()
            self._number += 1
        elif self._number == 0:
            self._number = 1
        if not want:
            self.at_hand = 0
        sent = self._sent
        return PermitRequest(
            holder=self._holder,
            number=self._number,
            # What has settled since the report that is sent again is reported next time.
            held=self.at_hand + self.out + len(self._report.times()),
            settled=tuple(now - at for at in sent.times()),
            answered=sent.answered,
            report=None if sent.headers is None else attrs.evolve(sent.headers, age=now - sent.headers_at),
            # It may be sent again, since it names a moment.
            rest=max(0.0, sent.rest_until - now, self._report.rest_until - now),
            want=max(0, want - self.at_hand),
            priority=priority,
            epoch=self._epoch,
        )

    def granted(self, grant: PermitGrant) -> bool:
        """Take what an exchange gave; what it reported is written down.

        Returns:
            Whether this is another allocation than that of the last exchange.
        """
        another = self._epoch not in (0, grant.epoch)
        self._sent, self._epoch = None, grant.epoch
        self.at_hand += grant.granted
        if another:
            # A new allocation has counted nothing of what the old one had counted when these were taken.
            for permit in self.open:
                permit.settled = permit.left = 0
            self._report.headers = None
        return another

    def recall(self, quota: Quota, at: float) -> None:
        """Report to a new allocation, with the next exchange, what the old one knew of the hour.

        Args:
            quota: What an answer would have said then.
            at: When that was.
        """
        self._note_headers(HeaderReport(quota=quota, age=0.0, settled=0, left=0), at)
        self._report.recalled = True

    def _note_headers(self, headers: HeaderReport, at: float) -> None:
        self._report.headers, self._report.headers_at = headers, at
