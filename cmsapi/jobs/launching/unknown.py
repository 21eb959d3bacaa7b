"""What follows when nobody can tell whether a launch happened: an error that says what is known, or a repetition."""

from __future__ import annotations

import inspect

import attrs

from cmsapi.config import LaunchPolicy
from cmsapi.errors import LaunchUnknownError, LeaseLostError, StateError
from cmsapi.jobs.errors import sent_times, unknown_launch
from cmsapi.jobs.journal.journal import LONGEST_REASON
from cmsapi.jobs.kinds.evidence import Finding
from cmsapi.jobs.launching.request import LaunchRequest
from cmsapi.jobs.polling.poller import Poller
from cmsapi.jobs.tracked import Record
from cmsapi.state.journal import Entry

STAYS_OPEN = "it stays in the journal: the next launch of the same, or jobs.resume, looks it up again"
# A launch that joins none has an entry of its own.
STAYS_APART = (
    "it stays in the journal: jobs.resume looks it up again; another launch of the same is paid for on its own"
)


@attrs.frozen
class Doubts:
    """Tell of launches that may have happened.

    Args:
        poller: Knows the journal and the clock.
        policy: Whether such a launch is repeated.
    """

    poller: Poller
    policy: LaunchPolicy

    async def give_up(
        self,
        launch: LaunchRequest,
        record: Record,
        finding: Finding,
        said: str,
        cause: BaseException | None,
        *,
        last: bool = False,
    ) -> None:
        """Record that nobody knows whether it happened, unless the policy says that it shall be repeated.

        Args:
            launch: What was launched.
            record: Its entry.
            finding: Why nobody knows.
            said: What came instead of an answer.
            cause: The same as an error, if there is one.
            last: Whether it has been repeated as often as it may be.

        Raises:
            LaunchUnknownError: It is not repeated.
        """
        unknown = self.unknown(launch, said, record.entry, found=finding.why)
        wish = "raise" if last else self.policy.on_unknown
        if callable(wish):
            wish = wish(unknown)
            if inspect.isawaitable(wish):
                wish = await wish
        if wish == "repeat":
            # Whatever becomes of the repetition, this attempt stays in doubt.
            await self.poller.journal.write(record, facts={**record.entry.facts, "doubt": finding.why[:LONGEST_REASON]})
            return
        try:
            await self.poller.journal.give_up(record, finding.why)
        except (StateError, LeaseLostError):
            # The doubt is about money, and more important than that it could not be written down.
            unknown = self.unknown(launch, said, record.entry, found=finding.why, open=self.stays(launch, record.entry))
        raise unknown from cause

    def stays(self, launch: LaunchRequest, entry: Entry) -> str:
        """Say who looks up a launch that stays in the journal."""
        found_again = entry.item is not None or (launch.joins and self.policy.dedupe != "allow")
        return STAYS_OPEN if found_again else STAYS_APART

    def unknown(self, launch: LaunchRequest, said: str, entry: Entry, **found: str) -> LaunchUnknownError:
        """Make the error of a launch that may have happened, with what is known of it."""
        at = self.poller.datetime_at(self.poller.time() - max(0.0, self.poller.journal.wall() - entry.asked_at))
        evidence = {
            "operation": launch.operation,
            "asked_at": at.isoformat(),
            "said": said,
            "sent": max(1, sent_times(entry)),
            **found,
        }
        return unknown_launch(launch.kind, launch.target, evidence)
