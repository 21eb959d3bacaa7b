"""The work that is measured, and what has to be reached."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import attrs

from benchmarks.fanout.work import Kind, Work
from cmsapi.sandbox import Lognormal, Mixture

_MINUTE = Lognormal(60, 0.6)
_TWO_SORTS = Mixture(((0.5, Lognormal(20, 0.25)), (0.5, Lognormal(300, 0.25))))


# A bound for a client that has learned nothing, and one for a client that remembers.
Bound: TypeAlias = tuple[float, float]


@attrs.frozen(kw_only=True)
class Row:
    """Describe a row of the table, and what the SDK has to reach, cold and warm.

    Args:
        title: As the table shows it.
        work: What is done.
        against: Strategy whose figures are the denominators of the two ratios.
        all_in_hand: Largest ratio of the last results.
        turnaround: Largest ratio of the mean turnarounds.
        requests: Largest number of requests for each job.
        soon: Least number of results in hand after ten minutes.
        noticed: Largest number of seconds between an end and its result, in any run, apart from the round trip.
    """

    title: str
    work: Work
    against: str = "optimum"
    all_in_hand: Bound | None = None
    turnaround: Bound | None = None
    requests: Bound | None = None
    soon: Bound | None = None
    noticed: Bound | None = None


ROWS: Mapping[str, Row] = {
    "searches": Row(
        title="300 searches at once, median 60 s",
        work=Work(name="searches", kind=Kind.SEARCH, jobs=(_MINUTE,) * 300),
        all_in_hand=(1.15, 1.05),
        turnaround=(1.30, 1.10),
    ),
    "analyses": Row(
        title="450 analyses at once, median 60 s",
        work=Work(name="analyses", kind=Kind.ANALYSIS, jobs=(_MINUTE,) * 450),
        all_in_hand=(1.25, 1.10),
        turnaround=(1.35, 1.10),
    ),
    "pages": Row(
        title="450 analyses on 10 pages whose lists show their status",
        work=Work(name="pages", kind=Kind.ANALYSIS, jobs=(_MINUTE,) * 450, lever=True, pages=10),
        against="oracle",
        turnaround=(1.15, 1.15),
        requests=(1.3, 1.3),
    ),
    "early reads": Row(
        title="300 searches whose ideas are refused before their end",
        work=Work(name="early reads", kind=Kind.SEARCH, jobs=(_MINUTE,) * 300, lever=True),
        turnaround=(1.10, 0.90),
    ),
    "crowd": Row(
        title="500 searches at once, median 60 s",
        work=Work(name="crowd", kind=Kind.SEARCH, jobs=(_MINUTE,) * 500),
        soon=(310, 320),
    ),
    "in flight": Row(
        title="100 analyses, 20 in flight, median 90 s",
        work=Work(name="in flight", kind=Kind.ANALYSIS, jobs=(Lognormal(90, 0.5),) * 100, in_flight=20),
        all_in_hand=(1.10, 1.05),
        turnaround=(1.10, 1.05),
    ),
    "slow": Row(
        title="30 analyses at once, median 30 min",
        work=Work(name="slow", kind=Kind.ANALYSIS, jobs=(Lognormal(1800, 0.4),) * 30),
        against="oracle",
        turnaround=(1.10, 1.08),
    ),
    "two sorts": Row(
        title="300 searches at once, half of 20 s, half of 300 s",
        work=Work(name="two sorts", kind=Kind.SEARCH, jobs=(_TWO_SORTS,) * 300),
        all_in_hand=(1.25, 1.10),
        turnaround=(1.50, 1.20),
    ),
    "one": Row(
        title="1 analysis, median 60 s",
        work=Work(name="one", kind=Kind.ANALYSIS, jobs=(_MINUTE,)),
        noticed=(10.0, 10.0),
    ),
}
