"""A program that is killed: `python -m tests.support.audit_program WHAT STATE BASE_URL KEY PAGE`.

`launch` launches the audit of a page and waits for it, `resume` recovers what an earlier process has left.
"""

from __future__ import annotations

import asyncio
import sys

import cmsapi
from tests.support.audits import AuditClient, AuditReport, known_audits
from tests.support.worker import say

# Answers of a service on this machine take milliseconds; nothing that was sent arrives later than this.
SETTLE = 0.6


async def main(what: str, state: str, base_url: str, key: str, page_id: str) -> None:
    """Launch or recover, and say what becomes of it."""
    client = AuditClient(
        key,
        base_url=base_url,
        state=state,
        polling=cmsapi.PollPolicy(min_interval=0.05, max_interval=0.1),
        launch=cmsapi.LaunchPolicy(settle=SETTLE),
    )
    async with client:
        say("ready")
        if what == "launch":
            job = await client.audits.launch(page_id)
            say(job.id)
            jobs: tuple[cmsapi.Job[AuditReport], ...] = (job,)
        else:
            jobs = (await client.jobs.resume()).jobs
        for job in jobs:
            report = await job
            say({"kind": job.kind, "id": job.id, "remarks": [remark.text for remark in report.remarks]})
        say("end")


if __name__ == "__main__":
    with known_audits():
        asyncio.run(main(*sys.argv[1:]))
