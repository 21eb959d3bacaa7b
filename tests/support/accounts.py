"""Accounts on the running loop, by a name instead of a key."""

from __future__ import annotations

import cmsapi
from cmsapi.config import Account
from cmsapi.ratelimit.limiter import RateLimiter
from cmsapi.runtime.accounts import accounts_of_loop


def limiter_of(name: str, limits: cmsapi.RateLimits | None = None) -> RateLimiter:
    """Return the limiter that the clients of an account share on the running loop."""
    account = Account(f"sk_{name}", "https://api.example.com")
    return accounts_of_loop().account("memory:", account, limits or cmsapi.RateLimits()).limiter
