"""Exchange with the shared limits of an account as a process does."""

from __future__ import annotations

import functools

from cmsapi.ratelimit.sharing.document import allocate
from cmsapi.ratelimit.sharing.exchange import AccountLimits, PermitGrant, PermitRequest
from cmsapi.state.store import State


async def exchange(store: State, account: str, limits: AccountLimits, request: PermitRequest) -> PermitGrant:
    """Take one request for permits into account."""
    return await store.update_limits(account, functools.partial(allocate, limits, request))
