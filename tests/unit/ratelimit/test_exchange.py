"""The book of the limits inside each state: the same in memory, on SQLite and on Redis."""

from __future__ import annotations

import asyncio
import contextlib
import random

import attrs
import pytest

from cmsapi.ratelimit.allocator import PermitAllocator
from cmsapi.ratelimit.exchange import AccountLimits, HeaderReport, PermitGrant, PermitRequest
from cmsapi.ratelimit.permits import Quota
from cmsapi.ratelimit.ring import MemoryRing
from cmsapi.state.redis import RedisState
from cmsapi.state.store import State
from tests.support.places import Place, emptied
from tests.support.servers import Server

pytestmark = pytest.mark.enable_socket

ACCOUNT = "0123456789abcdef"
TERMS = AccountLimits(per_second=4, per_hour=10, second=0.3, hour=2.0, cap=0.1, life=0.4)


def ask(holder: str, number: int, **said: object) -> PermitRequest:
    """PermitRequest for a turn."""
    return PermitRequest(holder=holder, number=number, **said)  # type: ignore[arg-type]


async def test_two_processes_share_one_second(place: Place, state: State, other: State) -> None:
    """What one process took, the other cannot take before it comes back."""
    first = await state.turn(ACCOUNT, TERMS, ask("a", 1, want=1))
    assert first.granted == 1
    await state.turn(ACCOUNT, TERMS, ask("a", 2, settled=(0.0,), heard=True))
    assert (await state.turn(ACCOUNT, TERMS, ask("a", 3, want=9))).granted == 3
    refused = await other.turn(ACCOUNT, TERMS, ask("b", 1, want=1))
    assert (refused.granted, refused.out, refused.used) == (0, 3, 4)
    await place.pass_time(refused.wait + 0.01)
    assert (await other.turn(ACCOUNT, TERMS, ask("b", 2, want=1))).granted == 1


async def test_accounts_do_not_meet(state: State) -> None:
    """Another key has limits of its own."""
    assert (await state.turn(ACCOUNT, TERMS, ask("a", 1, want=1))).granted == 1
    assert (await state.turn("another", TERMS, ask("a", 1, want=1))).granted == 1


async def test_the_hour_is_remembered(place: Place, state: State) -> None:
    """A process that comes after all others have died finds the hour as they left it."""
    number = 0
    for _ in range(10):
        number += 1
        grant = await state.turn(ACCOUNT, TERMS, ask("a", number, want=1))
        assert grant.granted == 1
        number += 1
        await state.turn(ACCOUNT, TERMS, ask("a", number, settled=(0.0,), heard=True))
        await place.pass_time(0.08)
    await state.aclose()
    fresh = place.open()
    spent = await fresh.turn(ACCOUNT, TERMS, ask("b", 1, want=1))
    assert (spent.granted, spent.used) == (0, 10)
    assert 0 < spent.wait < 1.4
    await place.pass_time(spent.wait + 0.02)
    assert (await fresh.turn(ACCOUNT, TERMS, ask("b", 2, want=1))).granted >= 1


async def test_the_tokens_of_the_dead_come_back(place: Place, state: State, other: State) -> None:
    """What a process held that is never heard of again settles by itself."""
    await state.turn(ACCOUNT, TERMS, ask("dead", 1, want=1))
    await state.turn(ACCOUNT, TERMS, ask("dead", 2, settled=(0.0,), heard=True))
    assert (await state.turn(ACCOUNT, TERMS, ask("dead", 3, want=3))).granted == 3
    await place.pass_time(TERMS.life + TERMS.cap + TERMS.second + 0.02)
    after = await other.turn(ACCOUNT, TERMS, ask("b", 1, want=4))
    assert (after.granted, after.out, after.settled) == (4, 4, 4)


async def test_only_one_goes_first(state: State, other: State) -> None:
    """Of many that ask at once in an account that nobody knows, one is let go."""
    grants = await asyncio.gather(
        *(each.turn(ACCOUNT, TERMS, ask(f"{number}", 1, want=5)) for number, each in enumerate((state, other) * 8))
    )
    assert sum(grant.granted for grant in grants) == 1


def flat(grant: PermitGrant) -> dict[str, float | None]:
    """Lay out all figures of a grant side by side."""
    said = attrs.asdict(grant)
    return said | {f"return {part}": each for part, each in enumerate(said.pop("returns"))}


@pytest.mark.parametrize("seed", range(4))
async def test_the_script_is_the_book(server: Server, seed: int) -> None:
    """The server's script gives, turn by turn, what the book gives that was told the server's time."""
    rng = random.Random(seed)
    book, ring = PermitAllocator(), MemoryRing()
    terms = AccountLimits(
        per_second=[20, 4, None, 1][seed],
        per_hour=[40, 5, 40, None][seed],
        second=0.02,
        hour=0.5,
        cap=0.02,
        life=0.08,
    )
    state = RedisState(await emptied(server))
    async with contextlib.aclosing(state):
        held = dict.fromkeys("abcd", 0)
        last: PermitGrant | None = None
        for number in range(1, 100):
            holder = rng.choice("abcd")
            ended = rng.randint(0, held[holder])
            settled = tuple(sorted((round(rng.uniform(0.0, 0.05), 6) for _ in range(ended)), reverse=True))
            lost = rng.random() < 0.05
            seen = None
            if last is not None and rng.random() < 0.15:
                quota = Quota(rng.choice([30, 40, 50]), rng.randint(0, 30), rng.choice([0.0, 0.02, 0.3]))
                seen = HeaderReport(quota=quota, age=0.001, settled=last.settled, left=last.left)
            asked = PermitRequest(
                holder=holder,
                number=number - rng.choice([0, 0, 0, 5]),
                held=0 if lost else held[holder] - ended,
                settled=settled,
                heard=ended > 0,
                seen=seen,
                rest=0.03 if rng.random() < 0.03 else 0.0,
                want=rng.choice([0, 1, 3, 30]),
                priority=rng.randint(0, 3),
                epoch=0 if last is None else rng.choice([last.epoch] * 8 + [0, last.epoch - 1]),
            )
            last = await state.turn(ACCOUNT, terms, asked)
            expected = book.turn(ring, terms, asked, last.at - book.ahead)
            assert flat(last) == pytest.approx(flat(expected), abs=1e-5), asked
            held[holder] = asked.held + last.granted
            if rng.random() < 0.2:
                await asyncio.sleep(rng.choice([0.01, 0.02, 0.04, 0.13]))
