"""What the service's ledger says of workers."""

from __future__ import annotations

from collections import Counter

from cmsapi.sandbox import Limits, Sandbox

# So many requests a second allows the service, and so many make the workers.
PER_SECOND = 50


def box(keywords: int) -> Sandbox:
    """Make a service for the workers in a hurry, whose analyses take a second or so."""
    durations = lambda rng: rng.uniform(0.5, 1.5)  # noqa: E731
    return Sandbox(keywords=keywords, durations=durations, limits=Limits(per_second=PER_SECOND))


def launched(sandbox: Sandbox, kind: str = "keyword_analysis") -> Counter[str]:
    """Count the jobs that the service has run, by what they were for."""
    return Counter(
        job.purchase.keyword if kind == "idea_search" and job.purchase else job.target_id
        for job in sandbox.jobs
        if job.kind == kind
    )


def judge(sandbox: Sandbox, printed: list[str]) -> None:
    """Hold what workers print of keywords against what the service has seen: each done, paid once, none refused."""
    assert sorted(printed) == sorted(f"{keyword_id} success" for keyword_id in sandbox.keyword_ids)
    assert launched(sandbox) == dict.fromkeys(sandbox.keyword_ids, 1)
    assert sandbox.statistics.rate_limited == 0
