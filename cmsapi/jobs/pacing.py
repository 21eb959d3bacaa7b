"""When to look at a job next.

The service advises a look every 5 to 10 s (specification 8, rule 5). The moment within that span is drawn at random, so
that jobs launched together are not looked at together.
"""

from __future__ import annotations

import random

from cmsapi.config import PollPolicy

# A job whose state decides nothing is given up after this long, unless the policy says otherwise. A word that nobody
# lists most likely means that it runs; an old word or none most likely means that it has ended.
LONGEST_DOUBT = 1800.0
LONGEST_RIDDLE = 6 * 3600.0


def next_look(policy: PollPolicy, now: float, rng: random.Random) -> tuple[float, str]:
    """Return the loop time of the next look, and why then."""
    interval = rng.uniform(policy.min_interval, policy.max_interval)
    return now + interval, f"every {policy.min_interval:g} to {policy.max_interval:g} s, as the service advises"


def doubt_limit(policy: PollPolicy, *, unlisted_word: bool) -> float:
    """Return after how many seconds a job whose state decides nothing is given up."""
    if policy.give_up_after is not None:
        return policy.give_up_after
    return LONGEST_RIDDLE if unlisted_word else LONGEST_DOUBT
