"""The least lateness that is possible for who knows the distribution, not the durations, and polls one job a request.

By weak duality: whatever a policy does, its mean lateness and a price for each of its polls cost no less than the
dynamic programme V(price). When it has B polls for N jobs, its mean lateness is at least V(price) - price B / N, for
every price; the highest of these bounds is the one shown. It holds where all is over before requests come back, and up
to the fineness of the ages that the dynamic programme knows.
"""

from __future__ import annotations

from collections import Counter

from benchmarks.fanout.durations import age_at
from benchmarks.fanout.poll_times import CHEAPEST, DEAREST, STEP, plans_for
from benchmarks.fanout.work import Work

_REQUESTS, _HOUR = 1000, 3600.0
# At this power of the step the price is as good as nothing.
_FREE = -400
# All but so few jobs have to be over before requests come back.
_NEARLY_ALL = 0.99


def least_lateness(work: Work) -> float | None:
    """Return the bound in seconds for one job on average, or None where one hour does not hold all jobs.

    Lists and early reads are beyond it: they show more than one poll does.
    """
    count = len(work.jobs)
    polls = _REQUESTS - count * (1 + work.results)
    kinds = Counter(work.jobs)
    if work.lever or polls < count or max(age_at(each, _NEARLY_ALL) for each in kinds) > _HOUR:
        return None

    def bound(power: int) -> float:
        price, cost = STEP**power, 0.0
        for distribution, jobs in kinds.items():
            plan = plans_for(distribution).at(power)
            cost += jobs * (plan.lateness + price * plan.polls[0])
        return (cost - price * polls) / count

    return max(0.0, *map(bound, (_FREE, *range(CHEAPEST, DEAREST + 1))))
