"""The work that is measured, and what has to be reached."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from benchmarks.fanout.work import Kind, Work
from cmsapi.sandbox.durations import Lognormal, Mixture

_MINUTE = Lognormal(60, 0.6)


@attrs.frozen(kw_only=True)
class Bar:
    """Bound two ratios.

    Args:
        against: Strategy whose figures are the denominators.
        all_in_hand: Bound of the ratio of the last results, or None.
        turnaround: Bound of the ratio of the means, or None.
        requests: Bound of the requests for each job, or None.
        soon: Least number of results in hand after ten minutes, or None.
    """

    against: str = "optimum"
    all_in_hand: float | None = None
    turnaround: float | None = None
    requests: float | None = None
    soon: int | None = None


@attrs.frozen(kw_only=True)
class Row:
    """Describe a row of the table.

    Args:
        title: As the table shows it.
        work: What is done.
        cold: What a client that has learned nothing has to reach.
        warm: What one that remembers has to reach.
    """

    title: str
    work: Work
    cold: Bar
    warm: Bar


ROWS: Mapping[str, Row] = {
    "searches": Row(
        title="300 searches at once, median 60 s",
        work=Work(name="searches", kind=Kind.SEARCH, jobs=(_MINUTE,) * 300),
        cold=Bar(all_in_hand=1.15, turnaround=1.30),
        warm=Bar(all_in_hand=1.05, turnaround=1.10),
    ),
    "analyses": Row(
        title="450 analyses at once, median 60 s",
        work=Work(name="analyses", kind=Kind.ANALYSIS, jobs=(_MINUTE,) * 450),
        cold=Bar(all_in_hand=1.25, turnaround=1.35),
        warm=Bar(all_in_hand=1.10, turnaround=1.10),
    ),
    "pages": Row(
        title="450 analyses on 10 pages whose lists show their status",
        work=Work(name="pages", kind=Kind.ANALYSIS, jobs=(_MINUTE,) * 450, lever=True, pages=10),
        cold=Bar(against="oracle", turnaround=1.15, requests=1.3),
        warm=Bar(against="oracle", turnaround=1.15, requests=1.3),
    ),
    "early reads": Row(
        title="300 searches, ideas refused before the end",
        work=Work(name="early reads", kind=Kind.SEARCH, jobs=(_MINUTE,) * 300, lever=True),
        cold=Bar(turnaround=1.10),
        warm=Bar(turnaround=0.90),
    ),
    "crowd": Row(
        title="500 searches at once, median 60 s",
        work=Work(name="crowd", kind=Kind.SEARCH, jobs=(_MINUTE,) * 500, in_flight="auto"),
        cold=Bar(soon=310),
        warm=Bar(soon=320),
    ),
    "in flight": Row(
        title="100 analyses, 20 in flight, median 90 s",
        work=Work(name="in flight", kind=Kind.ANALYSIS, jobs=(Lognormal(90, 0.5),) * 100, in_flight=20),
        cold=Bar(all_in_hand=1.10, turnaround=1.10),
        warm=Bar(all_in_hand=1.05, turnaround=1.05),
    ),
    "slow": Row(
        title="30 analyses, median 30 min",
        work=Work(name="slow", kind=Kind.ANALYSIS, jobs=(Lognormal(1800, 0.4),) * 30),
        cold=Bar(against="oracle", turnaround=1.10),
        warm=Bar(against="oracle", turnaround=1.08),
    ),
    "two kinds": Row(
        title="300 searches, half of 20 s, half of 300 s",
        work=Work(
            name="two kinds",
            kind=Kind.SEARCH,
            jobs=(Mixture(((0.5, Lognormal(20, 0.25)), (0.5, Lognormal(300, 0.25)))),) * 300,
        ),
        cold=Bar(all_in_hand=1.25, turnaround=1.50),
        warm=Bar(all_in_hand=1.10, turnaround=1.20),
    ),
}
