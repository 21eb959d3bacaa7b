"""Take from the shared limits of an account as a process does."""

from __future__ import annotations

import functools

from cmsapi.ratelimit.shared_log import AccountLimits, Take, Taken, take
from cmsapi.state.store import State


async def taken(store: State, account: str, limits: AccountLimits, asked: Take) -> Taken:
    """Take permits from the limits of an account."""
    return await store.update_limits(account, functools.partial(take, limits, asked))
