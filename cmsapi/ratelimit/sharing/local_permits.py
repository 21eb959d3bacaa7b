"""Hold the permits that shared limits gave to one process, and its next report.

A report whose exchange was not confirmed is sent again, under the same number. So nothing counts twice, and nothing is
left out.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Collection

import attrs

from cmsapi.ratelimit.permits import OUT, Permit, Quota
from cmsapi.ratelimit.request_log import RequestLog
from cmsapi.ratelimit.sharing.exchange import HeaderReport, PermitGrant, PermitRequest
from cmsapi.ratelimit.unanswered import IN_FLIGHT_CAP, QUIET, UnansweredRequests


@attrs.define
class Report:
    """Hold what is to be reported."""

    #: When requests settled, and whether one of them was answered.
    settled: list[float] = attrs.field(factory=list)
    answered: bool = False
    #: What the newest answer said of the limits, as if reported at once, and when it came.
    headers: HeaderReport | None = None
    headers_at: float = 0.0
    #: Until when all processes pause.
    pause_until: float = -math.inf
    #: Whether the headers stand for what an allocation knew that was lost.
    urgent: bool = False

    def pause(self, until: float) -> None:
        """Ask all processes to pause until a time."""
        self.pause_until = max(self.pause_until, until)

    @property
    def since(self) -> float:
        """When the first request settled, infinity when none did."""
        return min(self.settled, default=math.inf)


class LocalPermits:
    """Hold the permits of one process, at hand and out."""

    def __init__(self) -> None:
        self.at_hand: int = 0
        #: The report that is in no exchange yet, and the one that was sent and not confirmed.
        self.report: Report = Report()
        self.sent: Report | None = None
        #: The requests that were given up and have not settled.
        self.unanswered: UnansweredRequests = UnansweredRequests()
        self._open: set[Permit] = set()
        # Whether requests go one at a time, because some that were given up in a silence are reported as settled.
        self._probes = False
        self._last: Permit | None = None
        self._holder = secrets.token_hex(8)
        self._number = 0
        # Names the allocation that the last exchange was with.
        self._epoch = 0

    # Taking and ending

    def admits(self) -> bool:
        """Tell whether a permit is at hand and may be taken."""
        probing = self._probes and self._last is not None and self._last.stage in OUT
        return self.at_hand > 0 and not probing

    def take(self, permit: Permit, now: float, log: RequestLog) -> None:
        """Take a permit that is at hand; `log` is what all processes have settled."""
        if not self.out:
            # Nothing was out that could have been answered.
            self.unanswered.silent_from = now + QUIET
        self.at_hand -= 1
        permit.taken_at, permit.settled, permit.left = now, log.total, log.left
        self._open.add(permit)
        self._last = permit

    @property
    def out(self) -> int:
        """How many have not settled."""
        return len(self._open) + len(self.unanswered.unvouched) + len(self.unanswered.vouched)

    def answered(self, permit: Permit, now: float, quota: Quota | None) -> None:
        """Settle one, and note what the answer says of the limits."""
        self.advance(now)
        self.unanswered.silent_from, self._probes = now + QUIET, False
        self.unanswered.vouch(permit.taken_at, now)
        self.report.answered = True
        if quota is not None:
            self._note_headers(HeaderReport(quota=quota, age=0.0, settled=permit.settled, left=permit.left), now)
        if permit in self._open:
            self._open.remove(permit)
            self.report.settled.append(now)

    def lost(self, permit: Permit, now: float) -> None:
        """Give one up: no answer will come, but it may still arrive."""
        if permit in self._open:
            self._open.remove(permit)
            self.unanswered.unvouched.append(now)

    def unsent(self, permit: Permit) -> None:
        """Take one back: nothing was sent."""
        if permit in self._open:
            self._open.remove(permit)
            self.at_hand += 1

    def adopt(self, permits: Collection[Permit], settled: Collection[float], given_up: UnansweredRequests) -> None:
        """Report what this process did without the allocation: permits out, requests settled, and those given up."""
        # It is not known how many requests of all processes had settled when they were taken.
        for permit in permits:
            permit.settled = permit.left = 0
        self._open.update(permits)
        self.report.settled.extend(settled)
        self.unanswered.unvouched = sorted(self.unanswered.unvouched + given_up.unvouched)
        self.unanswered.vouched = sorted(self.unanswered.vouched + given_up.vouched)

    def advance(self, now: float) -> None:
        """Settle what was given up and can no longer arrive.

        In a silence that includes what is overdue, as if the network lived: otherwise no request could find that out.
        From then on one request goes at a time.
        """
        unanswered, settled = self.unanswered, self.report.settled
        settled += unanswered.settle(now)
        if overdue := unanswered.overdue(now):
            settled += [at + IN_FLIGHT_CAP for at in unanswered.unvouched[:overdue]]
            del unanswered.unvouched[:overdue]
            self._probes = True

    # Exchanges

    def begin_anew(self) -> None:
        """Take another name: the permits that were held under this one may have expired.

        Then the allocation settles them by itself, and they are not reported. A process that holds nothing keeps its
        name, and with it its place in the queue.
        """
        if self.at_hand or self.out or self.sent:
            self._holder, self._number, self.at_hand = secrets.token_hex(8), 0, 0
            self._open.clear()
            for times in (self.unanswered.unvouched, self.unanswered.vouched, self.report.settled):
                times.clear()
            if self.sent is not None:
                self.sent.settled.clear()

    def request(self, now: float, want: int, priority: int, *, sparing: bool = False) -> PermitRequest:
        """Say what this process holds, what is new, and how many permits it wants with those at hand.

        A process that wants none gives back those at hand. The last lane takes sparingly.
        """
        self.advance(now)
        if self.sent is None:
            self.sent, self.report = self.report, Report()
            self._number += 1
        self._number = max(1, self._number)
        if not want:
            self.at_hand = 0
        sent = self.sent
        return PermitRequest(
            holder=self._holder,
            number=self._number,
            # What has settled since the report that is sent again is reported next time.
            held=self.at_hand + self.out + len(self.report.settled),
            settled=tuple(now - at for at in sorted(sent.settled)),
            answered=sent.answered,
            report=None if sent.headers is None else attrs.evolve(sent.headers, age=now - sent.headers_at),
            # It may be sent again, since it names a moment.
            pause=max(0.0, sent.pause_until - now, self.report.pause_until - now),
            want=max(0, want - self.at_hand),
            priority=priority,
            sparing=sparing,
            epoch=self._epoch,
        )

    def granted(self, grant: PermitGrant) -> bool:
        """Take what an exchange gave; what it reported is written down.

        Returns:
            Whether this is another allocation than that of the last exchange.
        """
        another = self._epoch not in (0, grant.epoch)
        self.sent, self._epoch = None, grant.epoch
        self.at_hand += grant.granted
        if another:
            # A new allocation has counted nothing of what the old one had counted when these were taken.
            for permit in self._open:
                permit.settled = permit.left = 0
            self.report.headers = None
        return another

    def recall(self, quota: Quota, at: float) -> None:
        """Report to a new allocation the quota that an answer would have shown to the old one at a time."""
        self._note_headers(HeaderReport(quota=quota, age=0.0, settled=0, left=0), at)
        self.report.urgent = True

    def _note_headers(self, headers: HeaderReport, at: float) -> None:
        self.report.headers, self.report.headers_at = headers, at
