"""The limits of an account inside each state: the same in memory, on SQLite and on Redis."""

from __future__ import annotations

import asyncio

import pytest

from cmsapi.ratelimit.sharing.exchange import AccountLimits, PermitRequest
from cmsapi.state.store import State
from tests.support.exchanges import exchange
from tests.support.places import Place

pytestmark = pytest.mark.enable_socket

ACCOUNT = "0123456789abcdef"
LIMITS = AccountLimits(per_second=4, per_hour=10, second=0.3, hour=2.0, cap=0.1, ttl=0.4)


def request(holder: str, number: int, **said: object) -> PermitRequest:
    """Make a request of a process."""
    return PermitRequest(holder=holder, number=number, **said)  # type: ignore[arg-type]


async def test_two_processes_share_one_second(place: Place, state: State, other: State) -> None:
    """What one process took, the other cannot take before it comes back."""
    first = await exchange(state, ACCOUNT, LIMITS, request("a", 1, want=1))
    assert first.granted == 1
    await exchange(state, ACCOUNT, LIMITS, request("a", 2, settled=(0.0,), answered=True))
    assert (await exchange(state, ACCOUNT, LIMITS, request("a", 3, want=9))).granted == 3
    refused = await exchange(other, ACCOUNT, LIMITS, request("b", 1, want=1))
    assert (refused.granted, refused.windows.unsettled, refused.windows.used) == (0, 3, 4)
    await place.pass_time(refused.wait + 0.01)
    assert (await exchange(other, ACCOUNT, LIMITS, request("b", 2, want=1))).granted == 1


async def test_accounts_do_not_meet(state: State) -> None:
    """Another key has limits of its own."""
    assert (await exchange(state, ACCOUNT, LIMITS, request("a", 1, want=1))).granted == 1
    assert (await exchange(state, "another", LIMITS, request("a", 1, want=1))).granted == 1


async def test_the_hour_is_remembered(place: Place, state: State) -> None:
    """A process that comes after all others have died finds the hour as they left it."""
    number = 0
    for _ in range(10):
        number += 1
        grant = await exchange(state, ACCOUNT, LIMITS, request("a", number, want=1))
        assert grant.granted == 1
        number += 1
        await exchange(state, ACCOUNT, LIMITS, request("a", number, settled=(0.0,), answered=True))
        await place.pass_time(0.08)
    await state.aclose()
    fresh = place.open()
    spent = await exchange(fresh, ACCOUNT, LIMITS, request("b", 1, want=1))
    assert (spent.granted, spent.windows.used) == (0, 10)
    assert 0 < spent.wait < 1.4
    await place.pass_time(spent.wait + 0.02)
    assert (await exchange(fresh, ACCOUNT, LIMITS, request("b", 2, want=1))).granted >= 1


async def test_the_permits_of_the_dead_come_back(place: Place, state: State, other: State) -> None:
    """What a process held that is never heard of again settles by itself."""
    await exchange(state, ACCOUNT, LIMITS, request("dead", 1, want=1))
    await exchange(state, ACCOUNT, LIMITS, request("dead", 2, settled=(0.0,), answered=True))
    assert (await exchange(state, ACCOUNT, LIMITS, request("dead", 3, want=3))).granted == 3
    await place.pass_time(LIMITS.ttl + LIMITS.cap + LIMITS.second + 0.02)
    after = await exchange(other, ACCOUNT, LIMITS, request("b", 1, want=4))
    assert (after.granted, after.windows.unsettled, after.windows.log.total) == (4, 4, 4)


async def test_only_one_goes_first(state: State, other: State) -> None:
    """Of many requests at once in an unknown account, one gets a permit."""
    grants = await asyncio.gather(
        *(
            exchange(each, ACCOUNT, LIMITS, request(f"{number}", 1, want=5))
            for number, each in enumerate((state, other) * 8)
        )
    )
    assert sum(grant.granted for grant in grants) == 1
