"""When to look at a job next.

The service advises a look every 5 to 10 s (specification 8, rule 5). The moment within that span is drawn at random, so
that jobs launched together are not looked at together.
"""

from __future__ import annotations

import random

from cmsapi.config import PollPolicy

# A job whose state decides nothing is given up after this long, unless the policy says otherwise: far beyond any
# duration seen, and far short of for ever.
LONGEST_DOUBT = 1800.0


def next_look(policy: PollPolicy, now: float, rng: random.Random) -> tuple[float, str]:
    """Return the loop time of the next look, and why then."""
    interval = rng.uniform(policy.min_interval, policy.max_interval)
    return now + interval, f"every {policy.min_interval:g} to {policy.max_interval:g} s, as the service advises"


def doubt_limit(policy: PollPolicy) -> float:
    """Return after how many seconds a job whose state decides nothing is given up."""
    return policy.give_up_after if policy.give_up_after is not None else LONGEST_DOUBT
