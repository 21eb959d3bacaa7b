"""Write each attempt of a launch down before it is sent, and take it back when it was not executed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from cmsapi.jobs.errors import sent_times
from cmsapi.jobs.journal.journal import LaunchJournal
from cmsapi.jobs.launching.pending import PendingLaunch
from cmsapi.jobs.tracked import INTENT, SENDING, Record
from cmsapi.ratelimit.limiter import Priority
from cmsapi.ratelimit.permits import Permit
from cmsapi.state.journal import Fact
from cmsapi.transport.call import CallOptions
from cmsapi.transport.clock import ServerClock

# Seconds within which a service is assumed to do what it was asked, or never: from when the last byte may have left.
COMMITS = 60.0
# Seconds after a launch was written down in which its bytes may leave, however soon it is reconciled.
_LAST_BYTES = 5.0


@attrs.frozen
class LaunchAttempts:
    """Keep the journal in step with the attempts of one launch.

    Args:
        pending: The launch; it learns which attempt is in flight.
        record: Its entry.
        journal: Where launches are written down.
        clock: The service's clock.
        baseline: What was so before the launch, as facts for its entry.
        settle: Seconds after which an attempt can no longer arrive, as the policy says; None to derive them.
        timeout: Seconds that one attempt may take.
    """

    pending: PendingLaunch
    record: Record
    journal: LaunchJournal
    clock: ServerClock
    baseline: Mapping[str, Fact]
    settle: float | None
    timeout: float

    def options(self) -> CallOptions:
        """Return the options of the call that makes the attempts."""
        return CallOptions(
            priority=Priority.LAUNCH,
            sent=tuple(_names(self.pending.request.body or {})),
            before_attempt=self._before_attempt,
            not_executed=self._not_executed,
        )

    async def _before_attempt(self, permit: Permit) -> float:
        """Write an attempt down, and return until when its bytes may leave."""
        pending, record, now = self.pending, self.record, asyncio.get_running_loop().time()
        settle = self.timeout + COMMITS if self.settle is None else self.settle
        served_at, served = record.entry.served_at, self.clock.at(now)
        if served_at is None and served is not None:
            served_at = served.timestamp()
        facts = {
            **record.entry.facts,
            **self.baseline,
            "sent_at": self.journal.wall(),
            "settle": settle,
            "sent": sent_times(record.entry) + 1,
            **self.journal.balances.leaves(record.entry.kind),
        }
        await self.journal.write(record, status=SENDING, served_at=served_at, facts=facts)
        pending.permit, pending.settles_at = permit, now + settle
        if pending.left_at is None:
            pending.left_at = now
        return now + max(self.timeout if self.settle is None else self.settle, _LAST_BYTES)

    async def _not_executed(self, permit: Permit) -> None:
        """Take the newest attempt back; one before it that is in doubt stays so, and cannot be called back."""
        pending, record = self.pending, self.record
        # Its time may have ended while it was written down.
        written = pending.permit is permit
        if written:
            pending.not_executed()
        if record.held:
            facts = {**record.entry.facts, "sent": sent_times(record.entry) - written}
            if "doubt" in facts:
                await self.journal.write(record, facts=facts)
            else:
                await self.journal.write(record, status=INTENT, served_at=None, facts=facts)
        pending.in_doubt = "doubt" in record.entry.facts

    def ended(self) -> None:
        """Note that the newest attempt is over, so that no byte of it leaves any more."""
        if self.settle is None and self.pending.settles_at is not None:
            settles_at = asyncio.get_running_loop().time() + COMMITS
            self.pending.settles_at = min(self.pending.settles_at, settles_at)


def _names(body: Mapping[str, Any]) -> Iterator[str]:
    """Name the fields of a body, those of nested objects instead of the objects."""
    for name, value in body.items():
        if isinstance(value, Mapping):
            yield from _names(value)
        else:
            yield name
