"""Scopes that end in time, with one timer for all of them."""

from __future__ import annotations

import asyncio

import pytest

from cmsapi.transport.active_calls import ActiveCalls

pytestmark = pytest.mark.looptime


async def hold(active_calls: ActiveCalls, seconds: float | None, work: float) -> tuple[str, float]:
    """Work within a scope, and return how it ended and when."""
    loop, scope = asyncio.get_running_loop(), active_calls.within(seconds)
    try:
        with scope:
            await asyncio.sleep(work)
    except TimeoutError:
        assert scope.expired
        return "expired", loop.time()
    assert not scope.expired
    return "done", loop.time()


async def test_every_scope_ends_at_its_own_time() -> None:
    """Scopes with all kinds of ends, begun at all kinds of times, each end when theirs has come and not before."""

    async def later(begin: float, seconds: float | None, work: float) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(begin)
        began = loop.time()
        how, when = await hold(active_calls, seconds, work)
        patient = seconds is None or work < seconds
        assert how == ("done" if patient else "expired")
        assert when - began == pytest.approx(work if patient else seconds, abs=0.01)

    active_calls = ActiveCalls()
    plans = [
        (0.0, 30.0, 1.0),
        (0.5, 30.0, 99.0),
        (1.0, 5.0, 9.0),
        (2.0, None, 80.0),
        (3.0, 60.0, 70.0),
        (40.0, 1.0, 2.0),
    ]
    await asyncio.gather(*(later(*plan) for plan in plans))


async def test_an_inner_scope_leaves_the_outer_one_alone() -> None:
    """A time-out inside is an error inside: what is around it goes on until its own end."""
    active_calls, loop = ActiveCalls(), asyncio.get_running_loop()
    began = loop.time()
    outer = active_calls.within(10.0)

    async def around() -> None:
        how, when = await hold(active_calls, 3.0, 60.0)
        assert how == "expired"
        assert when - began == pytest.approx(3.0, abs=0.01)
        await asyncio.sleep(60.0)

    with pytest.raises(TimeoutError), outer:
        await around()
    assert outer.expired
    assert loop.time() - began == pytest.approx(10.0, abs=0.01)


async def test_a_cancellation_from_outside_stays_one() -> None:
    """Who is cancelled by somebody else, also in the moment of the time-out, is cancelled and has not timed out."""
    active_calls = ActiveCalls()

    async def wait() -> None:
        with active_calls.within(5.0):
            await asyncio.sleep(60.0)

    for patience in (1.0, 5.0):
        task = asyncio.create_task(wait())
        await asyncio.sleep(patience)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_an_error_of_its_own_is_not_hidden() -> None:
    """What fails while its time runs out fails as itself."""

    async def clumsy() -> None:
        try:
            await asyncio.sleep(5.0)
        finally:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), ActiveCalls().within(1.0):
        await clumsy()
    task = asyncio.current_task()
    assert task is not None
    assert not task.cancelling()
