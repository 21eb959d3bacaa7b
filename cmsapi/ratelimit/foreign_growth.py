"""Expect how many more requests of the hour other programs will use, from how their number has grown so far.

Another client that has begun a while ago sends on. Until its oldest request leaves the hour, the hour holds more of its
requests all the time; from then on as many leave as come. A plan that takes their number for a constant spends what
others will have used up meanwhile, and its last jobs wait for an hour.
"""

from __future__ import annotations

import math

import attrs

from cmsapi.ratelimit.foreign_usage import ForeignUsage

# What is expected at first weighs as much as `_FIRST` seconds of observation, and is no more than `_AT_FIRST` requests
# in that time: others that have called often may have ended.
_FIRST, _AT_FIRST = 60.0, 6.0
# Requests more that are chance: where others go on evenly, the next comes before the oldest leaves, or after that.
_CHANCE = 2
# What was observed for so long weighs no more than that from then on.
_LONG = 600.0


@attrs.define
class ForeignGrowth:
    """Follow how fast the number of foreign requests in the hour grows."""

    # Since when they are observed, how many there were then, and how many more in a second were expected then.
    _since: float = attrs.field(default=0.0, init=False)
    _count: int = attrs.field(default=0, init=False)
    _rate: float = attrs.field(default=0.0, init=False)
    # From when on as many leave the hour as come, infinity when that is not known.
    _until: float = attrs.field(default=math.inf, init=False)

    def expected(self, usage: ForeignUsage, now: float, within: float, *, hour: float) -> float:
        """Return how many more there will be in `within` seconds than the last answer told.

        Args:
            usage: What the last answer told.
            now: The time.
            within: The seconds.
            hour: Length of the window in seconds.
        """
        if not usage.count:
            self._count = 0
            return 0.0
        told_at = usage.last_leaves - hour
        if not self._count:
            # They began when the oldest one came, if the answer told when that was.
            age = told_at + hour - usage.oldest_leaves
            self._begin(told_at, usage.count, min(_AT_FIRST / _FIRST, usage.count / age) if age > 0.0 else 0.0)
        elif told_at >= self._until:
            self._begin(told_at, usage.count, 0.0)
        if usage.oldest_leaves < math.inf:
            self._until = usage.oldest_leaves
        watched = told_at - self._since
        grown = max(0.0, usage.count - self._count - _CHANCE)
        rate = (grown + self._rate * _FIRST) / (watched + _FIRST)
        if watched > _LONG:
            self._since, self._count, self._rate = told_at, usage.count, rate
        return rate * max(0.0, min(now + within, self._until) - told_at)

    def _begin(self, since: float, count: int, rate: float) -> None:
        self._since, self._count, self._rate, self._until = since, count, rate, math.inf
