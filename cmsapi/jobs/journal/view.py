"""Show the open entries of the journal: launches that are being sent, running jobs, articles without a decision."""

from __future__ import annotations

from datetime import UTC, datetime

import attrs

from cmsapi.display import markup
from cmsapi.jobs.journal.journal import HOOK_ASKED, LaunchJournal
from cmsapi.jobs.kinds.kind import JobHistory, JobKind, job_before
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.jobs.token import write_token
from cmsapi.state.entry import Entry, EntryStatus


@attrs.frozen(kw_only=True)
class OpenLaunch:
    """Describe an open launch of any process.

    Args:
        kind: Kind of job.
        target: What it works on; the seed keyword of an idea search.
        state: `"intent"` before it is sent, `"sending"` until its answer is read, then `"running"`, and
            `"review"` when its article waits for a decision.
        asked_at: When it was asked for, on the clock of the machine that did.
        job_id: The service's identifier of the job, or None.
        batch: The batch that it belongs to, or None.
        item: The key of its item within the batch, or None.
        token: The token for `client.jobs.attach`, or None before an answer has named the job.
    """

    kind: JobKind
    target: str
    state: str
    asked_at: datetime
    job_id: str | None = None
    batch: str | None = None
    item: str | None = None
    token: str | None = attrs.field(default=None, repr=False)

    def _repr_html_(self) -> str:
        return markup.record(self)


async def read_journal(journal: LaunchJournal, base_url: str) -> list[OpenLaunch]:
    """Read the open entries of a journal that was opened, the oldest first; none is recovered."""
    found = await journal.known_entries()
    return [told(entry, base_url) for entry in sorted(found.values(), key=lambda entry: entry.asked_at)]


def told(entry: Entry, base_url: str) -> OpenLaunch:
    """Describe an entry of the journal."""
    kind = KINDS[entry.kind]
    token = None
    if entry.status not in (EntryStatus.INTENT, EntryStatus.SENDING):
        launched_at = None if entry.served_at is None else datetime.fromtimestamp(entry.served_at, UTC)
        history = JobHistory(launched_at=launched_at, job_id=entry.job_id, before=job_before(entry))
        token = write_token(kind.name, kind.job_target(entry.target, entry.job_id), history, base_url)
    return OpenLaunch(
        kind=kind.name,
        target=entry.target,
        state=EntryStatus.REVIEW if HOOK_ASKED in entry.facts else entry.status,
        asked_at=datetime.fromtimestamp(entry.asked_at, UTC),
        job_id=entry.job_id,
        batch=entry.batch,
        item=entry.item,
        token=token,
    )
